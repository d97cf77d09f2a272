import type { RowBinaryTable } from '../sink.js'
import { ATTRIBUTION_COLUMNS, type AttributionRow } from './attributions.js'

/** What closes a version of a record: a person's decision or its withdrawal, a job that attributes or values anew, or what its trace has told later. */
export const CHANGES = [
  'override',
  'undo_override',
  'dispute',
  'undo_dispute',
  'reattribution',
  'revaluation',
  'correction',
] as const
export type Change = (typeof CHANGES)[number]

/** That a version is no longer valid from an instant on, and why. */
export interface ClosedRow {
  /** The version that is closed. */
  readonly version: AttributionRow
  /** The instant from which on the next version is valid. */
  readonly closedAtMs: number
  readonly change: Change
  /** Of the request or the job. */
  readonly changeId: string
  /** Id of the credential that asked for it, `cli` for the command line, `stage_a` of a correction. */
  readonly actor: string
}

/** What rollups count a version by: who closes it inserts its reversal by inserting these. */
const COPIED: ReadonlySet<string> = new Set([
  'event_time',
  'provider',
  'served_model',
  'service',
  'owner',
  'cost_usd',
  'energy_wh',
  'carbon_gco2e',
  'pathway_category',
  'output_state',
  'stage_origin',
  'confidence_band',
  'evidence_basis',
  'degradation_state',
  'export_eligibility',
  'cost_basis',
  'energy_basis',
  'carbon_basis',
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'ingestion_layer',
  'principal',
  'identity_hash',
  'workload_identity',
])
const KEY: ReadonlySet<string> = new Set(['tenant_id', 'id', 'valid_from'])
const COLUMNS = ATTRIBUTION_COLUMNS.filter(([name]) => KEY.has(name) || COPIED.has(name))

const create = (name: string): string => `
CREATE TABLE IF NOT EXISTS ${name} (
${COLUMNS.map(([column, type]) => `  ${column} ${type}`).join(',\n')},
  closed_at DateTime64(3, 'UTC'),
  change LowCardinality(String),
  change_id String,
  actor LowCardinality(String)
)
ENGINE = MergeTree
ORDER BY (tenant_id, id, valid_from)
SETTINGS non_replicated_deduplication_window = 10000`

/**
 * The versions that are no longer valid (design section 6). Not partitioned: an insert is one part, whole or not at all.
 */
export const CREATE_CLOSED = create('closed')

/** Those whose rows were removed since nobody reads as of then any more (`compaction.ts`): what remains is their history. */
export const CREATE_CLOSED_HISTORY = create('closed_history')

export const CLOSED: RowBinaryTable<ClosedRow> = {
  name: 'closed',
  columns: [...COLUMNS.map(([name]) => name), 'closed_at', 'change', 'change_id', 'actor'],
  rowBytes: 300,
  write(to, { version, closedAtMs, change, changeId, actor }) {
    for (const [, , write] of COLUMNS) write(to, version)
    to.dateTime64(closedAtMs)
    to.string(change)
    to.string(changeId)
    to.string(actor)
  },
}
