/** Finished rows as stage A creates them. A test states only the members of its case. */
import { type RowPlace, toRow, type Verdict } from '../../internal/attribution/records/row.js'
import type { AttributionRow } from '../../internal/store/tables/attributions.js'
import { admitted, NOW_MS, type Stated } from './invocations.js'
import { ROW_DEPS } from './stages.js'

/** Of an event whose service a fact proves. */
export const VERDICT: Verdict = {
  service: 'search',
  owner: 'team-search',
  stageOrigin: 'stage_a',
  evidenceBasis: 'service_resolved',
  confidence: 9_000,
  outputState: 'deterministically_resolved',
  modelVersion: 'rules-1',
  degradationState: 'none',
  evidence: {},
}

/** The verdict for an event without facts when another event of its trace was resolved. */
export const CORRELATED: Verdict = {
  ...VERDICT,
  evidenceBasis: 'trace_correlated',
  confidence: 8_200,
  modelVersion: 'rules-7',
  evidence: { service_from: 'trace' },
}

export const finishedRow = (
  event: Stated = {},
  { verdict = {}, ...place }: Partial<RowPlace> & { readonly verdict?: Partial<Verdict> } = {},
): AttributionRow =>
  toRow(admitted(event), { ...VERDICT, ...verdict }, { partition: 0, validFromMs: NOW_MS, ...place }, ROW_DEPS)
