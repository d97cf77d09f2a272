import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { SingleBar } from 'cli-progress'
import { Command, InvalidArgumentError, Option } from 'commander'
import { connectService } from '../../internal/local/replay/client.js'
import { DEMO_IDENTITIES, DEMO_SERVICES, demoEvent } from '../../internal/local/replay/demo-company.js'
import { percentile, type ReplaySummary, replayTrace } from '../../internal/local/replay/replay.js'
import { FIXED_EVENT_IDS, readTrace } from '../../internal/local/replay/trace.js'
import { addToDirectory } from '../../internal/local/sandbox/load-sandbox.js'
import { formatQuantity } from '../../internal/units/quantity.js'

interface DemoOptions {
  readonly credentials: string
  readonly file: string
  readonly speed: number
  readonly eventIds: 'fresh' | 'fixed'
  readonly json?: true
}

/** From dist/cmd/attribution to the checkout. */
const TRACE_FILE = fileURLToPath(new URL('../../../bench/data/azure-llm-2023.csv', import.meta.url))

export const demoCommand = (): Command =>
  new Command('demo')
    .description('Imports a small directory and replays a recorded trace as live traffic against a running service.')
    .requiredOption('--credentials <file>', 'credentials.json of the data folder')
    .option('--file <trace>', 'the recorded trace, CSV', TRACE_FILE)
    .option('--speed <factor>', 'speed of the replay, as a multiple of the recorded speed', readSpeed, 60)
    .addOption(
      new Option(
        '--event-ids <which>',
        'fresh: new event ids at each replay; fixed: the same ids, so that a second replay is deduplicated',
      )
        .choices(['fresh', 'fixed'])
        .default('fresh'),
    )
    .option('--json', 'print the summary as JSON')
    .action(runDemo)

function readSpeed(text: string): number {
  const speed = Number(text)
  if (!(speed > 0) || !Number.isFinite(speed)) throw new InvalidArgumentError('It must be a number greater than 0.')
  return speed
}

async function runDemo(options: DemoOptions): Promise<void> {
  const { base_url: baseUrl, api_key: apiKey } = JSON.parse(readFileSync(options.credentials, 'utf8')) as {
    readonly base_url: string
    readonly api_key: string
  }
  const rows = readTrace(options.file)
  const service = connectService(baseUrl, apiKey, 64, process.env['ATTRIBUTION_TLS_CERT_FILE'])
  await addToDirectory(service, { services: DEMO_SERVICES, identities: DEMO_IDENTITIES })
  const bar = new SingleBar({
    format: '  replaying [{bar}] {value}/{total} events, {left} left',
    stream: process.stderr,
    noTTYOutput: true,
    notTTYSchedule: 5_000,
    hideCursor: true,
  })
  bar.start(rows.length, 0, { left: 'some time' })
  const summary = await replayTrace(rows, service, {
    speed: options.speed,
    eventIdNamespace: options.eventIds === 'fixed' ? FIXED_EVENT_IDS : randomUUID(),
    eventOf: demoEvent,
    onProgress: (taken, leftMs) => bar.update(taken, { left: asDuration(leftMs) }),
  }).finally(() => bar.stop())
  await service.close()
  process.stdout.write(options.json === true ? `${JSON.stringify(asJson(summary))}\n` : asText(summary, baseUrl))
}

/** As `2m05s`. */
function asDuration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000)
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`
}

const asJson = (summary: ReplaySummary) => ({
  sent: summary.sent,
  attributed: summary.attributed,
  cost_usd: formatQuantity(summary.costUsd),
  energy_wh: formatQuantity(summary.energyWh),
  carbon_gco2e: formatQuantity(summary.carbonGco2e),
  unpriced: summary.unpriced,
  visible_after_ms: {
    p50: Math.round(percentile(summary.visibleAfterMs, 0.5)),
    p99: Math.round(percentile(summary.visibleAfterMs, 0.99)),
  },
})

function asText(summary: ReplaySummary, baseUrl: string): string {
  const json = asJson(summary)
  const unpriced = json.unpriced === 0 ? '' : ` (a lower bound: ${json.unpriced} calls have no price)`
  return `
  events sent        ${json.sent}
  attributed         ${json.attributed}
  cost               ${json.cost_usd} USD${unpriced}
  energy             ${json.energy_wh} Wh
  carbon             ${json.carbon_gco2e} gCO2e
  202 to visible     p50 ${json.visible_after_ms.p50} ms, p99 ${json.visible_after_ms.p99} ms

  List them: curl -H "X-API-Key: $API_KEY" "${baseUrl}/v1/attribution?limit=5"
`
}
