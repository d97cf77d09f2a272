import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { INVOCATIONS } from '../../streams/invocations.js'
import { processSeconds } from '../cpu-time.js'
import { provenance } from '../machine.js'
import { writeResult } from '../results.js'
import { type Spread, spread } from '../statistics.js'
import { table } from '../table.js'
import type { LoadGenerator, LoadResult } from './load.js'
import { type Measurement, measure } from './measure.js'
import { sendExactly } from './node-load.js'
import { openLoopGenerator } from './open-loop.js'
import { type LoadSummary, summaryOf } from './report.js'
import { writeRequests } from './requests.js'
import { type Ground, keyHeader, startGateway, startGatewayBeside } from './servers.js'
import { StoredEvents } from './stored.js'

/**
 * Question: what do more gateways cost per event, at a rate that one of them could serve?
 *
 * Single events at a constant rate over connections that the kernel spreads over the gateways, which share one port.
 * Bars: the processor time per event of eight gateways together is at most twice that of one, which is what smaller
 * groups cost; a gateway without requests takes at most 0.01 cores. Without an attributor, as `ingest`.
 *
 * What smaller groups cost is measured, too: one gateway with an eighth of the events. What eight take beyond it is what
 * they cost each other.
 */
/** After one. */
const MORE = [2, 4, 8]
const EVENTS_PER_SECOND = 1_000
const SECONDS = 5
const REPEATS = 3
const CONNECTIONS = 256
/**
 * For each gateway, as fast as they go, before each measurement. V8 goes on compiling for tens of thousands of events:
 * after 5,000, four of its threads were busy with that all the time, and an event cost twice as much.
 */
const WARM_UP_EVENTS = 25_000
/** For gateways to share their rate limits. */
const JOINED_MS = 2_000
const SETTLE_MS = 500
/** A gateway collects its garbage once, at the first look, each 10 s, that finds it idle since the last. */
const COLLECTED_MS = 25_000
const IDLE_MS = 10_000
const RATIO_MAX = 2
const IDLE_CORES_MAX = 0.01

interface Figures {
  readonly gateways: number
  /** Processor time is that of all gateways. */
  readonly load: LoadSummary
  /** Of each gateway, without requests. */
  readonly idle_cores: number
}

/** The form of bench/results/ingest-gateways.json. */
interface GatewaysResult {
  readonly question: string
  readonly bar: { readonly cpu_of_8_to_1: number; readonly idle_cores: number }
  readonly provenance: ReturnType<typeof provenance>
  readonly generator: string
  readonly load: { readonly seconds: number; readonly repeats: number; readonly connections: number }
  readonly figures: readonly Figures[]
  /** One gateway, with an eighth of the events. */
  readonly eighth: LoadSummary
  /** Processor time per event of all gateways: of eight, by that of one. */
  readonly cpu_of_8_to_1: number
  /** Of eight, by that of one with an eighth of the events. */
  readonly cpu_of_8_to_eighth: number
  /** Of the processors, taken by programs outside the bench during a load. */
  readonly strangers_share: Spread | null
}

export async function compareGateways(
  checkout: string,
  folder: string,
  ground: Ground,
  storeUrl: string,
): Promise<void> {
  const first = await startGateway(ground, storeUrl)
  const requestsFile = join(folder, 'requests.txt')
  writeRequests(requestsFile, keyHeader(ground), Date.now())
  const generatorOf = (perSecond: number) => openLoopGenerator(requestsFile, ground.processes, perSecond)
  const generator = generatorOf(EVENTS_PER_SECOND)
  const stored = new StoredEvents(ground.broker.manager)
  const shares: number[] = []
  const siblings: number[] = []

  const run = async (generator: LoadGenerator): Promise<Measurement> => {
    const load = { connections: CONNECTIONS, seconds: SECONDS, pauseMs: 0 }
    const measured = await measure(generator, { ...first, siblings }, load, ground, requestsFile)
    if (measured.strangersShare !== undefined) shares.push(measured.strangersShare)
    return measured
  }
  const measureAll = async (generator: LoadGenerator): Promise<LoadSummary> => {
    await sleep(JOINED_MS)
    const heated = await sendExactly(WARM_UP_EVENTS * (1 + siblings.length), first.port, requestsFile, ground.processes)
    const warmUp = await run(generator)
    const measured: Measurement[] = []
    while (measured.length < REPEATS) measured.push(await run(generator))
    await sleep(SETTLE_MS)
    await stored.check([heated, ...[warmUp, ...measured].flatMap((one): LoadResult[] => [one, one.probe])])
    await ground.broker.manager.streams.purge(INVOCATIONS.name)
    return summaryOf(measured)
  }

  const measureGateways = async (count: number): Promise<Figures> => {
    while (siblings.length < count - 1) {
      siblings.push(await startGatewayBeside(ground, storeUrl, first.port, `gateway-${siblings.length + 2}`))
    }
    process.stderr.write(`${count} gateways\n`)
    const load = await measureAll(generator)
    return { gateways: count, load, idle_cores: await idleCores([first.pid, ...siblings]) }
  }

  const figures = [await measureGateways(1)]
  const eighth = await measureAll(generatorOf(EVENTS_PER_SECOND / 8))
  for (const count of MORE) figures.push(await measureGateways(count))

  const cpuOf = (load: LoadSummary | undefined): number => load?.server_cpu_us?.median ?? Number.NaN
  const cpuOfEight = cpuOf(figures.at(-1)?.load)
  const result: GatewaysResult = {
    question: 'single events at 1,000 per second over more and more gateways: processor time per event',
    bar: { cpu_of_8_to_1: RATIO_MAX, idle_cores: IDLE_CORES_MAX },
    provenance: provenance(checkout),
    generator: generator.name,
    load: { seconds: SECONDS, repeats: REPEATS, connections: CONNECTIONS },
    figures,
    eighth,
    cpu_of_8_to_1: cpuOfEight / cpuOf(figures[0]?.load),
    cpu_of_8_to_eighth: cpuOfEight / cpuOf(eighth),
    strangers_share: shares.length === 0 ? null : spread(shares),
  }
  writeResult(join(checkout, 'bench', 'results', 'ingest-gateways.json'), result)
  print(result)
}

/** Of each of these processes, on average. */
async function idleCores(pids: readonly number[]): Promise<number> {
  await sleep(COLLECTED_MS)
  const spent = (): number => pids.reduce((sum, pid) => sum + (processSeconds(pid) ?? Number.NaN), 0)
  const before = spent()
  await sleep(IDLE_MS)
  return (spent() - before) / (IDLE_MS / 1_000) / pids.length
}

function print({ provenance: { cpu, cores, commit }, figures, eighth, ...result }: GatewaysResult): void {
  const all = [{ gateways: 1, load: eighth, idle_cores: undefined }, ...figures]
  const rows = all.map(({ gateways, load, idle_cores: idle }) => [
    String(gateways),
    Math.round(load.events_per_s.median).toLocaleString('en'),
    load.server_cpu_us?.median.toFixed(1) ?? '-',
    load.broker_cpu_us?.median.toFixed(1) ?? '-',
    load.p99_ms.median.toFixed(1),
    idle?.toFixed(4) ?? '-',
  ])
  const head = ['gateways', 'events/s', 'gateways us/event', 'broker us/event', 'p99 ms', 'cores of an idle gateway']
  const strangers = result.strangers_share
  const share = strangers === null ? 'an unknown share' : `${(100 * strangers.median).toFixed(0)} %`
  process.stdout.write(`
${cpu}, ${cores} cores; ${commit.slice(0, 7)}; medians of ${REPEATS} repeats of ${SECONDS} s

${table([head, ...rows])}
processor time per event of 8 gateways ÷ 1: ${result.cpu_of_8_to_1.toFixed(2)} (bar: at most ${RATIO_MAX}), \
÷ 1 with an eighth of the events: ${result.cpu_of_8_to_eighth.toFixed(2)}; an idle gateway: at most ${IDLE_CORES_MAX} cores
other programs took ${share} of the processors
`)
}
