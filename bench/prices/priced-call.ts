/**
 * The product's side: an event as a client sends it, checked as the gateway does, through the log's form to the rule
 * that prices it.
 */
import { readUsualText } from '../../internal/invocations/hot-reader.js'
import type { Invocation } from '../../internal/invocations/invocation.js'
import { decodeGroup, encodeEntry, encodeGroup } from '../../internal/invocations/invocation-group.js'
import type { InvocationEvent } from '../../internal/invocations/invocation-schema.js'
import { validateInvocation } from '../../internal/invocations/validate-invocation.js'
import { formatQuantity } from '../../internal/units/quantity.js'
import type { PriceBook } from '../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../internal/valuation/cost/price-invocation.js'
import type { Tier, Usage } from './vectors.js'

export interface Call {
  readonly provider: string
  readonly requestedModel: string
  readonly servedModel?: string
  readonly usage: Usage
  readonly tier?: Tier
}

export interface PricedCall {
  /** Undefined: unpriced. */
  readonly usd: number | undefined
  /** Exact, as a record shows it. */
  readonly text: string
  /** Why it is unpriced, or what was assumed. */
  readonly remarks: readonly string[]
}

/** A call whose event the gateway refuses is unpriced, too. */
export function pricedCall(call: Call, book: PriceBook, atMs: number): PricedCall {
  const invocation = admitted(eventOf(call, atMs), atMs)
  if (invocation === undefined) return { usd: undefined, text: '0', remarks: ['refused'] }
  const { costUsd, basis, details } = priceInvocation(invocation, book)
  const text = formatQuantity(costUsd)
  if (basis === 'unpriced') return { usd: undefined, text, remarks: [details.reason ?? 'unpriced'] }
  return { usd: Number(text), text, remarks: details.price?.flags ?? [] }
}

function eventOf({ provider, requestedModel, servedModel, usage, tier }: Call, atMs: number): InvocationEvent {
  const { cacheRead, cacheWrite5m, cacheWrite1h, audioInput, audioOutput } = usage
  return {
    event_id: '00000000-0000-4000-8000-000000000000',
    ingestion_layer: 'application',
    ingestion_timestamp: new Date(atMs).toISOString(),
    provider,
    requested_model: requestedModel,
    ...(servedModel !== undefined && { served_model: servedModel }),
    input_tokens: usage.input,
    output_tokens: usage.output,
    ...(cacheRead !== undefined && { cached_input_tokens: cacheRead }),
    ...(cacheWrite5m !== undefined && { cache_write_tokens: cacheWrite5m, cache_write_5m_tokens: cacheWrite5m }),
    ...(cacheWrite1h !== undefined && { cache_write_tokens: cacheWrite1h, cache_write_1h_tokens: cacheWrite1h }),
    ...(audioInput !== undefined && { audio_input_tokens: audioInput }),
    ...(audioOutput !== undefined && { audio_output_tokens: audioOutput }),
    ...(tier !== undefined && { service_tier: tier }),
  }
}

function admitted(sent: InvocationEvent, atMs: number): Invocation | undefined {
  const text = Buffer.from(JSON.stringify(sent))
  const event = JSON.parse(text.toString()) as InvocationEvent
  if (readUsualText(text, 0, text.length, atMs) === undefined && !validateInvocation(event, atMs).ok) return undefined
  const admission = { tenantId: 'tnt_bench', principal: 'bench', id: Buffer.alloc(16), receivedAtMs: atMs }
  const [entry] = decodeGroup(encodeGroup([encodeEntry(admission, event)]), 1)
  return entry?.invocation
}
