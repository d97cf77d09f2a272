/** A Collector of OpenTelemetry that sends to the intake in each of its ways. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll } from 'vitest'
import { freePort } from '../../../internal/local/supervisor/supervised-instance.js'
import { type Ask, askAs } from '../../support/ask.js'
import { recordsOf } from '../../support/clients/live.js'
import { pinnedVersion } from '../../support/conformance/pins.js'
import { conformance } from '../../support/conformance/program.js'
import { launchCommand } from '../../support/processes.js'
import { launchService } from '../../support/service.js'

const WAYS = [
  { name: 'otlp_http gzip protobuf', exporter: 'otlp_http', compression: 'gzip', encoding: 'proto' },
  { name: 'otlp_http zstd protobuf', exporter: 'otlp_http', compression: 'zstd', encoding: 'proto' },
  { name: 'otlp_http JSON', exporter: 'otlp_http', compression: 'none', encoding: 'json' },
  { name: 'otlp (gRPC)', exporter: 'otlp', compression: 'gzip', encoding: 'proto' },
]
const CALLS = 150

let ask: Ask
let environment: Readonly<Record<string, string>>
beforeAll(async () => {
  const [intakePort, grpcPort] = [await freePort(), await freePort()]
  const args = ['--intake-port', String(intakePort), '--intake-grpc-port', String(grpcPort)]
  const service = await launchService({ args, roles: [] })
  const { api_key: apiKey } = service.credentials
  ask = askAs(service.baseUrl, { 'x-api-key': apiKey })
  environment = {
    INTAKE: `http://127.0.0.1:${intakePort}`,
    GRPC_INTAKE: `127.0.0.1:${grpcPort}`,
    API_KEY: apiKey,
  }
})

/** Spans of calls of one service, as its application would send them. */
function spansOf(service: string): object {
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } })
  const count = (key: string, intValue: number) => ({ key, value: { intValue: String(intValue) } })
  const now = BigInt(Date.now()) * 1_000_000n
  const spans = Array.from({ length: CALLS }, (_, i) => ({
    traceId: randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
    name: 'chat gpt-4o',
    kind: 3,
    startTimeUnixNano: String(now - 1_000_000_000n),
    endTimeUnixNano: String(now),
    attributes: [
      text('gen_ai.operation.name', 'chat'),
      text('gen_ai.provider.name', 'openai'),
      text('gen_ai.request.model', 'gpt-4o'),
      count('gen_ai.usage.input_tokens', 100 + i),
      count('gen_ai.usage.output_tokens', 10),
    ],
  }))
  return {
    resourceSpans: [
      { resource: { attributes: [text('service.name', service)] }, scopeSpans: [{ scope: { name: 'app' }, spans }] },
    ],
  }
}

/** Sends to a Collector that is starting. */
async function sendThrough(port: number, body: object): Promise<void> {
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const isTaken = () =>
    fetch(`http://127.0.0.1:${port}/v1/traces`, request).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isTaken())) await sleep(100)
}

conformance(
  {
    name: 'otelcol',
    version: pinnedVersion('otel/collector', 'go.opentelemetry.io/collector/otelcol'),
    tries: 'traces by each exporter, compression and encoding: every call has its record once',
    installs: 'otel/collector',
  },
  async (folder) => {
    const checks = new Map<string, string | undefined>()
    for (const [i, { name, exporter, compression, encoding }] of WAYS.entries()) {
      const port = await freePort()
      const collector = launchCommand(`${folder}/program`, {
        args: ['--config', 'collector.yaml'],
        cwd: folder,
        env: {
          ...environment,
          RECEIVER_PORT: String(port),
          EXPORTER: exporter,
          COMPRESSION: compression,
          ENCODING: encoding,
        },
      })
      await Promise.race([
        sendThrough(port, spansOf(`collected-${i}`)),
        collector.exited.then(() => Promise.reject(new Error(collector.lines.join('\n')))),
      ])
      const { length } = await recordsOf(ask, `collected-${i}`, CALLS)
      checks.set(name, length === CALLS ? undefined : `${length} records of ${CALLS} calls`)
      await collector.kill('SIGTERM')
    }
    return checks
  },
)
