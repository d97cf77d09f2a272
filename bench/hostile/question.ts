import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connectService, type HttpServiceClient } from '../../internal/local/replay/client.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { type Product, startProduct } from '../eval/product.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import type { Processes } from '../processes.js'
import { writeResult } from '../results.js'
import { table } from '../table.js'
import { peakOf } from '../trickle/process-figures.js'
import { ATTACKS, eventOf, ORDER, type Order, prepare, SLOWEST, type Target } from './attacks.js'

/**
 * Question: what do two tenants notice of a third one that sends and asks the costliest that it may?
 *
 * Each attack runs for some time beside a pulse: `GET /healthz` every few milliseconds, and events and pages of the
 * other two tenants. A pulse that comes late shows that something has held the process.
 */
export interface HostileOptions {
  readonly checkout: string
  readonly natsServerBin: string
  /** Of each attack. */
  readonly seconds: number
}

const GAP_MS_MAX = 100
const TIMES_QUIET_MAX = 2
const CALM_MS = 5_000
/** As many reach all partitions. */
const LAST_EVENTS = 200
const HEALTH_EVERY_MS = 5
const EVENT_EVERY_MS = 200
const LOOK_MS = 10

export const hostile = (options: HostileOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'hostile', signal, (folder, processes) => answer(options, folder, processes))

interface Noticed {
  readonly name: string
  readonly healthz_p99_ms: number
  readonly healthz_max_ms: number
  readonly accepted_p99_ms: number
  readonly page_p99_ms: number
  readonly visible_p99_ms: number
  /** Resident memory, since the start of the gateway. */
  readonly gateway_peak_mb: number
}

async function answer({ checkout, natsServerBin, seconds }: HostileOptions, folder: string, processes: Processes) {
  const [intakePort, grpcPort] = [await freePort(), await freePort()]
  const product = await startProduct(folder, natsServerBin, processes, { intakePort, grpcPort })
  const [bad, ...others] = await Promise.all(['hostile', 'one', 'two'].map((name) => product.createTenant(name)))
  if (bad === undefined) throw new Error('no tenant')
  const client = connectService(product.baseUrl, bad.secret, 1)
  const target: Target = { baseUrl: product.baseUrl, secret: bad.secret, intakePort, grpcPort }
  const clients = others.map(({ secret }) => connectService(product.baseUrl, secret, 16))
  try {
    await prepare(client)
    await sleep(CALM_MS)
    const noticed = [await notice('nothing', product, clients, () => sleep(seconds * 1_000))]
    for (const attack of Object.keys(ATTACKS)) {
      const order: Order = { attack, target, ms: seconds * 1_000 }
      const strikes = () => processes.run('attacker', process.execPath, [ATTACKER], { [ORDER]: JSON.stringify(order) })
      const beside = await notice(attack, product, clients, strikes)
      noticed.push(beside)
      // At once: beside an attack that others do wait for, an end may be long in coming.
      process.stdout.write(`${JSON.stringify(beside)}\n`)
      if (attack !== SLOWEST) await workedOff(client)
      await sleep(CALM_MS)
    }
    writeResult(join(checkout, 'bench', 'results', 'hostile.json'), {
      question: 'what do two tenants notice of a third one that sends and asks the costliest that it may',
      bar: { healthz_max_ms: GAP_MS_MAX, times_quiet: TIMES_QUIET_MAX },
      provenance: provenance(checkout),
      seconds,
      noticed,
    })
    print(noticed)
  } finally {
    await Promise.all([client, ...clients, bad, ...others].map((one) => one.close()))
  }
}

const ATTACKER = fileURLToPath(new URL('./attacker.js', import.meta.url))

/** Resolves once what the attacker has sent is worked off: the next attack is not measured beside it. */
async function workedOff(client: HttpServiceClient): Promise<void> {
  const events = Array.from({ length: LAST_EVENTS }, () => eventOf({ attributed_service: 'checkout' }))
  const ids = await Promise.all(events.map((event) => client.send(event)))
  for (const id of ids) while ((await client.find(id.replace(/^inv_/, 'attr_'))) === undefined) await sleep(LOOK_MS)
}

/** What a pulse of the health and the other tenants see until the attack is over. */
async function notice(
  name: string,
  { baseUrl, pid }: Product,
  clients: readonly HttpServiceClient[],
  attack: () => Promise<unknown>,
): Promise<Noticed> {
  const over = new AbortController()
  const [health, accepted, pages, visible]: [number[], number[], number[], number[]] = [[], [], [], []]
  const pulse = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await timed(health, () => fetch(`${baseUrl}/healthz`).then((answer) => answer.text()))
      await sleep(HEALTH_EVERY_MS)
    }
  }
  const tenant = async (client: HttpServiceClient): Promise<void> => {
    while (!over.signal.aborted) {
      const next = sleep(EVENT_EVERY_MS)
      const id = await timed(accepted, () => client.send(eventOf({ attributed_service: 'checkout' })))
      await timed(visible, async () => {
        while ((await client.find(id.replace(/^inv_/, 'attr_'))) === undefined) await sleep(LOOK_MS)
      })
      await timed(pages, () => client.page(50, undefined))
      await next
    }
  }
  const watching = Promise.all([pulse(), ...clients.map(tenant)])
  await attack()
  over.abort()
  await watching
  return {
    name,
    healthz_p99_ms: p99(health),
    healthz_max_ms: Math.max(...health),
    accepted_p99_ms: p99(accepted),
    page_p99_ms: p99(pages),
    visible_p99_ms: p99(visible),
    gateway_peak_mb: peakOf(pid)['gateway'] ?? Number.NaN,
  }
}

async function timed<T>(times: number[], work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  const result = await work()
  times.push(performance.now() - startedAt)
  return result
}

const p99 = (times: readonly number[]): number =>
  times.toSorted((one, other) => one - other)[Math.floor((times.length - 1) * 0.99)] ?? Number.NaN

function print(noticed: readonly Noticed[]): void {
  const [quiet] = noticed
  const rows = noticed.map(({ name, gateway_peak_mb, ...ms }) => [
    name,
    ...Object.values(ms).map((value) => value.toFixed(0)),
    (ms.visible_p99_ms / (quiet?.visible_p99_ms ?? Number.NaN)).toFixed(1),
    String(gateway_peak_mb),
  ])
  const head = ['attack', 'healthz p99', 'max', '202 p99', 'page p99', 'visible p99', '× quiet', 'gateway MB']
  process.stdout.write(
    '\nms that others wait beside an attack; bars: ' +
      `healthz ${GAP_MS_MAX}, visible ${TIMES_QUIET_MAX} times quiet\n\n${table([head, ...rows])}`,
  )
}
