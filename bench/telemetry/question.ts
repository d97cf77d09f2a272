import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { freePort } from '../../internal/local/supervisor/instance.js'
import { ensureWrk } from '../ingest/find-wrk.js'
import { type Measurement, measure } from '../ingest/measure.js'
import { nodeGenerator } from '../ingest/node-load.js'
import { writeRequests } from '../ingest/requests.js'
import { type Ground, keyHeader, prepareGround, type Server, startGateway, startStore } from '../ingest/servers.js'
import { wrkGenerator } from '../ingest/wrk.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import { Processes } from '../processes.js'
import { writeResult } from '../results.js'
import { pairedRatio, type Spread } from '../statistics.js'
import { table } from '../table.js'

/**
 * Question: what do metrics and spans cost a gateway at full ingest?
 *
 * Two gateways, each with a broker and a read model of its own: one plain, one whose metrics are scraped and whose spans go to
 * a collector. Loads on them alternate, which of the two is first changes from pair to pair, and ratios are of neighbours.
 * The other gateway has nothing to do meanwhile.
 */
export interface TelemetryOptions {
  readonly checkout: string
  readonly natsServerBin: string
  readonly pairs: number
  readonly seconds: number
  readonly connections: number
}

const SCRAPED_EVERY_MS = 5_000
const WARM_UP_SECONDS = 3

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

async function answer(
  options: TelemetryOptions,
  folder: string,
  processes: Processes,
  further: Processes,
): Promise<void> {
  const { checkout, natsServerBin, pairs, seconds } = options
  const collector = await startCollector()
  const metricsPort = await freePort()
  const plain = await openSide(options, await prepareGround(join(folder, 'plain'), natsServerBin, processes), {})
  const measured = await openSide(options, await prepareGround(join(folder, 'measured'), natsServerBin, further), {
    ATTRIBUTION_METRICS_PORT: String(metricsPort),
    ATTRIBUTION_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${collector.port}/v1/traces`,
  })
  const scrapes = setInterval(() => {
    void fetch(`http://127.0.0.1:${metricsPort}/metrics`).then(
      (response) => response.text(),
      () => undefined,
    )
  }, SCRAPED_EVERY_MS)
  const kept: Record<'plain' | 'measured', Measurement[]> = { plain: [], measured: [] }
  try {
    for (const side of [plain, measured]) await side.run(WARM_UP_SECONDS)
    for (let i = 0; i < pairs; i++) {
      process.stderr.write(`pair ${i + 1} of ${pairs}\n`)
      const order = i % 2 === 0 ? (['plain', 'measured'] as const) : (['measured', 'plain'] as const)
      for (const name of order) kept[name].push(await (name === 'plain' ? plain : measured).run(seconds))
    }
  } finally {
    clearInterval(scrapes)
    collector.close()
  }
  if (collector.exports() === 0) throw new Error('the collector got no spans')
  const of = (what: (measurement: Measurement) => number): Spread =>
    pairedRatio(kept.measured.map(what), kept.plain.map(what))
  const ratios = {
    events_per_s: of(({ eventsPerSecond }) => eventsPerSecond),
    cpu_us_per_event: of(({ serverCpuUs = Number.NaN }) => serverCpuUs),
  }
  const rows = Object.entries(ratios).map(([name, { min, median, max }]) => [name, ...[min, median, max].map(shown)])
  process.stdout.write(table([['measured ÷ plain', 'least', 'median', 'most'], ...rows]))
  writeResult(join(checkout, 'bench', 'results', 'telemetry.json'), {
    question: 'what do metrics and spans cost a gateway at full ingest',
    provenance: provenance(checkout),
    load: { pairs, seconds, connections: options.connections, scraped_every_ms: SCRAPED_EVERY_MS },
    exports_of_spans: collector.exports(),
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
