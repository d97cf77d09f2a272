import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { INVOCATIONS } from '../../streams/invocations.js'
import { provenance } from '../machine.js'
import { writeResult } from '../results.js'
import { type Spread, spread } from '../statistics.js'
import { table } from '../table.js'
import type { Wrk } from './find-wrk.js'
import type { LoadResult } from './load.js'
import { type Measurement, measure } from './measure.js'
import { type LoadSummary, summaryOf } from './report.js'
import { writeRequests } from './requests.js'
import { type Ground, keyHeader, startGateway, startGatewayBeside } from './servers.js'
import { StoredEvents } from './stored.js'
import { wrkGenerator } from './wrk.js'

/**
 * Question: what do more gateways cost per event?
 *
 * No bar. All gateways share one port and the processors of this machine, so the processor time says more than the
 * rate.
 */
const COUNTS = [1, 2, 4, 8]
const SECONDS = 2
const REPEATS = 3
const CONNECTIONS = 256
/** For gateways to share their rate limits. */
const JOINED_MS = 2_000
const SETTLE_MS = 500

interface Figures {
  readonly gateways: number
  /** Processor time is that of all gateways. */
  readonly load: LoadSummary
}

/** The form of bench/results/ingest-gateways.json. */
interface GatewaysResult {
  readonly question: string
  readonly provenance: ReturnType<typeof provenance>
  readonly generator: string
  readonly load: { readonly seconds: number; readonly repeats: number; readonly connections: number }
  readonly figures: readonly Figures[]
  /** Of the processors, taken by programs outside the bench during a load. */
  readonly strangers_share: Spread | null
}

export async function compareGateways(
  checkout: string,
  folder: string,
  wrk: Wrk,
  ground: Ground,
  storeUrl: string,
): Promise<void> {
  const first = await startGateway(ground, storeUrl)
  const requestsFile = join(folder, 'requests.txt')
  writeRequests(requestsFile, keyHeader(ground), Date.now())
  const generator = wrkGenerator(wrk, requestsFile, ground.processes)
  const stored = new StoredEvents(ground.broker.manager)
  const shares: number[] = []
  const siblings: number[] = []

  const run = async (): Promise<Measurement> => {
    const load = { connections: CONNECTIONS, seconds: SECONDS, pauseMs: 0 }
    const measured = await measure(generator, { ...first, siblings }, load, ground, requestsFile)
    if (measured.strangersShare !== undefined) shares.push(measured.strangersShare)
    return measured
  }
  const check = async (of: readonly Measurement[]): Promise<void> => {
    await sleep(SETTLE_MS)
    await stored.check(of.flatMap((one): LoadResult[] => [one, one.probe]))
    await ground.broker.manager.streams.purge(INVOCATIONS.name)
  }

  const figures: Figures[] = []
  for (const count of COUNTS) {
    while (siblings.length < count - 1) {
      siblings.push(await startGatewayBeside(ground, storeUrl, first.port, `gateway-${siblings.length + 2}`))
    }
    process.stderr.write(`${count} gateways\n`)
    await sleep(JOINED_MS)
    const warmUp = await run()
    const measured: Measurement[] = []
    while (measured.length < REPEATS) measured.push(await run())
    await check([warmUp, ...measured])
    figures.push({ gateways: count, load: summaryOf(measured) })
  }

  const result: GatewaysResult = {
    question: 'single-event ingest with more and more gateways: processor time per event',
    provenance: provenance(checkout),
    generator: generator.name,
    load: { seconds: SECONDS, repeats: REPEATS, connections: CONNECTIONS },
    figures,
    strangers_share: shares.length === 0 ? null : spread(shares),
  }
  writeResult(join(checkout, 'bench', 'results', 'ingest-gateways.json'), result)
  print(result)
}

function print({ provenance: { cpu, cores, commit }, figures, strangers_share: strangers }: GatewaysResult): void {
  const rows = figures.map(({ gateways, load }) => [
    String(gateways),
    Math.round(load.events_per_s.median).toLocaleString('en'),
    load.server_cpu_us?.median.toFixed(1) ?? '-',
    load.broker_cpu_us?.median.toFixed(1) ?? '-',
    load.p99_ms.median.toFixed(1),
  ])
  const head = ['gateways', 'events/s', 'gateways us/event', 'broker us/event', 'p99 ms']
  const share = strangers === null ? 'an unknown share' : `${(100 * strangers.median).toFixed(0)} %`
  process.stdout.write(`
${cpu}, ${cores} cores; ${commit.slice(0, 7)}; medians of ${REPEATS} repeats of ${SECONDS} s

${table([head, ...rows])}
other programs took ${share} of the processors
`)
}
