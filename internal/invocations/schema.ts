import { z } from 'zod'
import { AMOUNT_TEXT, instant, name, plainText, uuid } from '../text/plain-text.js'
import { SERVICE_TIERS } from './invocation.js'

/**
 * The invocation event as producers send it, event schema v1: spec 2.4 and the optional fields of design section 5.
 * This is the one source: the hot path's validator and the OpenAPI description are generated from it.
 *
 * Every string has a maximum and no control characters, so that no field can carry a prompt. `null` in an
 * optional field is the same as absent.
 */

const tokens = () => z.int().min(0).max(Number.MAX_SAFE_INTEGER)
const amount = () => z.string().regex(AMOUNT_TEXT)

export const TAGS_MAX = 16

export const invocationEvent = z
  .object({
    event_id: uuid(),
    ingestion_layer: name(),
    ingestion_timestamp: instant(),
    provider: name(),
    requested_model: name(),
    served_model: name().nullish(),
    input_tokens: tokens().nullish(),
    output_tokens: tokens().nullish(),
    cached_input_tokens: tokens().nullish(),
    cache_write_tokens: tokens().nullish(),
    cache_write_ttl_seconds: tokens().nullish(),
    reasoning_tokens: tokens().nullish(),
    audio_input_tokens: tokens().nullish(),
    audio_output_tokens: tokens().nullish(),
    service_tier: z.enum(SERVICE_TIERS).nullish(),
    served_from_cache: z.boolean().nullish(),
    region: name().nullish(),
    estimated_cost_usd: amount().nullish(),
    latency_ms: tokens().nullish(),
    attributed_identity: name().nullish(),
    attributed_service: name().nullish(),
    trace_id: name().nullish(),
    parent_span_id: name().nullish(),
    attribution_confidence: z.number().min(0).max(0.95).nullish(),
    tags: z.record(plainText(64), plainText(256)).meta({ maxProperties: TAGS_MAX }).nullish(),
    k8s_namespace: name().nullish(),
    k8s_workload: name().nullish(),
    workload_identity: name().nullish(),
    energy_wh: amount().nullish(),
    carbon_gco2e: amount().nullish(),
  })
  .meta({ id: 'InvocationEvent', description: 'Invocation event, schema v1.' })

/** A valid event in its wire form; times are still text. */
export type InvocationEvent = z.infer<typeof invocationEvent>
