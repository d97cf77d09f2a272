import { type AttributionRow, FIELDS } from '../../records/fields.js'
import type { RowBinaryTable } from '../sink.js'
import { CODECS, writerOf } from './field-codec.js'

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

const KEY: ReadonlySet<string> = new Set(['tenant_id', 'id', 'valid_from'])
const COPIED = FIELDS.filter(({ name, isInClosed }) => KEY.has(name) || isInClosed)
const writeVersion = writerOf(COPIED)

const create = (name: string): string => `
CREATE TABLE IF NOT EXISTS ${name} (
${COPIED.map((field) => `  ${field.name} ${CODECS[field.kind].type}`).join(',\n')},
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
  columns: [...COPIED.map(({ name }) => name), 'closed_at', 'change', 'change_id', 'actor'],
  rowBytes: 300,
  write(to, { version, closedAtMs, change, changeId, actor }) {
    writeVersion(to, version)
    to.dateTime64(closedAtMs)
    to.string(change)
    to.string(changeId)
    to.string(actor)
  },
}
