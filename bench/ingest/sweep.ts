import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { INVOCATIONS } from '../../streams/invocations.js'
import { provenance } from '../machine.js'
import { writeResult } from '../results.js'
import { type Spread, spread } from '../statistics.js'
import type { Wrk } from './find-wrk.js'
import type { LoadGenerator, LoadResult } from './load.js'
import { type Measurement, measure } from './measure.js'
import { openLoopGenerator } from './open-loop.js'
import { BULK_EVENTS, writeBulk, writeRequests } from './requests.js'
import { type Ground, keyHeader, type Server, startBareServer, startGateway, startGatewayBeside } from './servers.js'
import { StoredEvents } from './stored.js'
import { type Comparison, compare, printSweep, type SweepResult } from './sweep-report.js'
import { wrkGenerator } from './wrk.js'

/**
 * Question: how does the rate of admission move with the form of the load: many events a request, connections, size of
 * an event, gateway processes; and how long does a caller wait who does not wait for others?
 *
 * Bar: bulk events/s ÷ single events/s ≥ 4. Everything else is measured beside the bare server and has no bar.
 */
const BULK_TO_SINGLE = 4

/** Shorter than the ingest question's: these show a course, not a verdict. */
const SECONDS = 2
const REPEATS = 3
const CONNECTIONS = 256
/** Few, since each has a thousand events in flight, and the gateway lets 50,000 wait. */
const BULK_CONNECTIONS = 16
const CONNECTION_COUNTS = [1, 16, 256, 1024]
const SIZES = [0, 2 * 1024, 16 * 1024]
const PROCESSES = [1, 2, 4]
const OPEN_LOOP_SHARES = [0.1, 0.5]
/** For gateways to know one another, and for requests nobody waits for any more to reach the log. */
const SETTLE_MS = 2_000

interface Pair {
  readonly ours: Measurement[]
  readonly bare: Measurement[]
}

export async function sweep(
  checkout: string,
  folder: string,
  wrk: Wrk,
  ground: Ground,
  storeUrl: string,
): Promise<void> {
  const { processes } = ground
  const servers = { bare: await startBareServer(ground), ours: await startGateway(ground, storeUrl) }
  const bench = new SweepBench(ground, servers.bare)
  const requestsFile = join(folder, 'requests.txt')
  const bulkFile = join(folder, 'bulk.txt')
  const bodyBytes = writeRequests(requestsFile, keyHeader(ground), Date.now())
  const bulkBytes = writeBulk(bulkFile, keyHeader(ground), Date.now())
  const single = { generator: wrkGenerator(wrk, requestsFile, processes), requestsFile, connections: CONNECTIONS }
  const bulk = {
    generator: wrkGenerator(wrk, bulkFile, processes, 'bulk', BULK_EVENTS),
    requestsFile,
    connections: BULK_CONNECTIONS,
  }

  say('warming up')
  for (const server of [servers.bare, servers.ours]) {
    for (const load of [single, bulk]) await bench.run(server, load)
  }
  await bench.check()

  say(`bulk: ${BULK_EVENTS} events and ${bulkBytes} bytes a request, ${BULK_CONNECTIONS} connections`)
  const { singles, bulks } = await singlesAndBulks(bench, servers, single, bulk)
  await bench.check()

  const connections: Comparison[] = []
  for (const count of CONNECTION_COUNTS) {
    connections.push(await bench.pairs(`${count} connections`, servers.ours, { ...single, connections: count }))
  }

  const sizes: Comparison[] = []
  for (const bytes of SIZES) {
    const file = join(folder, `requests-${bytes}.txt`)
    const mean = writeRequests(file, keyHeader(ground), Date.now(), bytes)
    const load = { generator: wrkGenerator(wrk, file, processes), requestsFile: file, connections: CONNECTIONS }
    sizes.push(await bench.pairs(`${mean} bytes an event`, servers.ours, load))
  }

  const maximum = compare('single', singles.ours, singles.bare).ours.events_per_s.median
  const openLoop: Comparison[] = []
  for (const share of OPEN_LOOP_SHARES) {
    const rate = Math.round(maximum * share)
    const load = { generator: openLoopGenerator(requestsFile, processes, rate), requestsFile, connections: CONNECTIONS }
    openLoop.push(await bench.pairs(`${share * 100} % of the maximum, ${rate}/s`, servers.ours, load))
  }

  const startBeside = (name: string) => startGatewayBeside(ground, storeUrl, servers.ours.port, name)
  const gateways = await byProcesses(bench, servers.ours, single, startBeside)

  const result: SweepResult = {
    question: 'ingest by form of the load: bulk, connections, bytes, processes, and open loop',
    provenance: provenance(checkout),
    generator: single.generator.name,
    load: {
      seconds: SECONDS,
      repeats: REPEATS,
      connections: CONNECTIONS,
      body_bytes: bodyBytes,
      bulk: { connections: BULK_CONNECTIONS, events: BULK_EVENTS, body_bytes: bulkBytes },
    },
    bars: { bulk_to_single: BULK_TO_SINGLE },
    bulk: compare('bulk', bulks.ours, bulks.bare),
    single: compare('single', singles.ours, singles.bare),
    bulk_to_single: compare('', bulks.ours, singles.ours).ours_to_bare,
    connections,
    sizes,
    processes: gateways,
    open_loop: openLoop,
    events_counted: bench.counted,
    strangers_share: bench.strangersShare,
  }
  const file = join(checkout, 'bench', 'results', 'ingest-sweep.json')
  writeResult(file, result)
  printSweep(result)
  say(`written to ${file}`)
}

/** Both loads on both servers in turns, in alternating order. */
async function singlesAndBulks(
  bench: SweepBench,
  { bare, ours }: { readonly bare: Server; readonly ours: Server },
  single: SweepLoad,
  bulk: SweepLoad,
): Promise<{ readonly singles: Pair; readonly bulks: Pair }> {
  const singles: Pair = { ours: [], bare: [] }
  const bulks: Pair = { ours: [], bare: [] }
  for (let i = 0; i < REPEATS; i++) {
    const order = [
      async () => bulks.bare.push(await bench.run(bare, bulk)),
      async () => bulks.ours.push(await bench.run(ours, bulk)),
      async () => singles.ours.push(await bench.run(ours, single)),
      async () => singles.bare.push(await bench.run(bare, single)),
    ]
    for (const load of i % 2 === 0 ? order : order.toReversed()) await load()
  }
  return { singles, bulks }
}

/** With more and more gateways on one port. */
async function byProcesses(
  bench: SweepBench,
  ours: Server,
  load: SweepLoad,
  startBeside: (name: string) => Promise<number>,
): Promise<Comparison[]> {
  const compared: Comparison[] = []
  const siblings: number[] = []
  for (const count of PROCESSES) {
    while (siblings.length < count - 1) siblings.push(await startBeside(`gateway-${siblings.length + 2}`))
    const all = { ...ours, siblings }
    await sleep(SETTLE_MS)
    await bench.run(all, load)
    compared.push(await bench.pairs(`${count} gateway processes`, all, load))
  }
  return compared
}

interface SweepLoad {
  readonly generator: LoadGenerator
  /** Requests of the probes beside the load. */
  readonly requestsFile: string
  readonly connections: number
}

/** Runs loads, and compares the gateways' answers with the log. */
class SweepBench {
  /** Events that were answered with 202 and found in the log. */
  counted = 0
  private uncounted: LoadResult[] = []
  private readonly shares: number[] = []
  private readonly stored: StoredEvents
  private readonly ground: Ground
  private readonly bare: Server

  constructor(ground: Ground, bare: Server) {
    this.ground = ground
    this.bare = bare
    this.stored = new StoredEvents(ground.broker.manager)
  }

  async run(server: Server, { generator, requestsFile, connections }: SweepLoad): Promise<Measurement> {
    const load = { connections, seconds: SECONDS, pauseMs: 0 }
    const others = server.name === 'bare' ? [] : [this.bare.pid]
    const measurement = await measure(generator, server, load, this.ground, requestsFile, others).catch(
      (cause: Error) => {
        throw new Error(`the load on ${server.name} is void: ${cause.message}`, { cause })
      },
    )
    if (server.name !== 'bare') {
      this.uncounted.push(measurement, measurement.probe)
      if (measurement.strangersShare !== undefined) this.shares.push(measurement.strangersShare)
    }
    return measurement
  }

  /** The same load on the bare server and on ours, in turns. */
  async pairs(label: string, ours: Server, load: SweepLoad): Promise<Comparison> {
    say(label)
    const pair: Pair = { ours: [], bare: [] }
    for (let i = 0; i < REPEATS; i++) {
      const both = [
        async () => pair.bare.push(await this.run(this.bare, load)),
        async () => pair.ours.push(await this.run(ours, load)),
      ]
      for (const one of i % 2 === 0 ? both : both.toReversed()) await one()
    }
    await this.check()
    return compare(label, pair.ours, pair.bare)
  }

  /** Counts the log and empties it. */
  async check(): Promise<void> {
    await sleep(SETTLE_MS / 4)
    await this.stored.check(this.uncounted)
    this.counted += this.uncounted.reduce((sum, { accepted }) => sum + accepted, 0)
    this.uncounted = []
    await this.ground.broker.manager.streams.purge(INVOCATIONS.name)
  }

  /** What programs outside the bench took of the processors, over the loads on gateways. */
  get strangersShare(): Spread | null {
    return this.shares.length === 0 ? null : spread(this.shares)
  }
}

const say = (line: string): void => void process.stderr.write(`${line}\n`)
