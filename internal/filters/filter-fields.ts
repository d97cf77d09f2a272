import { COST_BASES } from '../records/bases.js'
import { type Dimension, isTagField, TAG_PREFIX, type TagField, tagFieldOf } from '../records/dimensions.js'
import {
  CONFIDENCE_BANDS,
  CONTESTED_BY,
  DEGRADATION_STATES,
  EVIDENCE_BASES,
  EXPORT_ELIGIBILITIES,
  OUTPUT_STATES,
  PATHWAY_CATEGORIES,
  STAGE_ORIGINS,
} from '../records/interpretation.js'
import { OUTCOMES, USAGE_BASES } from '../text/call-words.js'

/** The fields by which records can be filtered and sorted, with their operators. */

/** Filter operators. */
export const OPERATORS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'contains'] as const
export type Operator = (typeof OPERATORS)[number]

/** The type of a field decides how an operand is read. */
export type FieldType =
  /** Any text of at most 256 bytes; the empty one means calls without a value, where these are possible. */
  | { readonly kind: 'text'; readonly isOptional?: true }
  /** One of a closed list, or likewise empty. */
  | { readonly kind: 'choice'; readonly values: readonly string[]; readonly isOptional?: true }
  /** Money, energy, carbon: exact, 20 digits before the point and 18 after it at most. */
  | { readonly kind: 'amount' }
  /** An exact decimal that is stored in ten-thousandths. */
  | { readonly kind: 'confidence' }
  /** RFC 3339 in UTC, to the millisecond. */
  | { readonly kind: 'instant' }
  | { readonly kind: 'id'; readonly prefix: 'attr' | 'inv' }
  /** Any text of at most 256 bytes; the empty one means calls without the tag. */
  | { readonly kind: 'tag' }

export interface Field {
  readonly type: FieldType
  readonly operators: readonly Operator[]
  readonly description: string
  readonly example: string
}

export const EQUALITY = ['eq', 'ne', 'in'] as const
const ORDERED = [...EQUALITY, 'gt', 'gte', 'lt', 'lte'] as const
export const SEARCHED = [...EQUALITY, 'contains'] as const

const TEXT = { kind: 'text' } as const
const OPTIONAL_TEXT = { kind: 'text', isOptional: true } as const
const AMOUNT = { kind: 'amount' } as const
const INSTANT = { kind: 'instant' } as const
const choice = (values: readonly string[]) => ({ kind: 'choice', values }) as const
const optionalChoice = (values: readonly string[]) => ({ kind: 'choice', values, isOptional: true }) as const

export const FILTER_FIELDS = {
  id: {
    type: { kind: 'id', prefix: 'attr' },
    operators: ORDERED,
    description: 'Id of the record.',
    example: 'attr_7v3k9q2m4x8n5c1r6t0w3y9zb0',
  },
  invocation_id: {
    type: { kind: 'id', prefix: 'inv' },
    operators: ORDERED,
    description: 'Id of the invocation.',
    example: 'inv_7v3k9q2m4x8n5c1r6t0w3y9zb0',
  },
  provider: { type: TEXT, operators: SEARCHED, description: 'Provider of the model.', example: 'openai' },
  served_model: { type: TEXT, operators: SEARCHED, description: 'Model that served the call.', example: 'gpt-4o' },
  service: { type: TEXT, operators: SEARCHED, description: 'Attributed service.', example: 'support-chat' },
  owner: { type: TEXT, operators: SEARCHED, description: 'Attributed owner.', example: 'team-support' },
  cost_usd: { type: AMOUNT, operators: ORDERED, description: 'Cost in USD.', example: '0.05' },
  energy_wh: { type: AMOUNT, operators: ORDERED, description: 'Energy in Wh.', example: '1.5' },
  carbon_gco2e: { type: AMOUNT, operators: ORDERED, description: 'Carbon in gCO2e.', example: '0.2' },
  confidence: {
    type: { kind: 'confidence' },
    operators: ORDERED,
    description: 'Confidence, 0 to 0.95.',
    example: '0.8',
  },
  confidence_band: {
    type: choice(CONFIDENCE_BANDS),
    operators: EQUALITY,
    description: 'Band of the confidence.',
    example: 'chargeback_ready',
  },
  stage_origin: {
    type: choice(STAGE_ORIGINS),
    operators: EQUALITY,
    description: 'Stage that produced the result.',
    example: 'stage_a',
  },
  evidence_basis: {
    type: choice(EVIDENCE_BASES),
    operators: SEARCHED,
    description: 'Strongest evidence behind the result.',
    example: 'service_resolved',
  },
  degradation_state: {
    type: choice(DEGRADATION_STATES),
    operators: EQUALITY,
    description: 'How inference was served.',
    example: 'none',
  },
  export_eligibility: {
    type: choice(EXPORT_ELIGIBILITIES),
    operators: EQUALITY,
    description: 'Whether the record may be charged back, or the reason why not.',
    example: 'eligible',
  },
  contested: {
    type: optionalChoice(CONTESTED_BY),
    operators: EQUALITY,
    description:
      'The kind of fact that contradicts the attribution; empty if none does. `ne` also matches records that ' +
      'nothing contradicts.',
    example: 'workload_identity',
  },
  usage_basis: {
    type: choice(USAGE_BASES),
    operators: EQUALITY,
    description: 'How well the token counts are known.',
    example: 'partial',
  },
  outcome: {
    type: optionalChoice(OUTCOMES),
    operators: EQUALITY,
    description:
      'How the call ended; empty if its source does not say. `ne` also matches records whose source does not say.',
    example: 'cancelled',
  },
  pathway_category: {
    type: choice(PATHWAY_CATEGORIES),
    operators: EQUALITY,
    description: 'How the call reached its provider.',
    example: 'application_direct',
  },
  output_state: {
    type: choice(OUTPUT_STATES),
    operators: EQUALITY,
    description: 'State of the result.',
    example: 'inferred',
  },
  event_time: {
    type: INSTANT,
    operators: ORDERED,
    description: 'When the call was made.',
    example: '2026-11-21T09:30:00Z',
  },
  materialized_at: {
    type: INSTANT,
    operators: ORDERED,
    description: 'When this version of the record became valid.',
    example: '2026-11-21T09:30:00Z',
  },
  trace_id: {
    type: OPTIONAL_TEXT,
    operators: EQUALITY,
    description: 'Trace of the call; empty if it has none. `ne` also matches records without a trace.',
    example: '0af7651916cd43dd8448eb211c80319c',
  },
  operation_id: {
    type: OPTIONAL_TEXT,
    operators: EQUALITY,
    description: 'What several attempts serve; empty if the call does not say.',
    example: 'checkout-4711',
  },
  credential: {
    type: TEXT,
    operators: EQUALITY,
    description: 'Name or id of the credential that sent the event.',
    example: 'checkout-production',
  },
  requested_model: {
    type: TEXT,
    operators: SEARCHED,
    description: 'Model that the call asked for.',
    example: 'gpt-4o',
  },
  ingestion_layer: {
    type: TEXT,
    operators: SEARCHED,
    description: 'Layer that captured the call.',
    example: 'gateway',
  },
  service_tier: {
    type: OPTIONAL_TEXT,
    operators: SEARCHED,
    description: 'Service tier that the call states; empty if it states none.',
    example: 'batch',
  },
  region: {
    type: OPTIONAL_TEXT,
    operators: SEARCHED,
    description: 'Region that the call states; empty if it states none.',
    example: 'eu-central-1',
  },
  cost_basis: {
    type: choice(COST_BASES),
    operators: EQUALITY,
    description: 'Where the cost comes from.',
    example: 'price_book',
  },
  pool: {
    type: OPTIONAL_TEXT,
    operators: SEARCHED,
    description: 'Cost pool that the call was allocated to; empty if it was attributed to a service.',
    example: 'unallocated',
  },
} as const satisfies Readonly<Record<string, Field>>

export type FieldName = keyof typeof FILTER_FIELDS

/** The field of a declared tag key. */
export const TAG_FIELD: Field = {
  type: { kind: 'tag' },
  operators: SEARCHED,
  description: 'Value of a declared tag key.',
  example: 'payments',
}

/** A field by which records can be filtered. */
export type FilterField = FieldName | TagField

/** Fields with those of the tag keys that a tenant has declared. */
export const withTags = <F extends string>(
  fields: Readonly<Record<F, Field>>,
  declared: readonly Pick<Dimension, 'key'>[],
): Readonly<Record<F | TagField, Field>> => {
  const tags: Record<TagField, Field> = {}
  for (const { key } of declared) tags[tagFieldOf(key)] = TAG_FIELD
  return { ...fields, ...tags } as Readonly<Record<F | TagField, Field>>
}

/** Fields plus one that represents every declared tag key, for the OpenAPI document. */
export const withTagPattern = (fields: Readonly<Record<string, Field>>): Readonly<Record<string, Field>> => ({
  ...fields,
  [`${TAG_PREFIX}<key>`]: {
    ...TAG_FIELD,
    description: 'One parameter per tag key that the tenant has declared (`dimensions` of its settings), in any case.',
  },
})

export const fieldOf = (field: FilterField): Field => (isTagField(field) ? TAG_FIELD : FILTER_FIELDS[field])

/** Sort fields; ties are broken by `id` in the same direction. */
export const SORT_FIELDS = [
  'event_time',
  'materialized_at',
  'cost_usd',
  'energy_wh',
  'carbon_gco2e',
  'confidence',
  'provider',
  'served_model',
  'service',
  'owner',
] as const satisfies readonly FieldName[]
export type SortField = (typeof SORT_FIELDS)[number]

/** Values in an `in` list. */
export const LIST_MAX = 200
/** Filters per query. */
export const FILTERS_MAX = 50
/** Bytes of a text operand. */
export const TEXT_BYTES_MAX = 256
