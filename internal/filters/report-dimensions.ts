import { COST_BASES } from '../records/bases.js'
import type { TagField } from '../records/dimensions.js'
import {
  CONFIDENCE_BANDS,
  EVIDENCE_BASES,
  EXPORT_ELIGIBILITIES,
  OUTPUT_STATES,
  PATHWAY_CATEGORIES,
  STAGE_ORIGINS,
} from '../records/interpretation.js'
import { OUTCOMES, USAGE_BASES } from '../text/call-words.js'
import { EQUALITY, type Field, SEARCHED } from './filter-fields.js'

const TEXT = { kind: 'text' } as const
const text = (description: string, example: string) =>
  ({ type: TEXT, operators: SEARCHED, description, example }) as const
const optional = (description: string, example: string) =>
  ({ type: { kind: 'text', isOptional: true }, operators: SEARCHED, description, example }) as const
const choice = <V extends string>(values: readonly V[], description: string, example: V) =>
  ({ type: { kind: 'choice', values }, operators: EQUALITY, description, example }) as const

/**
 * The dimensions that reports group and filter by, in the one place that declares them: adding an entry makes it a
 * value of `group_by`, a filter of reports, exports, budgets and the console, and a member of their rows. One whose
 * value is not the column of the same name has its SQL in `internal/store/queries/reports/dimensions.ts`.
 */
export const DIMENSIONS = {
  owner: text('Attributed owner.', 'team-support'),
  service: text('Attributed service.', 'support-chat'),
  provider: text('Provider of the model, by its one name (`aws.bedrock` for `bedrock`).', 'openai'),
  served_model: text('Model that served the call.', 'gpt-4o'),
  requested_model: text('Model that the call asked for.', 'gpt-4o'),
  pathway_category: choice(PATHWAY_CATEGORIES, 'How the call reached its provider.', 'application_direct'),
  ingestion_layer: text('Layer that captured the call.', 'gateway'),
  output_state: choice(OUTPUT_STATES, 'State of the result.', 'inferred'),
  confidence_band: choice(CONFIDENCE_BANDS, 'Band of the confidence.', 'chargeback_ready'),
  stage_origin: choice(STAGE_ORIGINS, 'Stage that produced the result.', 'stage_a'),
  export_eligibility: choice(
    EXPORT_ELIGIBILITIES,
    'Whether the call may be charged back, or the reason why not.',
    'eligible',
  ),
  evidence_basis: choice(EVIDENCE_BASES, 'Strongest evidence behind the result.', 'service_resolved'),
  contested: optional('The kind of fact that contradicts the attribution; empty if none does.', 'workload_identity'),
  usage_basis: choice(USAGE_BASES, 'How well the token counts are known.', 'partial'),
  outcome: {
    type: { kind: 'choice', values: OUTCOMES, isOptional: true },
    operators: EQUALITY,
    description: 'How the call ended; empty if its source does not say.',
    example: 'cancelled',
  },
  region: optional('Region that the call states; empty if it states none.', 'eu-central-1'),
  service_tier: optional('Service tier that the call states; empty if it states none.', 'batch'),
  cost_basis: choice(COST_BASES, 'Where the cost comes from.', 'price_book'),
  pool: optional('Cost pool that the call was allocated to; empty if it was attributed to a service.', 'unallocated'),
  credential: text(
    'Credential that sent the event: in reports by its name, else by its id; in budgets and exports by its id.',
    'checkout-production',
  ),
  trace_id: optional('Trace of the call; empty if it has none.', '0af7651916cd43dd8448eb211c80319c'),
  operation_id: optional('What several attempts serve; empty if the call does not say.', 'checkout-4711'),
} as const satisfies Readonly<Record<string, Field>>

export type DimensionName = keyof typeof DIMENSIONS
export const DIMENSION_NAMES = Object.keys(DIMENSIONS) as [DimensionName, ...DimensionName[]]

/** A dimension, or the field of a tag key that the tenant has declared. */
export type GroupField = DimensionName | TagField

/** Whether the values of a dimension are a closed list of words, not names from outside. */
export const hasClosedValues = (name: string): boolean =>
  Object.hasOwn(DIMENSIONS, name) && DIMENSIONS[name as DimensionName].type.kind === 'choice'
