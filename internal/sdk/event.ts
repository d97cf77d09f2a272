import type { InvocationEvent } from 'attribution-service/sdk/api'

/** One call of a model, as the service takes it: a part of the fields of its event. */
export interface ModelCall
  extends Pick<
    InvocationEvent,
    | 'provider'
    | 'requested_model'
    | 'served_model'
    | 'input_tokens'
    | 'output_tokens'
    | 'cached_input_tokens'
    | 'cache_write_tokens'
    | 'cache_write_5m_tokens'
    | 'cache_write_1h_tokens'
    | 'reasoning_tokens'
    | 'audio_input_tokens'
    | 'audio_output_tokens'
    | 'web_search_calls'
    | 'provider_usage'
    | 'service_tier'
    | 'speed'
    | 'served_from_cache'
    | 'region'
    | 'estimated_cost_usd'
    | 'latency_ms'
    | 'response_id'
    | 'request_id'
    | 'attempt'
    | 'outcome'
    | 'usage_basis'
  > {
  /** RFC 3339 in UTC. Default: now. */
  readonly ingestion_timestamp?: InvocationEvent['ingestion_timestamp'] | undefined
  /** A UUID that is the same whenever this call is recorded. Default: a random one. */
  readonly event_id?: InvocationEvent['event_id'] | undefined
}

/** Who and what causes calls. The service finds the rest by its directory, traces and credentials. */
export interface CallContext
  extends Pick<
    InvocationEvent,
    'attributed_service' | 'attributed_identity' | 'trace_id' | 'parent_span_id' | 'region' | 'tags'
  > {
  /** Layer that captured the call. Default: `application`. */
  readonly ingestion_layer?: InvocationEvent['ingestion_layer'] | undefined
}

export type Fetch = typeof fetch

/** A member of an object from outside; undefined for anything else. */
export const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined

/** A name from outside; undefined for anything else. */
export function textIn(value: unknown, name: string): string | undefined {
  const found = member(value, name)
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** An amount of US dollars as the service takes it, without the noise of a double; undefined for what is no amount. */
export function decimalText(value: unknown): string | undefined {
  const amount = typeof value === 'string' ? Number.parseFloat(value) : value
  if (typeof amount !== 'number' || !(amount > 0 && amount < 1e12)) return undefined
  const decimals = Math.min(18, Math.max(0, 14 - Math.floor(Math.log10(amount))))
  const text = amount.toFixed(decimals)
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

/** Whatever an unknown client does, its caller gets its answer. */
export function quietly<T>(task: () => T): T | undefined {
  try {
    return task()
  } catch {
    return undefined
  }
}
