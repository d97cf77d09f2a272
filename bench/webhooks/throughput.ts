import { processSeconds } from '../cpu-time.js'
import type { Processes } from '../processes.js'
import { pairedRatio, type Spread, spread } from '../statistics.js'
import { type Delivering, ownMain } from './delivering.js'

export interface Load {
  readonly repeats: number
  /** Of a repeat over kept connections; over a connection each they are a quarter, which take longer. */
  readonly deliveries: number
  /** In flight at once. */
  readonly connections: number
}

export interface Compared {
  readonly bare_per_second: Spread
  readonly courier_per_second: Spread
  readonly ratio: Spread
  /** Of the sending process, a request or delivery: it moves less than the rate when others use the machine. */
  readonly bare_cpu_us: Spread
  readonly courier_cpu_us: Spread
}

interface Rate {
  readonly perSecond: number
  readonly cpuUs: number
}

const PER_ENDPOINT = 8
/**
 * Not measured, before: until then the engine still compiles what a courier, who runs for weeks, has compiled once. The
 * bare loop, whose process is a new one each time, begins with as many requests of its own; where each costs a
 * connection with fewer, since there is no gain in more.
 */
const WARM_UP = { kept: { courier: 60_000, bare: 60_000 }, close: { courier: 8_000, bare: 2_000 } } as const

/** A part of what may wait in a courier. */
const WARM_UP_AT_ONCE = 4_000

/**
 * A courier, that is warm, beside a bare loop, in pairs.
 *
 * @param path of the receiver: `close` costs each delivery its connection
 */
export async function compare(
  path: 'kept' | 'close',
  load: Load,
  delivering: Delivering,
  processes: Processes,
): Promise<Compared> {
  const [bare, courier]: [Rate[], Rate[]] = [[], []]
  const endpoints = Math.ceil(load.connections / PER_ENDPOINT)
  const tenantId = await delivering.tenant(endpoints, () => `/${path}`)
  for (let warm = 0; warm < WARM_UP[path].courier; warm += WARM_UP_AT_ONCE) {
    await courierRate(tenantId, endpoints, WARM_UP_AT_ONCE, delivering)
  }
  const deliveries = path === 'kept' ? load.deliveries : Math.ceil(load.deliveries / 4)
  for (let i = 0; i < load.repeats; i++) {
    const pair = [
      await bareRate(path, { ...load, deliveries }, delivering, processes),
      await courierRate(tenantId, endpoints, deliveries, delivering),
    ] as const
    const shown = pair.map(({ perSecond, cpuUs }) => `${Math.round(perSecond)}/s, ${Math.round(cpuUs)} us`)
    process.stderr.write(`  ${path} ${i + 1}: bare ${shown[0]}; courier ${shown[1]}\n`)
    bare.push(pair[0])
    courier.push(pair[1])
  }
  await delivering.removeEndpoints([tenantId])
  const of = (rates: readonly Rate[], what: keyof Rate): number[] => rates.map((rate) => rate[what])
  return {
    bare_per_second: spread(of(bare, 'perSecond')),
    courier_per_second: spread(of(courier, 'perSecond')),
    ratio: pairedRatio(of(courier, 'perSecond'), of(bare, 'perSecond')),
    bare_cpu_us: spread(of(bare, 'cpuUs')),
    courier_cpu_us: spread(of(courier, 'cpuUs')),
  }
}

/** As long as an event of `Delivering.tell` is on its way. */
const BODY = JSON.stringify({
  id: `evt_${'x'.repeat(26)}`,
  type: 'apikey.rotated',
  created_at: '2026-11-21T09:30:00.000000000Z',
  sequence: 12_345,
  tenant_id: `tnt_${'x'.repeat(16)}`,
  data: { old_key_id: 'key_old', new_key_id: 'x'.repeat(16) },
})

async function bareRate(
  path: 'kept' | 'close',
  load: Load,
  delivering: Delivering,
  processes: Processes,
): Promise<Rate> {
  const text = await processes.run('bare', process.execPath, [ownMain('bare-process')], {
    BENCH_ORIGIN: delivering.origin,
    BENCH_PATH: `/${path}`,
    BENCH_COUNT: String(load.deliveries),
    BENCH_WARM_UP: String(WARM_UP[path].bare),
    BENCH_CONNECTIONS: String(load.connections),
    BENCH_CERT: delivering.certFile,
    BENCH_BODY: BODY,
  })
  await delivering.stats()
  return JSON.parse(text) as Rate
}

/**
 * From the continuation of the courier, which is stopped while events are published, until the receiver has the last
 * one: publishing is excluded, and all work of the courier is included.
 */
async function courierRate(
  tenantId: string,
  endpoints: number,
  deliveries: number,
  delivering: Delivering,
): Promise<Rate> {
  const events = Math.ceil(deliveries / endpoints)
  const wanted = events * endpoints
  const { courierPid } = delivering
  const cpuBefore = processSeconds(courierPid) ?? Number.NaN
  process.kill(courierPid, 'SIGSTOP')
  await delivering.tell(tenantId, events)
  process.kill(courierPid, 'SIGCONT')
  const startedAtMs = Date.now()
  let lastAtMs = 0
  await delivering.until(wanted, (stats) => {
    lastAtMs = Math.max(lastAtMs, stats.lastAtMs)
    return stats.count
  })
  const cpuSeconds = (processSeconds(courierPid) ?? Number.NaN) - cpuBefore
  return { perSecond: wanted / ((lastAtMs - startedAtMs) / 1_000), cpuUs: (cpuSeconds * 1e6) / wanted }
}
