/** What to paste into what makes or carries calls, so that it sends them to the intake port. */

export interface IntakeSource {
  readonly title: string
  /** Where the block goes, and what to do after it. */
  readonly about: string
  /** Whether the sender authenticates the callers, so that its word for who called is believed. */
  readonly isGateway: boolean
  readonly block: (address: string, key: string) => string
}

export const INTAKE_SOURCES = {
  litellm: {
    title: 'LiteLLM',
    about: 'In the config.yaml of the proxy; then restart it. It sends every 5 seconds, or after 512 calls.',
    isGateway: true,
    block: (address, key) => `litellm_settings:
  callbacks: ["attribution"]
  turn_off_message_logging: true
callback_settings:
  attribution:
    callback_type: generic_api
    endpoint: ${address}/intake/litellm
    headers: { X-API-Key: ${key} }
    max_retries: 6
    retry_delay: 1`,
  },
  otlp: {
    title: 'OpenTelemetry',
    about: 'In the environment of anything that traces its model calls; name its service in the directory.',
    isGateway: false,
    block: (address, key) => `OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
OTEL_EXPORTER_OTLP_ENDPOINT=${address}
OTEL_EXPORTER_OTLP_HEADERS=x-api-key=${key}
OTEL_SERVICE_NAME=search`,
  },
  kong: {
    title: 'Kong',
    about: 'On the service or route of your models, for ai-proxy and ai-proxy-advanced. Leave log_payloads off.',
    isGateway: true,
    block: (address, key) => `plugins:
  - name: http-log
    config:
      http_endpoint: ${address}/intake/kong
      headers: { X-API-Key: ${key} }`,
  },
  envoy: {
    title: 'Envoy AI Gateway',
    about:
      'In Vector, which posts the access log as JSON. Declare the tokens in llmRequestCosts, else the log has none.',
    isGateway: true,
    block: (address, key) => `transforms:
  envoy_calls:
    type: remap
    inputs: ["envoy_access_log"]
    drop_on_error: true
    source: ". = parse_json!(.message)"
sinks:
  attribution:
    type: http
    inputs: ["envoy_calls"]
    uri: ${address}/intake/envoy
    encoding: { codec: json }
    request: { headers: { X-API-Key: ${key} } }`,
  },
} as const satisfies Readonly<Record<string, IntakeSource>>

/** In place of a key that nobody has made yet. */
export const SOME_KEY = 'ak_live_...'

/**
 * The address of the intake port: it has the host and the TLS files of the API.
 *
 * @param port 0: the port is off
 */
export function intakeAddress(origin: string, port: number): string | undefined {
  const { protocol, hostname } = new URL(origin)
  return port === 0 ? undefined : `${protocol}//${hostname}:${port}`
}
