import { z } from 'zod'
import { BILLED_UNITS, OUTCOMES, SERVICE_TIERS, SPEEDS, USAGE_BASES } from '../text/call-words.js'
import { AMOUNT_TEXT, instant, modelName, name, plainText, uuid } from '../text/plain-text.js'
import { EVENT_FIELD_DESCRIPTIONS } from './field-descriptions.js'

/**
 * The invocation event as producers send it, event schema v1.
 * This is the one source: the hot path's validator and the OpenAPI description are generated from it.
 *
 * Every string has a maximum and no control characters, so that no field can carry a prompt. `null` in an
 * optional field is the same as absent.
 *
 * `input_tokens` is the total: cache reads and writes are parts of it. `output_tokens` includes reasoning.
 */

/**
 * Optional fields of the same form share a schema, so that the hot path's reader can tell their form (`hot-reader.ts`).
 */
export const OPTIONAL_COUNT = z.int().min(0).max(Number.MAX_SAFE_INTEGER).nullish()
export const OPTIONAL_FLAG = z.boolean().nullish()
export const OPTIONAL_AMOUNT = z.string().regex(AMOUNT_TEXT).nullish()
export const NAME = name()
export const OPTIONAL_NAME = name().nullish()
export const MODEL_NAME = modelName()
export const OPTIONAL_MODEL_NAME = modelName().nullish()

export const TAGS_MAX = 16
const USAGE_WORD_MAX = 64

/**
 * A provider's own usage object has numbers, and objects and lists of them (`iterations` of Anthropic, counts by
 * modality of Gemini). Providers put short words between them, which say what is counted (`AUDIO`), which tier served
 * the call or what a pass was for: longer texts are refused, and none is stored.
 */
const usageNumber = z
  .union([z.number().min(0).max(Number.MAX_SAFE_INTEGER), plainText(USAGE_WORD_MAX), z.boolean()])
  .nullable()
const usageMembers = <T extends z.ZodType>(member: T) =>
  z.record(plainText(64), member).meta({ maxProperties: USAGE_MEMBERS_MAX })
const USAGE_MEMBERS_MAX = 32
/** Passes of one call: a long one of an agent has many. */
const USAGE_LIST_MAX = 256
const innermost = usageMembers(usageNumber)
const inner = usageMembers(z.union([usageNumber, innermost]))
const providerUsage = usageMembers(z.union([usageNumber, inner, z.array(inner).max(USAGE_LIST_MAX)]))

/** The forms of the fields, in their order. The hot path's reader finds a field's form by its schema here. */
export const EVENT_FIELDS = {
  event_id: uuid(),
  ingestion_layer: NAME,
  ingestion_timestamp: instant(),
  provider: MODEL_NAME,
  requested_model: MODEL_NAME,
  served_model: OPTIONAL_MODEL_NAME,
  input_tokens: OPTIONAL_COUNT,
  output_tokens: OPTIONAL_COUNT,
  cached_input_tokens: OPTIONAL_COUNT,
  cached_audio_input_tokens: OPTIONAL_COUNT,
  cached_image_input_tokens: OPTIONAL_COUNT,
  cache_write_tokens: OPTIONAL_COUNT,
  cache_write_ttl_seconds: OPTIONAL_COUNT,
  cache_write_5m_tokens: OPTIONAL_COUNT,
  cache_write_1h_tokens: OPTIONAL_COUNT,
  reasoning_tokens: OPTIONAL_COUNT,
  audio_input_tokens: OPTIONAL_COUNT,
  audio_output_tokens: OPTIONAL_COUNT,
  image_input_tokens: OPTIONAL_COUNT,
  image_output_tokens: OPTIONAL_COUNT,
  web_search_calls: OPTIONAL_COUNT,
  file_search_calls: OPTIONAL_COUNT,
  code_execution_calls: OPTIONAL_COUNT,
  billed_units: z.partialRecord(z.enum(BILLED_UNITS), z.string().regex(AMOUNT_TEXT)).nullish(),
  provider_usage: providerUsage.nullish(),
  // What a sender stated can be read in two ways, and nothing tells which one holds.
  alternative_input_tokens: OPTIONAL_COUNT,
  alternative_output_tokens: OPTIONAL_COUNT,
  service_tier: z.enum(SERVICE_TIERS).nullish(),
  speed: z.enum(SPEEDS).nullish(),
  // Answered by the caller's own response cache: nothing was bought from the provider.
  served_from_cache: OPTIONAL_FLAG,
  region: OPTIONAL_NAME,
  // Decimal text, as every amount.
  estimated_cost_usd: OPTIONAL_AMOUNT,
  is_cost_notional: OPTIONAL_FLAG,
  latency_ms: OPTIONAL_COUNT,
  response_id: OPTIONAL_NAME,
  request_id: OPTIONAL_NAME,
  operation_id: OPTIONAL_NAME,
  attempt: OPTIONAL_COUNT,
  assumptions: OPTIONAL_NAME,
  usage_basis: z.enum(USAGE_BASES).nullish(),
  outcome: z.enum(OUTCOMES).nullish(),
  attributed_identity: OPTIONAL_NAME,
  attributed_service: OPTIONAL_NAME,
  trace_id: OPTIONAL_NAME,
  span_id: OPTIONAL_NAME,
  parent_span_id: OPTIONAL_NAME,
  // What made the event within its sender: of several of one process, each shows a call once.
  instrumentation: OPTIONAL_NAME,
  attribution_confidence: z.number().min(0).max(0.95).nullish(),
  tags: z.record(plainText(64), plainText(256)).meta({ maxProperties: TAGS_MAX }).nullish(),
  k8s_namespace: OPTIONAL_NAME,
  k8s_workload: OPTIONAL_NAME,
  workload_identity: OPTIONAL_NAME,
  // Measured by the caller.
  energy_wh: OPTIONAL_AMOUNT,
  carbon_gco2e: OPTIONAL_AMOUNT,
} as const

/** The same fields, each with its description. */
const described = <T extends Readonly<Record<keyof typeof EVENT_FIELDS, z.ZodType>>>(fields: T): T =>
  Object.fromEntries(
    Object.entries(fields).map(([name, form]) => [
      name,
      form.meta({ ...form.meta(), description: EVENT_FIELD_DESCRIPTIONS[name as keyof typeof EVENT_FIELDS] }),
    ]),
  ) as T

export const invocationEvent = z
  .object(described(EVENT_FIELDS))
  .meta({ id: 'InvocationEvent', description: 'Invocation event, schema v1.' })

/** A valid event in its wire form; times are still text. */
export type InvocationEvent = z.infer<typeof invocationEvent>
