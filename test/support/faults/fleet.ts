/**
 * An instance whose roles nobody supervises: the test stops and starts each, with one build or another. Two gateways,
 * two attributors and one of every other role, beside a private broker.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Broker } from '../../../internal/broker/connect.js'
import { LAYOUT_SETTINGS, SETTINGS, TUNING_VARIABLE } from '../../../internal/config/settings.js'
import type { Credentials } from '../../../internal/local/supervisor/bootstrap.js'
import { watchedNatsServer } from '../../../internal/local/supervisor/nats-server.js'
import { answersAt } from '../../../internal/local/supervisor/readiness.js'
import { freePort } from '../../../internal/local/supervisor/supervised-instance.js'
import { connectTo } from '../instance.js'
import { type Launched, launch, launchCommand } from '../processes.js'
import { atEnd } from '../run/at-end.js'
import { type Instance, natsServerBin, pidOf, privateDataDir } from '../service.js'

/** The main of the role that a member of the fleet runs, and what its log says once it works; a store says nothing. */
const MEMBERS = {
  attributor: { role: 'attributor', ready: /"attributing"/ },
  'attributor-2': { role: 'attributor', ready: /"attributing"/ },
  gateway: { role: 'gateway', ready: /"listening"/ },
  'gateway-2': { role: 'gateway', ready: /"listening"/ },
  store: { role: 'store', ready: undefined },
  courier: { role: 'courier', ready: /"delivering"/ },
  exporter: { role: 'exporter', ready: /"exporting"/ },
  sentinel: { role: 'sentinel', ready: /"watching"/ },
  trainer: { role: 'trainer', ready: /"training"/ },
} as const
export type Member = keyof typeof MEMBERS
/** All of them. */
export const ALL_MEMBERS = Object.keys(MEMBERS) as readonly Member[]

/** As `up` has started it. */
interface Command {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export interface Fleet {
  readonly service: Pick<Instance, 'credentials' | 'dataDir'>
  /** Of both gateways. */
  readonly urls: readonly string[]
  readonly broker: Broker
  /** Resolves once it works. */
  start(member: Member, root: string): Promise<void>
  /** With SIGTERM. Resolves when it has ended. */
  stop(member: Member): Promise<void>
}

/**
 * Lets `up` prepare an instance, and takes its roles over. Ends with the test file.
 *
 * @param root of the build that all of them run at first
 */
export async function launchFleet(root: string, members: readonly Member[], args: readonly string[]): Promise<Fleet> {
  const dataDir = privateDataDir()
  const port = await freePort()
  const ports = ['--port', String(port), '--intake-port', '0']
  const up = launch(join(root, 'dist/cmd/up/main.js'), {
    args: [...ports, '--data-dir', dataDir, '--nats-server-bin', natsServerBin(), ...args],
  })
  await up.line(/is ready/)
  const nats = commandOf(dataDir, 'nats')
  const commands = new Map(members.map((member) => [member, commandOf(dataDir, MEMBERS[member].role)]))
  await up.kill('SIGTERM')

  // The broker and what it holds stay as they are: the roles change.
  const watched = watchedNatsServer(nats.program, nats.args)
  const server = launchCommand(watched.command, watched)
  atEnd(() => server.endStdin())
  const service = {
    dataDir,
    credentials: JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8')) as Credentials,
  }
  const broker = await connectTo(service)
  atEnd(() => broker.close())

  const secondPort = await freePort()
  const own: Readonly<Partial<Record<Member, readonly string[]>>> = {
    // The last of two equal options holds.
    'gateway-2': ['--port', String(secondPort), '--data-dir', join(dataDir, 'second')],
    'attributor-2': ['--member-name', 'attributor-2'],
  }
  const running = new Map<Member, Launched>()
  const start = async (member: Member, build: string): Promise<void> => {
    const { role, ready } = MEMBERS[member]
    const { program, args: given, env } = commands.get(member) as Command
    const main = join(build, 'dist/cmd', role, 'main.js')
    const exports = { ATTRIBUTION_EXPORTS_DIR: join(dataDir, 'exports') }
    const launched = launchCommand(program, {
      args: [...given.map((arg) => (arg.endsWith(`cmd/${role}/main.js`) ? main : arg)), ...(own[member] ?? [])],
      env: { ...env, ...exports },
    })
    running.set(member, launched)
    if (ready !== undefined) await launched.line(ready)
    else await answersAt(`${env['ATTRIBUTION_STORE_URL']}/ping`)(AbortSignal.timeout(120_000))
  }
  const storeFirst = [...members].sort((one, other) => Number(other === 'store') - Number(one === 'store'))
  for (const member of storeFirst) await start(member, root)
  return {
    ...{ service, broker, start },
    urls: [port, secondPort].map((number) => `http://127.0.0.1:${number}`),
    async stop(member) {
      await running.get(member)?.kill('SIGTERM')
    },
  }
}

/** Of a running child of `up`. (Read from /proc: these tests run on Linux.) */
function commandOf(dataDir: string, role: string): Command {
  const read = (file: string): string[] =>
    readFileSync(`/proc/${pidOf(dataDir, role)}/${file}`, 'utf8')
      .split('\0')
      .filter((part) => part !== '')
  const [program = '', ...args] = read('cmdline')
  const env = Object.fromEntries(
    read('environ')
      .filter((line) => line.startsWith('ATTRIBUTION_'))
      .map((line) => line.split(/=(.*)/s).slice(0, 2)),
  ) as Record<string, string>
  // The broker's layout has them from the first start on, and roles with other values do not start.
  const layout = LAYOUT_SETTINGS.map((name) => SETTINGS[name])
  for (const { variable } of layout) delete env[variable]
  const isOfLayout = (pair: string): boolean => layout.some(({ flag }) => pair.startsWith(`${flag.slice(2)}=`))
  const tuned = (env[TUNING_VARIABLE] ?? '').split(' ').filter((pair) => !isOfLayout(pair))
  env[TUNING_VARIABLE] = tuned.join(' ')
  return { program, args, env }
}
