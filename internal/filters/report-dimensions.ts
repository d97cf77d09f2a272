import { COST_BASES } from '../records/bases.js'
import type { TagField } from '../records/dimensions.js'
import {
  CONFIDENCE_BANDS,
  EXPORT_ELIGIBILITIES,
  OUTPUT_STATES,
  PATHWAY_CATEGORIES,
  STAGE_ORIGINS,
} from '../records/interpretation.js'
import { EQUALITY, type Field, SEARCHED } from './filter-fields.js'

const TEXT = { kind: 'text' } as const
const text = (description: string, example: string) =>
  ({ type: TEXT, operators: SEARCHED, description, example }) as const
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
  contested: text('The kind of fact that contradicts the attribution; empty if none does.', 'workload_identity'),
  region: text('Region that the call states; empty if it states none.', 'eu-central-1'),
  cost_basis: choice(COST_BASES, 'Where the cost comes from.', 'price_book'),
  pool: text('Cost pool that the call was allocated to; empty if it was attributed to a service.', 'unallocated'),
} as const satisfies Readonly<Record<string, Field>>

export type DimensionName = keyof typeof DIMENSIONS
export const DIMENSION_NAMES = Object.keys(DIMENSIONS) as [DimensionName, ...DimensionName[]]

/** A dimension, or the field of a tag key that the tenant has declared. */
export type GroupField = DimensionName | TagField

/** Whether the values of a dimension are a closed list of words, not names from outside. */
export const hasClosedValues = (name: string): boolean =>
  Object.hasOwn(DIMENSIONS, name) && DIMENSIONS[name as DimensionName].type.kind === 'choice'
