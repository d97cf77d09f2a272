import { join } from 'node:path'
import { connectService } from '../../internal/local/replay/client.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { prepareGround, startAttributor, startGateway, startStore } from '../ingest/servers.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import type { Processes } from '../processes.js'
import { readResult, writeResult } from '../results.js'
import { table } from '../table.js'
import { Delivering } from './delivering.js'
import { type Beside, besideHanging, STEADY_PER_SECOND } from './hanging.js'
import { type Compared, compare } from './throughput.js'

/**
 * Question: what does a courier deliver, beside a bare loop of undici requests to the same https receiver with as many
 * connections, both with kept connections and both without? And what do receivers that hang do to the others, and to
 * the pipeline beside them?
 *
 * The courier does all that it does: it resolves and checks each host, signs, logs each attempt, keeps what it has come
 * to. Events are published as they come, so that its fan-out is in the time too.
 */
export interface WebhooksOptions {
  readonly checkout: string
  readonly natsServerBin: string
  readonly repeats: number
  readonly deliveries: number
  readonly connections: number
  readonly rounds: number
  readonly endpoints: number
  readonly seconds: number
}

const RATIO_BAR = 0.6
const SERVICE_CONNECTIONS = 8

interface WebhooksResult {
  readonly kept: Compared
  readonly closed: Compared
  readonly none_hangs: Beside
  readonly tenth_hangs: Beside
}

/** @param signal when it is aborted, everything that was started is stopped */
export const webhooks = (options: WebhooksOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'webhooks', signal, (folder, processes) => answer(options, folder, processes))

async function answer(options: WebhooksOptions, folder: string, processes: Processes): Promise<void> {
  const { checkout, natsServerBin } = options
  const ground = await prepareGround(folder, natsServerBin, processes)
  const storePort = await freePort()
  await startStore(ground, storePort)
  const storeUrl = `http://127.0.0.1:${storePort}`
  const delivering = await Delivering.open(ground, folder, storeUrl)
  const kept = await compare('kept', options, delivering, processes)
  const closed = await compare('close', options, delivering, processes)

  const gateway = await startGateway(ground, storeUrl)
  await startAttributor(ground, storePort)
  const baseUrl = `http://127.0.0.1:${gateway.port}`
  const service = connectService(baseUrl, ground.credentials.api_key, SERVICE_CONNECTIONS)
  const beside = await besideHanging(options, delivering, service)
  await service.close()

  report(options, { kept, closed, ...beside }, join(checkout, 'bench', 'results', 'webhooks.json'))
}

function report(options: WebhooksOptions, result: WebhooksResult, file: string): void {
  const { checkout, repeats, deliveries, connections, rounds, endpoints, seconds } = options
  const before = readResult<WebhooksResult>(file)
  writeResult(file, {
    question:
      'webhook deliveries a second beside a bare undici loop; what hanging receivers do to the others and to the ' +
      'pipeline',
    provenance: provenance(checkout),
    ...{ repeats, deliveries, connections, rounds, endpoints, seconds },
    ...{ steady_per_second: STEADY_PER_SECOND, ratio_bar: RATIO_BAR },
    ...result,
  })
  const rates = (name: string, now: Compared, last: Compared | undefined): string[] => [
    name,
    now.bare_per_second.median.toFixed(0),
    now.courier_per_second.median.toFixed(0),
    ...[now.ratio.min, now.ratio.median, now.ratio.max].map((ratio) => ratio.toFixed(2)),
    last?.ratio.median.toFixed(2) ?? '-',
    now.bare_cpu_us.median.toFixed(0),
    now.courier_cpu_us.median.toFixed(0),
  ]
  const times = (name: string, { first_attempt_ms: first, visible_ms: visible }: Beside): string[] =>
    [name, first.p50, first.p99, visible.p50, visible.p99].map(String)
  process.stdout.write(
    `\ndeliveries a second over ${connections} connections; bar for the ratio: ${RATIO_BAR}\n\n${table([
      ['', 'bare', 'courier', 'ratio min', 'median', 'max', 'before', 'bare us', 'courier us'],
      rates('connections kept', result.kept, before?.kept),
      rates('a connection each', result.closed, before?.closed),
    ])}\n${endpoints} endpoints, ${STEADY_PER_SECOND} deliveries a second, \
${rounds} rounds of ${seconds} s; ms\n\n${table([
      ['', 'event to first attempt p50', 'p99', '202 to visible p50', 'p99'],
      times('none hangs', result.none_hangs),
      times('one in ten hangs: the others', result.tenth_hangs),
    ])}`,
  )
}
