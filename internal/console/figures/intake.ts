/**
 * What to paste into what makes or carries calls, so that it sends them: one entry for each client of
 * `deploy/docs/intake/README.md`, with the lines of its guide.
 */

export interface IntakeSource {
  readonly title: string
  /** Where the block goes, and what to do after it. */
  readonly about: string
  /** Its page in `deploy/docs/`. */
  readonly guide: string
  /** Whether the sender authenticates the callers, so that its word for who called is believed. */
  readonly isGateway?: true
  /** The only layer that its key may send. */
  readonly layer?: string
  /** As `GET /api/v1/sources` names the way that its calls come. */
  readonly intake: string
  /** Of those that share an intake: its own senders. */
  readonly sender?: RegExp
  readonly block: (at: IntakeAddresses, key: string) => string
}

interface IntakeAddresses {
  readonly api: string
  /** Of the port that `--intake-port` opens. */
  readonly intake: string
}

/** In place of a key that nobody has made yet: as keys of the service begin. */
export const someKey = (isSandbox: boolean): string => (isSandbox ? 'ak_test_...' : 'ak_live_...')

const GATEWAY = { isGateway: true, layer: 'gateway' } as const

export const INTAKE_SOURCES = {
  litellm: {
    title: 'LiteLLM',
    about: 'In the config.yaml of the proxy; then restart it. It sends every 5 seconds, or after 512 calls.',
    guide: 'intake/litellm.md',
    ...GATEWAY,
    intake: 'litellm',
    block: ({ intake }, key) => `litellm_settings:
  callbacks: ["attribution"]
  turn_off_message_logging: true
callback_settings:
  attribution:
    callback_type: generic_api
    endpoint: ${intake}/intake/litellm
    headers: { X-API-Key: ${key} }
    max_retries: 9
    retry_delay: 1`,
  },
  otlp: {
    title: 'OpenTelemetry',
    about:
      'In the environment of anything that traces its model calls: AI SDK, LangChain, Langfuse, Logfire, MLflow, ' +
      'OpenLLMetry and others. Name its service in the directory.',
    guide: 'intake/opentelemetry.md',
    intake: 'otlp',
    block: ({ intake }, key) => `export OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf"
export OTEL_EXPORTER_OTLP_ENDPOINT="${intake}"
export OTEL_EXPORTER_OTLP_HEADERS="x-api-key=${key}"
export OTEL_SERVICE_NAME="search"`,
  },
  collector: {
    title: 'OpenTelemetry Collector',
    about: 'In its configuration, beside the pipelines that it has. It sends to your tracing backend as before.',
    guide: 'intake/opentelemetry.md',
    intake: 'otlp',
    block: ({ intake }, key) => `extensions:
  file_storage/attribution: { directory: /var/lib/otelcol/attribution }
processors:
  batch/attribution: { send_batch_size: 4000, send_batch_max_size: 4000 }
exporters:
  otlphttp/attribution:
    endpoint: ${intake}
    headers: { x-api-key: "${key}" }
    compression: gzip
    sending_queue: { storage: file_storage/attribution }
    retry_on_failure: { max_elapsed_time: 0s }
service:
  extensions: [file_storage/attribution]
  pipelines:
    traces/attribution:
      receivers: [otlp]
      processors: [batch/attribution]
      exporters: [otlphttp/attribution]`,
  },
  javascript: {
    title: 'Our library for JavaScript',
    about: 'In the application; the service is that of your directory. It wraps a client of any provider.',
    guide: 'client-libraries.md',
    intake: 'api',
    block: ({ api }, key) => `import { Attribution } from 'attribution-service-client'

const attribution = new Attribution({
  baseUrl: '${api}',
  apiKey: '${key}',
  context: { service: 'checkout-assistant' },
})
const openai = attribution.wrap(new OpenAI())`,
  },
  python: {
    title: 'Our library for Python',
    about: 'In the application; the service is that of your directory. It wraps a client of any provider.',
    guide: 'client-libraries.md',
    intake: 'api',
    block: ({ api }, key) => `from attribution_service import Attribution
from openai import OpenAI

attribution = Attribution("${api}", "${key}", service="checkout-assistant")
openai = attribution.wrap(OpenAI())`,
  },
  'claude-code': {
    title: 'Claude Code',
    about: 'In its environment, or the env of its managed settings for a whole company. Events come every 5 seconds.',
    guide: 'intake/claude-code.md',
    intake: 'otlp',
    sender: /claude_code/,
    block: ({ intake }, key) => `export CLAUDE_CODE_ENABLE_TELEMETRY=1
export OTEL_LOGS_EXPORTER=otlp
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_ENDPOINT="${intake}"
export OTEL_EXPORTER_OTLP_HEADERS="x-api-key=${key}"`,
  },
  gemini: {
    title: 'Gemini CLI, Qwen Code',
    about: 'The first line in ~/.gemini/settings.json or ~/.qwen/settings.json, the second in its environment.',
    guide: 'intake/coding-agents.md',
    intake: 'otlp',
    sender: /gemini|qwen/,
    block: ({ intake }, key) =>
      `{ "telemetry": { "enabled": true, "target": "local", "otlpEndpoint": "${intake}", "otlpProtocol": "http" } }

export OTEL_EXPORTER_OTLP_HEADERS="x-api-key=${key}"`,
  },
  codex: {
    title: 'Codex',
    about: 'In ~/.codex/config.toml.',
    guide: 'intake/coding-agents.md',
    intake: 'otlp',
    sender: /codex/,
    block: ({ intake }, key) => `[otel]
exporter = { otlp-http = { endpoint = "${intake}/v1/logs", protocol = "binary", headers = { "x-api-key" = "${key}" } } }`,
  },
  copilot: {
    title: 'GitHub Copilot Chat',
    about: 'The first line in the settings of VS Code, the second in its environment.',
    guide: 'intake/coding-agents.md',
    intake: 'otlp',
    sender: /copilot/,
    block: ({ intake }, key) =>
      `{ "github.copilot.chat.otel.enabled": true, "github.copilot.chat.otel.otlpEndpoint": "${intake}" }

export OTEL_EXPORTER_OTLP_HEADERS="x-api-key=${key}"`,
  },
  opencode: {
    title: 'opencode',
    about: 'In its environment. It sends spans of the AI SDK.',
    guide: 'intake/coding-agents.md',
    intake: 'otlp',
    block: ({ intake }, key) => `export OTEL_EXPORTER_OTLP_ENDPOINT="${intake}"
export OTEL_EXPORTER_OTLP_HEADERS="x-api-key=${key}"`,
  },
  kong: {
    title: 'Kong',
    about: 'On the service or route of your models, for its AI plugins. Leave log_payloads off.',
    guide: 'intake/kong.md',
    ...GATEWAY,
    intake: 'kong',
    block: ({ intake }, key) => `plugins:
  - name: http-log
    config:
      http_endpoint: ${intake}/intake/kong
      headers: { X-API-Key: ${key} }`,
  },
  envoy: {
    title: 'Envoy AI Gateway',
    about:
      'In Vector, which posts the access log as JSON. Declare the tokens in llmRequestCosts, else the log has none.',
    guide: 'intake/envoy.md',
    ...GATEWAY,
    intake: 'envoy',
    block: ({ intake }, key) => `sources:
  envoy_access_log: { type: file, include: ["/var/log/envoy/access.log"] }
transforms:
  envoy_calls:
    type: remap
    inputs: ["envoy_access_log"]
    drop_on_error: true
    source: ". = parse_json!(.message)"
sinks:
  attribution:
    type: http
    inputs: ["envoy_calls"]
    uri: ${intake}/intake/envoy
    encoding: { codec: json }
    request: { headers: { X-API-Key: ${key} } }`,
  },
  portkey: {
    title: 'Portkey',
    about: 'Among the output guardrails in the config of your callers. A streamed answer comes without its usage.',
    guide: 'intake/portkey.md',
    intake: 'portkey',
    block: ({ intake }, key) => `"output_guardrails": [
  {
    "default.log": {
      "logURL": "${intake}/intake/portkey",
      "headers": "{\\"X-API-Key\\":\\"${key}\\"}"
    },
    "deny": false
  }
]`,
  },
  bedrock: {
    title: 'Amazon Bedrock',
    about: 'For each file of its invocation log, as by a Lambda function on s3:ObjectCreated.',
    guide: 'intake/bedrock.md',
    isGateway: true,
    layer: 'connector',
    intake: 'bedrock-log',
    block: ({ intake }, key) => `aws s3 cp s3://BUCKET/AWSLogs/.../20261121T095000Z.json.gz - |
  curl -s ${intake}/intake/bedrock-log -H "X-API-Key: ${key}" \\
    -H "Content-Encoding: gzip" --data-binary @-`,
  },
  apim: {
    title: 'Azure API Management',
    about: 'From a timer, every few minutes: windows that overlap make no doubles.',
    guide: 'intake/apim.md',
    ...GATEWAY,
    intake: 'apim',
    block: ({ intake }, key) => `az monitor log-analytics query -w "$WORKSPACE" --analytics-query '
  ApiManagementGatewayLlmLog | where TimeGenerated > ago(15m) and SequenceNumber == 0
  | join kind=leftouter (ApiManagementGatewayLogs | project CorrelationId, ApimSubscriptionId, ApiId, ProductId, TotalTime,
    ResponseCode, LastErrorReason) on CorrelationId' |
  curl -s ${intake}/intake/apim -H "X-API-Key: ${key}" -H "Content-Type: application/json" -d @-`,
  },
  cloudevents: {
    title: 'CloudEvents',
    about: 'Point a subscription at the address. Its data has the fields of the native event.',
    guide: 'intake/cloudevents.md',
    intake: 'cloudevents',
    block: (
      { intake },
      key,
    ) => `curl -s ${intake}/intake/cloudevents -H "X-API-Key: ${key}" -H "Content-Type: application/json" -d '{
  "specversion": "1.0", "id": "'$RANDOM'", "source": "/gateways/eu-1", "type": "com.example.model.call",
  "time": "'$(date -u +%FT%TZ)'", "subject": "search",
  "data": { "provider": "openai", "requested_model": "gpt-4o-mini", "input_tokens": 120, "output_tokens": 40 }
}'`,
  },
  fluentbit: {
    title: 'Fluent Bit',
    about: 'In its configuration, for lines of a log with the fields of the native event.',
    guide: 'intake/shippers.md',
    intake: 'api',
    block: ({ api }, key) => `[OUTPUT]
    name http
    match *
    host ${new URL(api).hostname}
    port ${portOf(api)}${new URL(api).protocol === 'https:' ? '\n    tls on' : ''}
    uri /api/v1/invocations
    format json_lines
    compress gzip
    header X-API-Key ${key}
    retry_limit no_limits`,
  },
  vector: {
    title: 'Vector',
    about: 'In its configuration, for lines of a log with the fields of the native event.',
    guide: 'intake/shippers.md',
    intake: 'api',
    block: ({ api }, key) => `sinks:
  attribution:
    type: http
    inputs: [calls]
    uri: ${api}/api/v1/invocations
    encoding: { codec: json }
    framing: { method: newline_delimited }
    compression: gzip
    batch: { max_bytes: 4000000, max_events: 2000, timeout_secs: 1 }
    request: { headers: { X-API-Key: ${key} } }
    buffer: { type: disk, max_size: 536870912, when_full: block }
    acknowledgements: { enabled: true }`,
  },
  'syslog-ng': {
    title: 'syslog-ng',
    about: 'In its configuration, for lines of a log with the fields of the native event.',
    guide: 'intake/shippers.md',
    intake: 'api',
    block: ({ api }, key) => `destination d_attribution {
  http(
    url("${api}/api/v1/invocations") method("POST")
    headers("X-API-Key: ${key}" "Content-Type: application/x-ndjson")
    body("\${MESSAGE}") delimiter("\\n")
    batch-lines(2000) batch-bytes(4000000) batch-timeout(1000) workers(1)
    disk-buffer(reliable(yes) disk-buf-size(268435456) mem-buf-size(33554432))
  );
};`,
  },
} as const satisfies Readonly<Record<string, IntakeSource>>

const PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' }
const portOf = (address: string): string => new URL(address).port || (PORTS[new URL(address).protocol] ?? '')

/**
 * The address of the intake port: it has the host and the TLS files of the API.
 *
 * @param port 0: the port is off
 */
export function intakeAddress(origin: string, port: number): string | undefined {
  const { protocol, hostname } = new URL(origin)
  return port === 0 ? undefined : `${protocol}//${hostname}:${port}`
}
