import { processSeconds } from '../cpu-time.js'
import type { Processes } from '../processes.js'
import { pairedRatio, type Spread, spread } from '../statistics.js'
import { type Delivering, ownMain } from './delivering.js'

export interface Load {
  readonly repeats: number
  /** A repeat. */
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
 * Pairs that warm up: until then the engine still compiles what a courier, who runs for weeks, has compiled once. The
 * bare loop, whose process is a new one each time, is measured behind as many requests of its own.
 */
const WARM_UP_PAIRS = { kept: 4, close: 1 } as const

/**
 * A courier beside a bare loop, in pairs; the first ones warm up.
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
  for (let i = -WARM_UP_PAIRS[path]; i < load.repeats; i++) {
    const pair = [
      await bareRate(`/${path}`, load, delivering, processes),
      await courierRate(tenantId, endpoints, load, delivering),
    ] as const
    const shown = pair.map(({ perSecond, cpuUs }) => `${Math.round(perSecond)}/s, ${Math.round(cpuUs)} us`)
    process.stderr.write(`  ${path} ${i < 0 ? 'warm-up' : i + 1}: bare ${shown[0]}; courier ${shown[1]}\n`)
    if (i < 0) continue
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

async function bareRate(path: string, load: Load, delivering: Delivering, processes: Processes): Promise<Rate> {
  const text = await processes.run('bare', process.execPath, [ownMain('bare-process')], {
    BENCH_ORIGIN: delivering.origin,
    BENCH_PATH: path,
    BENCH_COUNT: String(load.deliveries),
    BENCH_WARM_UP: String(path === '/close' ? Math.ceil(load.deliveries / 4) : WARM_UP_PAIRS.kept * load.deliveries),
    BENCH_CONNECTIONS: String(load.connections),
    BENCH_CERT: delivering.certFile,
    BENCH_BODY: BODY,
  })
  await delivering.stats()
  return JSON.parse(text) as Rate
}

/** From the first to the last that the receiver saw. */
async function courierRate(
  tenantId: string,
  endpoints: number,
  { deliveries }: Load,
  delivering: Delivering,
): Promise<Rate> {
  const events = Math.ceil(deliveries / endpoints)
  const wanted = events * endpoints
  const cpuBefore = processSeconds(delivering.courierPid) ?? Number.NaN
  for (let from = 0; from < events; from += 500) {
    await Promise.all(Array.from({ length: Math.min(500, events - from) }, () => delivering.tell(tenantId)))
  }
  let [firstAtMs, lastAtMs] = [0, 0]
  await delivering.until(wanted, (stats) => {
    if (stats.count === 0) return 0
    firstAtMs ||= stats.firstAtMs
    lastAtMs = stats.lastAtMs
    return stats.count
  })
  const cpuSeconds = (processSeconds(delivering.courierPid) ?? Number.NaN) - cpuBefore
  return { perSecond: wanted / ((lastAtMs - firstAtMs) / 1_000), cpuUs: (cpuSeconds * 1e6) / wanted }
}
