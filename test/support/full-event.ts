import type { InvocationEvent } from '../../internal/invocations/invocation-schema.js'

type OptionalField = {
  [F in keyof InvocationEvent]-?: undefined extends InvocationEvent[F] ? F : never
}[keyof InvocationEvent]

/** Every field that an event may leave out, but for objects of few events: the compiler asks for a new one. */
export const FULL_EVENT: {
  readonly [F in Exclude<OptionalField, 'billed_units' | 'provider_usage'>]: NonNullable<InvocationEvent[F]>
} = {
  served_model: 'gpt-4o-2024-08-06',
  input_tokens: 0,
  output_tokens: 7,
  cached_input_tokens: 10,
  cached_audio_input_tokens: 6,
  cached_image_input_tokens: 2,
  cache_write_tokens: 123_456_789_012_345,
  cache_write_ttl_seconds: 300,
  cache_write_5m_tokens: 3,
  cache_write_1h_tokens: 4,
  reasoning_tokens: 1,
  audio_input_tokens: 2,
  audio_output_tokens: 3,
  image_input_tokens: 4,
  image_output_tokens: 5,
  web_search_calls: 1,
  file_search_calls: 2,
  code_execution_calls: 3,
  alternative_input_tokens: 17,
  alternative_output_tokens: 18,
  service_tier: 'flex',
  speed: 'fast',
  served_from_cache: false,
  region: 'eu-west-1',
  estimated_cost_usd: '0.000123',
  is_cost_notional: true,
  latency_ms: 1212,
  response_id: 'chatcmpl-9',
  request_id: 'req_9',
  instrumentation: 'openinference.instrumentation.anthropic',
  operation_id: 'op-1',
  attempt: 2,
  assumptions: 'provider_from_host,cache_apart',
  usage_basis: 'partial',
  outcome: 'cancelled',
  attributed_identity: 'user:jane@example.org',
  attributed_service: 'support chat {1}, [2]: ~',
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  span_id: '53ce929d0e0e4736',
  parent_span_id: '00f067aa0ba902b7',
  attribution_confidence: 0.95,
  k8s_namespace: 'prod',
  k8s_workload: 'w'.repeat(256),
  workload_identity: 'spiffe://x/y',
  energy_wh: '12',
  carbon_gco2e: '0.5',
  tags: { team: 'core', 'caller.user-agent': 'x/1 (y)' },
}
