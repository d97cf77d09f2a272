/** Members of records by which the rows of an export can be grouped, beside the day and the kind of token. */
export const NAMED = [
  'provider',
  'owner',
  'service',
  'served_model',
  'requested_model',
  'region',
  'ingestion_layer',
  'pathway_category',
  'output_state',
  'stage_origin',
  'cost_basis',
] as const
export type Named = (typeof NAMED)[number]
