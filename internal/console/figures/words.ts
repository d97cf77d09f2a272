import type { Scope } from '../../auth/scopes.js'
import { isTagField, keyOfTagField } from '../../records/dimensions.js'

/** The closed lists of the API in plain words. Names from outside are shown as they are. */

const WORDS: Readonly<Record<string, string>> = {
  stage_a: 'by facts',
  stage_b: 'inferred',
  stage_c: 'allocated',
  chargeback_ready: 'chargeback-ready',
  deterministically_resolved: 'by facts',
  unresolved: 'not resolved',
  usd: 'USD',
  cost_upper_bound: 'its cost is an upper bound',
  eligible: 'can be charged',
  below_floor: 'confidence below 0.80',
  notional: 'billed to nobody',
  unpriced: 'no price',
  connection: 'no connection',
  csv: 'CSV',
  parquet: 'Parquet',
}

export const wordOf = (value: string): string => WORDS[value] ?? value.replaceAll('_', ' ')

/** Fields of records and dimensions of reports, as people call them. */
const FIELDS: Readonly<Record<string, string>> = {
  served_model: 'model',
  requested_model: 'requested model',
  cost_usd: 'cost USD',
  energy_wh: 'energy Wh',
  carbon_gco2e: 'carbon gCO₂e',
  stage_origin: 'how it was attributed',
  confidence_band: 'confidence band',
  event_time: 'time of the call',
  materialized_at: 'attributed at',
  export_eligibility: 'charged or not',
  pathway_category: 'pathway',
  output_state: 'state',
  evidence_basis: 'evidence',
  degradation_state: 'inference was',
  cost_basis: 'where the cost comes from',
  ingestion_layer: 'capture layer',
  pool: 'cost pool',
}

export const fieldShown = (name: string): string =>
  isTagField(name) ? `tag ${keyOfTagField(name)}` : (FIELDS[name] ?? name.replaceAll('_', ' '))

/** What a person or credential with a scope may see or do. */
export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  'read:attribution': 'single calls and their evidence',
  'read:reporting': 'totals and reports',
  'export:create': 'files for chargeback',
  'webhooks:manage': 'who receives events',
  'admin:config': 'everything that is set up here',
}

/** Undefined for what is no scope of ours. */
export const scopeShown = (scope: string): string | undefined =>
  Object.hasOwn(SCOPE_WORDS, scope) ? SCOPE_WORDS[scope as Scope] : undefined
