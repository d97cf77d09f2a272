import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { senderOf, through } from '../attribution/question.js'
import { processSeconds } from '../cpu-time.js'
import { ensureWrk } from '../ingest/find-wrk.js'
import { type Measurement, measure } from '../ingest/measure.js'
import { nodeGenerator } from '../ingest/node-load.js'
import { writeRequests } from '../ingest/requests.js'
import {
  type Ground,
  keyHeader,
  prepareGround,
  type Server,
  startAttributor,
  startGateway,
  startStore,
} from '../ingest/servers.js'
import { wrkGenerator } from '../ingest/wrk.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import { Processes } from '../processes.js'
import { writeResult } from '../results.js'
import { pairedRatio, type Spread } from '../statistics.js'
import { table } from '../table.js'

/**
 * Question: what do metrics and spans cost a gateway at full ingest, and an attributor at a backlog?
 *
 * Two gateways, each with a broker and a read model of its own: one plain, one whose metrics are scraped and whose
 * spans go to a collector. Loads on them alternate, which of the two is first changes from pair to pair, and ratios are
 * of neighbours. The other gateway has nothing to do meanwhile. Then the same with two attributors and backlogs of full
 * groups, in which one event of a hundred carries the context of a sampled request, on both sides.
 */
export interface TelemetryOptions {
  readonly checkout: string
  readonly natsServerBin: string
  readonly pairs: number
  readonly seconds: number
  readonly connections: number
  /** Of each backlog. */
  readonly events: number
}

const SCRAPED_EVERY_MS = 5_000
const WARM_UP_SECONDS = 3
const WARM_UP_EVENTS = 20_000

export const telemetry = (options: TelemetryOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'telemetry', signal, async (folder, processes) => {
    // Of the same names as the others.
    const logs = join(folder, 'logs')
    mkdirSync(logs)
    const further = new Processes(logs)
    try {
      await Promise.race([answer(options, folder, processes, further), further.failure])
    } finally {
      await further.stop()
    }
  })

interface Side {
  readonly server: Server
  run(seconds: number): Promise<Measurement>
}

/** The two sides of a pair. */
type Pair<T> = Readonly<Record<'plain' | 'measured', T>>

async function answer(
  options: TelemetryOptions,
  folder: string,
  processes: Processes,
  further: Processes,
): Promise<void> {
  const collector = await startCollector()
  const telemetryOf = async (): Promise<Telemetry> => ({
    metricsPort: await freePort(),
    tracesEndpoint: `http://127.0.0.1:${collector.port}/v1/traces`,
  })
  const groundOf = (name: string, by: Processes) => prepareGround(join(folder, name), options.natsServerBin, by)
  const gateways = {
    plain: await groundOf('plain', processes),
    measured: await groundOf('measured', further),
  }
  const ofGateways = await measureGateways(options, gateways, await telemetryOf())
  const exportsOfGateways = collector.exports()
  const logs = [join(folder, 'logs-plain'), join(folder, 'logs-measured')] as const
  for (const each of logs) mkdirSync(each)
  const [plain, measured] = [new Processes(logs[0]), new Processes(logs[1])]
  try {
    const attributors = { plain: await groundOf('a-plain', plain), measured: await groundOf('a-measured', measured) }
    const ofAttributors = await Promise.race([
      measureAttributors(options, attributors, await telemetryOf()),
      plain.failure,
      measured.failure,
    ])
    if (exportsOfGateways === 0 || collector.exports() === exportsOfGateways)
      throw new Error('the collector got no spans')
    report(options, { gateway: ofGateways, attributor: ofAttributors }, collector.exports())
  } finally {
    await Promise.all([plain.stop(), measured.stop()])
    collector.close()
  }
}

interface Telemetry {
  readonly metricsPort: number
  readonly tracesEndpoint: string
}

/** Runs both sides in turn, and scrapes the metrics of one meanwhile. @returns what each run gave */
async function inTurn<T>(pairs: number, metricsPort: number, run: (side: keyof Pair<T>) => Promise<T>) {
  const kept: Pair<T[]> = { plain: [], measured: [] }
  const scrapes = setInterval(() => {
    void fetch(`http://127.0.0.1:${metricsPort}/metrics`).then(
      (response) => response.text(),
      () => undefined,
    )
  }, SCRAPED_EVERY_MS)
  try {
    for (let i = 0; i < pairs; i++) {
      process.stderr.write(`pair ${i + 1} of ${pairs}\n`)
      const order = i % 2 === 0 ? (['plain', 'measured'] as const) : (['measured', 'plain'] as const)
      for (const side of order) kept[side].push(await run(side))
    }
  } finally {
    clearInterval(scrapes)
  }
  return (what: (run: T) => number): Spread => pairedRatio(kept.measured.map(what), kept.plain.map(what))
}

async function measureGateways(
  options: TelemetryOptions,
  grounds: Pair<Ground>,
  { metricsPort, tracesEndpoint }: Telemetry,
): Promise<Readonly<Record<string, Spread>>> {
  const sides: Pair<Side> = {
    plain: await openSide(options, grounds.plain, {}),
    measured: await openSide(options, grounds.measured, {
      ATTRIBUTION_METRICS_PORT: String(metricsPort),
      ATTRIBUTION_OTLP_TRACES_ENDPOINT: tracesEndpoint,
    }),
  }
  for (const side of [sides.plain, sides.measured]) await side.run(WARM_UP_SECONDS)
  const of = await inTurn(options.pairs, metricsPort, (side) => sides[side].run(options.seconds))
  return {
    events_per_s: of(({ eventsPerSecond }) => eventsPerSecond),
    cpu_us_per_event: of(({ serverCpuUs = Number.NaN }) => serverCpuUs),
  }
}

/** One event of so many carries a context: the default share of sampled requests. */
const SAMPLED_EVERY = 100

async function measureAttributors(
  { events, pairs }: TelemetryOptions,
  grounds: Pair<Ground>,
  { metricsPort, tracesEndpoint }: Telemetry,
): Promise<Readonly<Record<string, Spread>>> {
  const openBacklog = async (ground: Ground, args: readonly string[]) => {
    const storePort = await freePort()
    await startStore(ground, storePort)
    const pid = await startAttributor(ground, storePort, args)
    const traceparentOf = (i: number): string | undefined =>
      i % SAMPLED_EVERY === 0 ? `00-${hex(16)}-${hex(8)}-01` : undefined
    const sender = { ...(await senderOf(ground)), traceparentOf }
    return async (count: number) => {
      const before = processSeconds(pid) ?? Number.NaN
      const seconds = await through(count, 'stated', ['a'], ground, sender)
      return { eventsPerSecond: count / seconds, cpuUs: (((processSeconds(pid) ?? Number.NaN) - before) * 1e6) / count }
    }
  }
  const runs = {
    plain: await openBacklog(grounds.plain, []),
    measured: await openBacklog(grounds.measured, [
      ...['--metrics-port', String(metricsPort), '--otlp-traces-endpoint', tracesEndpoint],
    ]),
  }
  for (const run of [runs.plain, runs.measured]) await run(WARM_UP_EVENTS)
  const of = await inTurn(pairs, metricsPort, (side) => runs[side](events))
  return { events_per_s: of(({ eventsPerSecond }) => eventsPerSecond), cpu_us_per_event: of(({ cpuUs }) => cpuUs) }
}

const hex = (bytes: number): string => randomBytes(bytes).toString('hex')

function report(
  { checkout, pairs, seconds, connections, events }: TelemetryOptions,
  ratios: Readonly<Record<'gateway' | 'attributor', Readonly<Record<string, Spread>>>>,
  exportsOfSpans: number,
): void {
  const rows = Object.entries(ratios).flatMap(([role, of]) =>
    Object.entries(of).map(([name, { min, median, max }]) => [`${role}, ${name}`, ...[min, median, max].map(shown)]),
  )
  process.stdout.write(table([['measured ÷ plain', 'least', 'median', 'most'], ...rows]))
  writeResult(join(checkout, 'bench', 'results', 'telemetry.json'), {
    question: 'what do metrics and spans cost a gateway at full ingest, and an attributor at a backlog',
    provenance: provenance(checkout),
    load: { pairs, seconds, connections, events_per_backlog: events, scraped_every_ms: SCRAPED_EVERY_MS },
    exports_of_spans: exportsOfSpans,
    measured_per_plain: ratios,
  })
}

const shown = (ratio: number): string => ratio.toFixed(3)

async function openSide(
  { checkout, connections }: TelemetryOptions,
  ground: Ground,
  env: Readonly<Record<string, string>>,
): Promise<Side> {
  const { processes, files } = ground
  const storePort = await freePort()
  await startStore(ground, storePort)
  const server = await startGateway(ground, `http://127.0.0.1:${storePort}`, { env })
  const requestsFile = join(files.dataDir, 'requests.txt')
  writeRequests(requestsFile, keyHeader(ground), Date.now())
  const wrk = await ensureWrk(checkout)
  const generator =
    wrk === undefined ? nodeGenerator(requestsFile, processes) : wrkGenerator(wrk, requestsFile, processes)
  return {
    server,
    run: (seconds) => measure(generator, server, { connections, seconds, pauseMs: 0 }, ground, requestsFile),
  }
}

/** A collector that takes everything and keeps nothing. */
async function startCollector() {
  let exports = 0
  const server = createServer((request, response) => {
    exports++
    request.resume().on('end', () => response.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    exports: () => exports,
    close: () => server.close(),
  }
}
