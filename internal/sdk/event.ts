/** One call of a model, as the service takes it: a part of the fields of `InvocationEvent` in `/openapi.json`. */
export interface ModelCall {
  readonly provider: string
  readonly requested_model: string
  readonly served_model?: string | undefined
  /** All input, with what was read from and written to the prompt cache. */
  readonly input_tokens?: number | undefined
  /** All output, with reasoning. */
  readonly output_tokens?: number | undefined
  readonly cached_input_tokens?: number | undefined
  readonly cache_write_tokens?: number | undefined
  readonly cache_write_5m_tokens?: number | undefined
  readonly cache_write_1h_tokens?: number | undefined
  readonly reasoning_tokens?: number | undefined
  readonly audio_input_tokens?: number | undefined
  readonly audio_output_tokens?: number | undefined
  readonly web_search_calls?: number | undefined
  readonly service_tier?: string | undefined
  readonly latency_ms?: number | undefined
  /** The provider's id of the response: by it, the call is known when a gateway shows it, too. */
  readonly response_id?: string | undefined
  readonly outcome?: 'success' | 'error' | 'cancelled' | undefined
  /** How well the counts are known. Default: reported, of a cancelled call partial. */
  readonly usage_basis?: 'reported' | 'partial' | 'estimated' | 'unknown' | undefined
  /** RFC 3339 in UTC. Default: now. */
  readonly ingestion_timestamp?: string | undefined
  /** A UUID that is the same whenever this call is recorded. Default: a random one. */
  readonly event_id?: string | undefined
}

/** Who and what causes calls. The service finds the rest by its directory, traces and credentials. */
export interface CallContext {
  readonly attributed_service?: string | undefined
  readonly attributed_identity?: string | undefined
  readonly trace_id?: string | undefined
  readonly parent_span_id?: string | undefined
  readonly region?: string | undefined
  /** Layer that captured the call. Default: `application`. */
  readonly ingestion_layer?: string | undefined
  readonly tags?: Readonly<Record<string, string>> | undefined
}

/** A member of an object from outside; undefined for anything else. */
export const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined

/** A count from outside; undefined for anything else. */
export function countIn(value: unknown, name: string): number | undefined {
  const found = member(value, name)
  return typeof found === 'number' && Number.isSafeInteger(found) && found >= 0 ? found : undefined
}

/** A name from outside; undefined for anything else. */
export function textIn(value: unknown, name: string): string | undefined {
  const found = member(value, name)
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** As the service names them; one that it does not know would refuse the event. */
const SERVICE_TIERS: Readonly<Record<string, string>> = {
  standard: 'standard',
  default: 'standard',
  batch: 'batch',
  flex: 'flex',
  priority: 'priority',
}

/** The tier that served a call; undefined where the service knows no such tier. */
export function tierIn(value: unknown): string | undefined {
  const tier = textIn(value, 'service_tier')
  return tier === undefined ? undefined : SERVICE_TIERS[tier]
}
