/** Meaning and unit of each field of an invocation event, for the OpenAPI document. */
export const EVENT_FIELD_DESCRIPTIONS = {
  event_id:
    'UUID that the producer assigns to the event. Events are deduplicated by it: one event_id is admitted once ' +
    'in seven days. Retries keep it.',
  ingestion_layer:
    'Layer that captured the call, such as `application`, `gateway` or `proxy`. With service_tier and trace_id ' +
    "it determines the record's pathway_category.",
  ingestion_timestamp:
    'Time of the call: RFC 3339 in UTC, from 1970 to at most 24 hours after arrival. Prices, report periods and ' +
    'freshness refer to it.',
  provider: 'Provider that sold the call, such as `openai` or `anthropic`.',
  requested_model: 'Model that the caller requested, as named in the request.',
  served_model: 'Model that answered, as named in the response. Default: requested_model.',
  input_tokens:
    "Number of all input tokens, including those read from and written to the provider's prompt cache, audio and " +
    'image tokens. Absent means unknown, not zero.',
  output_tokens:
    'Number of all output tokens, including reasoning, audio and image tokens. Absent means unknown, not zero.',
  cached_input_tokens: "Number of input tokens read from the provider's prompt cache; part of input_tokens.",
  cached_audio_input_tokens: 'Number of audio input tokens read from the prompt cache; part of cached_input_tokens.',
  cached_image_input_tokens: 'Number of image input tokens read from the prompt cache; part of cached_input_tokens.',
  cache_write_tokens:
    "Number of all input tokens written to the provider's prompt cache, for any lifetime; part of input_tokens. " +
    'Default: the sum of cache_write_5m_tokens and cache_write_1h_tokens, if one of them is stated.',
  cache_write_ttl_seconds:
    'Lifetime of the prompt-cache entry that this call wrote, in seconds. It selects the price of the ' +
    'cache_write_tokens that the two counters by lifetime do not contain.',
  cache_write_5m_tokens:
    'Number of input tokens written to the prompt cache for five minutes, such as ' +
    '`cache_creation.ephemeral_5m_input_tokens` of Anthropic; part of cache_write_tokens.',
  cache_write_1h_tokens:
    'Number of input tokens written to the prompt cache for one hour, such as ' +
    '`cache_creation.ephemeral_1h_input_tokens` of Anthropic; part of cache_write_tokens.',
  reasoning_tokens: 'Number of reasoning (thinking) tokens; part of output_tokens.',
  audio_input_tokens: 'Number of audio input tokens; part of input_tokens.',
  audio_output_tokens: 'Number of audio output tokens; part of output_tokens.',
  image_input_tokens: 'Number of image input tokens; part of input_tokens.',
  image_output_tokens: 'Number of image output tokens; part of output_tokens.',
  web_search_calls:
    'Number of web searches that the provider ran for this call and charges for, such as ' +
    '`server_tool_use.web_search_requests` of Anthropic. Without a fee for them, the call is unpriced.',
  file_search_calls:
    'Number of searches of stored files that the provider ran for this call and charges for. Without a fee for ' +
    'them, the call is unpriced.',
  code_execution_calls:
    'Number of code executions that the provider ran for this call and charges for each. Without a fee for them, ' +
    'the call is unpriced.',
  billed_units:
    'What the call is billed by besides tokens: a decimal string per unit, for example `{"seconds": "12.5"}`. ' +
    'Quantities count to a millionth of their unit.',
  provider_usage:
    "The provider's own usage object as its response has it: counts, and objects and lists of counts. The service " +
    'reads the token counts from it that the event does not state itself, whatever the convention of the provider, ' +
    'and does not store it. Words between the counts have up to 64 characters.',
  alternative_input_tokens:
    'input_tokens by another reading of what the sender stated, where nothing tells which one holds. If the costs ' +
    'of both differ by more than 1 %, the usage_basis of the record is `ambiguous`.',
  alternative_output_tokens: 'output_tokens by another reading, likewise.',
  service_tier:
    "Service tier that served the call, as the provider's response states it, not the one that was requested; it " +
    'selects the price. `default` is the same as `standard`.',
  speed:
    "Speed at which the provider served the call, such as Anthropic's `usage.speed`; `fast` has its own price. " +
    'Default: `standard`.',
  served_from_cache:
    "True if the caller's own response cache answered and nothing was bought from the provider: the cost is " +
    'then 0.',
  region:
    "Cloud region in which the call was made, as the provider names it. If it differs from the tenant's " +
    "residency region, the record's export_eligibility is residency_restricted.",
  estimated_cost_usd:
    'Cost of the call in USD as the producer computed it: a decimal string. It takes precedence over price ' +
    'overrides and the price book.',
  is_cost_notional:
    'True if nobody is billed for the call, such as one that a subscription covers: the cost of its record is then ' +
    '0, and its export_eligibility notional. estimated_cost_usd is kept and shown beside it.',
  latency_ms: 'Duration of the call in milliseconds.',
  response_id:
    "The provider's id of the response, such as `chatcmpl-...` or `msg_...`. A call that two sources show with the " +
    'same provider and response_id is one record (setting `merge_seen_calls`).',
  request_id:
    "Id under which caller, gateway and provider know the request, such as LiteLLM's call id, `x-request-id` or " +
    "Amazon's request id. Sources that show one call under it are merged into one record.",
  operation_id:
    'Id of what several attempts serve: retries and fallbacks of one operation have it in common. Each attempt is ' +
    'an event, and a record, of its own.',
  attempt: 'Number of the attempt within the operation, from 1.',
  assumptions:
    'Codes of what the sender, or a reader of its telemetry, inferred instead of being told, separated by commas: ' +
    'for example `provider_from_host`. Shown with the record.',
  usage_basis:
    'How well the token counts are known: `reported` by the provider, `partial` (as of an interrupted stream), ' +
    '`estimated` by the producer, `ambiguous`, or `unknown`. Default: `unknown` if neither input_tokens nor output_tokens is ' +
    'stated, else `partial` for a cancelled call and `reported` for any other.',
  outcome:
    'How the call ended: `success`, `error`, or `cancelled` before its end, as an interrupted stream. Absent means ' +
    'unknown.',
  attributed_identity:
    'Identity that made the call, such as a user or a service account. Records keep only a keyed hash of it.',
  attributed_service: 'Service that made the call. If the directory knows it, the call is attributed to it.',
  trace_id: 'Id of the trace or agent workflow that the call belongs to; it correlates the calls of one workflow.',
  span_id:
    'Id of the span of this call within trace_id. A call that two sources show with the same trace_id and span_id ' +
    'is one record.',
  parent_span_id: 'Id of the span within trace_id that made the call.',
  instrumentation:
    'What observed the call within its sender: the name of the OpenTelemetry instrumentation scope. Two of one ' +
    'process may show the same call, one shows it once.',
  attribution_confidence:
    "Producer's confidence in attributed_identity and attributed_service, a number from 0 to 0.95. It caps the " +
    "record's confidence.",
  tags:
    'At most 16 key-value pairs that describe the call, for example `team` or `environment`. Keys have at most ' +
    '64 bytes, values at most 256; keys under which prompts or completions travel are refused.',
  k8s_namespace: 'Kubernetes namespace of the calling workload.',
  k8s_workload: 'Kubernetes workload (such as the Deployment or Job) that made the call.',
  workload_identity: 'Workload identity of the caller, such as its SPIFFE ID.',
  energy_wh:
    'Energy that the caller measured for the call, in watt-hours: a decimal string. Absent: the service models ' +
    'it.',
  carbon_gco2e:
    'Emissions that the caller measured for the call, in grams of CO2 equivalent: a decimal string. Absent: the ' +
    'service models them.',
} as const

/**
 * Whether the values of a field name people.
 *
 * - `person`: always. No record keeps it, only its hash (`identity_hash`), by which reports count people and
 *   `attribution erase-identity` forgets them.
 * - `perhaps`: free text, in which a sender may name someone. Records keep it; reports group by it only where the
 *   tenant declares it, and `internal/store/erasure.ts` erases names in it.
 * - `no`: names of systems, counts and ids of calls.
 *
 * What callers say of themselves in headers and metadata is no field: what looks like a person there, a session too, is
 * dropped (`callerTags` in `internal/ingest/adapters/fields.ts`).
 */
export const NAMES_PEOPLE = {
  event_id: 'no',
  ingestion_layer: 'no',
  ingestion_timestamp: 'no',
  provider: 'no',
  requested_model: 'no',
  served_model: 'no',
  input_tokens: 'no',
  output_tokens: 'no',
  cached_input_tokens: 'no',
  cached_audio_input_tokens: 'no',
  cached_image_input_tokens: 'no',
  cache_write_tokens: 'no',
  cache_write_ttl_seconds: 'no',
  cache_write_5m_tokens: 'no',
  cache_write_1h_tokens: 'no',
  reasoning_tokens: 'no',
  audio_input_tokens: 'no',
  audio_output_tokens: 'no',
  image_input_tokens: 'no',
  image_output_tokens: 'no',
  web_search_calls: 'no',
  file_search_calls: 'no',
  code_execution_calls: 'no',
  billed_units: 'no',
  provider_usage: 'no',
  alternative_input_tokens: 'no',
  alternative_output_tokens: 'no',
  service_tier: 'no',
  speed: 'no',
  served_from_cache: 'no',
  region: 'no',
  estimated_cost_usd: 'no',
  is_cost_notional: 'no',
  latency_ms: 'no',
  response_id: 'no',
  request_id: 'no',
  operation_id: 'no',
  attempt: 'no',
  assumptions: 'no',
  usage_basis: 'no',
  outcome: 'no',
  attributed_identity: 'person',
  attributed_service: 'no',
  trace_id: 'no',
  span_id: 'no',
  parent_span_id: 'no',
  instrumentation: 'no',
  attribution_confidence: 'no',
  tags: 'perhaps',
  k8s_namespace: 'no',
  k8s_workload: 'no',
  workload_identity: 'no',
  energy_wh: 'no',
  carbon_gco2e: 'no',
} as const satisfies Readonly<Record<keyof typeof EVENT_FIELD_DESCRIPTIONS, 'no' | 'perhaps' | 'person'>>
