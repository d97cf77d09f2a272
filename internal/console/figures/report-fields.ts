import { EQUALITY, FILTER_FIELDS, type Field, type FieldName, SEARCHED } from '../../filters/filter-fields.js'
import { COST_BASES } from '../../records/bases.js'

/** Fields by which reports and exports can be filtered: those of records that they know, and those that only they know. */

const SAME = [
  'owner',
  'service',
  'provider',
  'served_model',
  'pathway_category',
  'output_state',
  'confidence_band',
  'stage_origin',
  'export_eligibility',
] as const satisfies readonly FieldName[]

const text = (description: string, example: string): Field => ({
  type: { kind: 'text' },
  operators: SEARCHED,
  description,
  example,
})

export const REPORT_FIELDS: Readonly<Record<string, Field>> = {
  ...Object.fromEntries(SAME.map((name) => [name, FILTER_FIELDS[name]])),
  requested_model: text('Model that the call asked for.', 'gpt-4o'),
  ingestion_layer: text('Layer that captured the call.', 'gateway'),
  region: text('Region that the call states.', 'eu-central-1'),
  pool: text('Cost pool that the call was allocated to.', 'unallocated'),
  cost_basis: {
    type: { kind: 'choice', values: COST_BASES },
    operators: EQUALITY,
    description: 'Where the cost comes from.',
    example: 'price_book',
  },
}
