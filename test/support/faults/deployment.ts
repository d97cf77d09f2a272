/**
 * What the faults happen to: three brokers with three replicas of each stream, `up` with a gateway, an attributor,
 * store, courier and exporter, and a second gateway and attributor. All connections to and between brokers go through
 * links.
 */

import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cpSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Broker, connectBroker } from '../../../internal/broker/connect.js'
import { createPublisher } from '../../../internal/broker/publisher.js'
import { nodeFlagsOf } from '../../../internal/local/supervisor/processes.js'
import { freePort } from '../../../internal/local/supervisor/supervised-instance.js'
import { INVOCATIONS, invocationsSubject } from '../../../streams/invocations.js'
import { isAlive } from '../alive.js'
import { type Cluster, launchCluster } from '../cluster.js'
import { ROOT } from '../docs.js'
import { type Launched, launchCommand } from '../processes.js'
import { atEnd } from '../run/at-end.js'
import { gatewayEnvironment, launchService, privateDataDir, type RunningService } from '../service.js'
import { type Link, linkTo } from './links.js'
import {
  BROKERS,
  type BrokerNumber,
  DELAY_MS,
  type DiskUser,
  type Fault,
  OWN_ROLES,
  type OwnRole,
  type RoleName,
  SIDES,
  type Side,
  type Trouble,
} from './schedule.js'

export interface Deployment {
  readonly service: RunningService
  /** Of both gateways. */
  readonly urls: readonly string[]
  /** Around the links, which the faults do not touch. */
  readonly broker: Broker
  /** Resolves when the fault is over. @returns what it did, if the schedule does not say it */
  inflict(fault: Fault): Promise<string>
  /** Undecodable messages that the log has acknowledged. */
  poisons(): number
  /** Copies all folders and what the own roles have written to a folder. */
  keep(folder: string): void
}

export interface DeploymentOptions {
  readonly args: readonly string[]
  readonly partitions: number
}

/** Ends with the test file. */
export async function deploy({ args, partitions }: DeploymentOptions): Promise<Deployment> {
  const between = new Map<string, Link>()
  const cluster = await launchCluster({
    through: async (routePort, from, to) => {
      const link = await linkTo(routePort)
      between.set(`${from}-${to}`, link)
      return link.port
    },
  })
  const clients = Object.fromEntries(
    await Promise.all(SIDES.map(async (side) => [side, await Promise.all(cluster.ports.map(linkTo))])),
  ) as Readonly<Record<Side, readonly Link[]>>
  const urlOf = (side: Side): string => clients[side].map(({ port }) => `nats://127.0.0.1:${port}`).join()
  const service = await launchService({
    dataDir: privateDataDir(),
    roles: ['courier', 'exporter'],
    args: [...['--nats-url', urlOf('first'), '--stream-replicas', '3', '--partitions', String(partitions)], ...args],
  })
  const broker = await connectBroker({ url: cluster.url, user: '', password: '', name: 'faults' })
  atEnd(() => broker.close())

  const secondPort = await freePort()
  // Each gateway has a spool of its own; the files that the exporter writes are common to them.
  const exports = { ATTRIBUTION_EXPORTS_DIR: join(service.dataDir, 'exports') }
  const environment = { ...gatewayEnvironment(service), ATTRIBUTION_NATS_URL: urlOf('second'), ...exports }
  const dataDir = join(service.dataDir, 'second')
  const own: Readonly<Record<OwnRole, OwnProcess>> = {
    'gateway-2': new OwnProcess(
      'gateway',
      ['--port', String(secondPort), '--intake-port', '0', '--data-dir', dataDir],
      environment,
    ),
    'attributor-2': new OwnProcess('attributor', ['--member-name', 'attributor-2'], environment),
  }
  for (const role of OWN_ROLES) own[role].start(join(service.dataDir, `clock-${role}`))
  await Promise.all([own['gateway-2'].line(/"listening"/), own['attributor-2'].line(/"attributing"/)])

  return {
    service,
    urls: [service.baseUrl, `http://127.0.0.1:${secondPort}`],
    broker,
    ...faultsOf({ cluster, between, clients, service, broker, own }),
    keep(folder) {
      mkdirSync(folder, { recursive: true })
      for (const [i, from] of cluster.folders.entries()) copy(from, join(folder, `broker-${i}`))
      copy(service.dataDir, join(folder, 'data'))
      for (const role of OWN_ROLES) writeFileSync(join(folder, `${role}.log`), own[role].lines.join('\n'))
      writeFileSync(join(folder, 'up.log'), service.process.lines.join('\n'))
    },
  }
}

/** All but the sockets, which cannot be copied. */
const copy = (from: string, to: string): void =>
  cpSync(from, to, { recursive: true, filter: (path) => !lstatSync(path).isSocket() })

/** A role that this process keeps running, as `up` does, with a clock that can change. */
class OwnProcess {
  readonly lines: string[] = []
  private readonly role: string
  private readonly args: readonly string[]
  private readonly environment: Readonly<Record<string, string>>
  private running: Launched | undefined
  private isEnding = false
  private clockFile = ''

  constructor(role: string, args: readonly string[], environment: Readonly<Record<string, string>>) {
    this.role = role
    this.args = args
    this.environment = environment
    atEnd(() => {
      this.isEnding = true
    })
  }

  get pid(): number | undefined {
    return this.running?.pid
  }

  start(clockFile: string): void {
    this.clockFile = clockFile
    this.setClock(0)
    void this.keepRunning()
  }

  line(pattern: RegExp): Promise<string> {
    if (this.running === undefined) throw new Error(`${this.role} does not run`)
    return this.running.line(pattern)
  }

  setClock(offMs: number): void {
    writeFileSync(this.clockFile, String(offMs))
  }

  private async keepRunning(): Promise<void> {
    while (!this.isEnding) {
      const clock = ['--import', join(ROOT, 'dist/test/support/faults/jumping-clock.js')]
      const main = join(ROOT, 'dist/cmd', this.role, 'main.js')
      const { running } = this
      if (running !== undefined) this.lines.push(...running.lines, 'ended')
      this.running = launchCommand(process.execPath, {
        args: [...nodeFlagsOf(this.role), ...clock, main, ...this.args],
        env: { ...this.environment, JUMPING_CLOCK_FILE: this.clockFile },
      })
      await this.running.exited
      await sleep(200)
    }
  }
}

interface Parts {
  readonly cluster: Cluster
  readonly between: ReadonlyMap<string, Link>
  readonly clients: Readonly<Record<Side, readonly Link[]>>
  readonly service: RunningService
  readonly broker: Broker
  readonly own: Readonly<Record<OwnRole, OwnProcess>>
}

function faultsOf(parts: Parts): Pick<Deployment, 'inflict' | 'poisons'> {
  const { cluster, between, clients, service, broker, own } = parts
  const down = new Set<BrokerNumber>()
  const { publish } = createPublisher(broker.connection)
  let poisons = 0

  const pidOf = (role: RoleName): number | undefined => {
    if (role === 'gateway-2' || role === 'attributor-2') return own[role].pid
    try {
      return service.pid(role)
    } catch {
      // It was killed and does not run again yet.
      return undefined
    }
  }

  const killBroker = async (number: BrokerNumber, ms: number): Promise<string> => {
    if (down.has(number)) return 'it was down already'
    down.add(number)
    await cluster.kill(number)
    await sleep(ms)
    cluster.start(number)
    while (!isAlive(cluster.pid(number))) await sleep(20)
    down.delete(number)
    return `n${number}`
  }

  const part = async (links: readonly Link[], trouble: Trouble, ms: number): Promise<string> => {
    for (const link of links) {
      if (trouble === 'cut') link.cut()
      else if (trouble === 'held') link.hold()
      else link.delay(DELAY_MS)
    }
    await sleep(ms)
    for (const link of links) link.mend()
    return ''
  }

  const limit = async (bytes: number): Promise<void> => {
    await untilDone(() => broker.manager.streams.update(INVOCATIONS.name, { max_bytes: bytes }))
  }

  const fill = async (ms: number): Promise<string> => {
    const { config, state } = await untilDone(() => broker.manager.streams.info(INVOCATIONS.name))
    // Three tenths of a small stream are for new events (`stream-capacity.ts`): they are taken already, and the stages
    // have the rest.
    await limit(Math.max(2 * state.bytes, FULL_BYTES_MIN))
    await sleep(ms)
    await limit(Math.max(config.max_bytes, LOG_BYTES))
    return `${state.bytes} bytes`
  }

  const fillDisk = async (user: DiskUser, ms: number): Promise<string> => {
    const isBroker = typeof user === 'number'
    const pid = isBroker ? cluster.pid(user) : pidOf(user)
    if ((isBroker && down.has(user)) || !limitFiles(pid, String(FULL_DISK_FILE_BYTES))) return 'it did not run'
    if (user === 'gateway') await part(clients.first, 'cut', ms)
    else if (user === 'gateway-2') await part(clients.second, 'cut', ms)
    else await sleep(ms)
    limitFiles(pid, 'unlimited')
    // A nats-server does not serve a stream again that met a full disk: who makes room starts it again
    // (`deploy/docs/runbook.md`).
    return isBroker ? killBroker(user, 0) : ''
  }

  return {
    poisons: () => poisons,
    async inflict(fault) {
      switch (fault.kind) {
        case 'role killed':
          return kill(pidOf(fault.role), 'SIGKILL')
        case 'role stopped': {
          const pid = pidOf(fault.role)
          return stopFor(pid, fault.ms)
        }
        case 'broker killed':
          return killBroker(fault.broker, fault.ms)
        case 'broker stopped':
          return down.has(fault.broker) ? 'it was down already' : stopFor(cluster.pid(fault.broker), fault.ms)
        case 'leader killed': {
          const { cluster: state } = await untilDone(() => broker.manager.streams.info(INVOCATIONS.name))
          const leader = BROKERS.find((number) => `n${number}` === state?.leader)
          return leader === undefined ? 'there was no leader' : killBroker(leader, fault.ms)
        }
        case 'brokers parted': {
          const [one, other] = fault.between
          const links = [`${one}-${other}`, `${other}-${one}`].map((name) => between.get(name) as Link)
          return part(links, fault.trouble, fault.ms)
        }
        case 'clients parted':
          return part([clients[fault.side][fault.broker] as Link], fault.trouble, fault.ms)
        case 'log full':
          return fill(fault.ms)
        case 'disk full':
          return fillDisk(fault.user, fault.ms)
        case 'poison': {
          const subject = invocationsSubject('a', fault.partition)
          const told = await publish(subject, Buffer.from('[{"poison"'), randomUUID(), 2_000)
          if (told.kind === 'stored') poisons++
          return told.kind
        }
        case 'clock jumps':
          own[fault.role].setClock(fault.byMs)
          await sleep(fault.ms)
          own[fault.role].setClock(0)
          return ''
      }
    },
  }
}

const FULL_BYTES_MIN = 4096
/** The size at which the log starts; an overlapping fault may have found the small one. */
const LOG_BYTES = 8 * 1024 ** 3

/** No file of a process whose disk is full may grow beyond. */
const FULL_DISK_FILE_BYTES = 4096

/** Of a running process: writes beyond fail with EFBIG. @returns whether it runs */
function limitFiles(pid: number | undefined, bytes: string): boolean {
  if (pid === undefined || !isAlive(pid)) return false
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`])
  return true
}

function kill(pid: number | undefined, signal: NodeJS.Signals): string {
  if (pid === undefined || !isAlive(pid)) return 'it did not run'
  process.kill(pid, signal)
  return ''
}

async function stopFor(pid: number | undefined, ms: number): Promise<string> {
  const told = kill(pid, 'SIGSTOP')
  if (told !== '') return told
  await sleep(ms)
  return kill(pid, 'SIGCONT')
}

/** While brokers elect a leader, they do not answer. */
async function untilDone<T>(act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act()
    } catch {
      await sleep(100)
    }
  }
}
