import { type AttributionRow, FIELDS } from '../../records/record-fields.js'
import type { RowBinaryTable } from '../row-binary.js'
import { CODECS, writerOf } from './field-codec.js'

/**
 * Why a version of a record was closed: a person's decision or its withdrawal, a job that re-attributed or re-valued
 * it, later evidence from its trace, another event of the same call (a version that is closed by `merge` may have no
 * successor), or one that may show the same call.
 */
export const CHANGES = [
  'override',
  'undo_override',
  'dispute',
  'undo_dispute',
  'reattribution',
  'revaluation',
  'correction',
  'merge',
  'undo_merge',
  'perhaps_twice',
] as const
export type Change = (typeof CHANGES)[number]

/** Marks a version as invalid since an instant, with the reason. */
export interface ClosedRow {
  /** The closed version. */
  readonly version: AttributionRow
  /** When the next version becomes valid. */
  readonly closedAtMs: number
  readonly change: Change
  /** Id of the request or the job. */
  readonly changeId: string
  /**
   * Id of the requesting credential; `cli` for the command line, `stage_a` for a correction, `same_call` for a merge.
   */
  readonly actor: string
}

/** The id of a merge: of the record that stays, and of the one that is closed and has no version from then on; hex. */
export const mergeId = (winner: string, absorbed: string): string => `merge.${winner}.${absorbed}`
const MERGE_ID = /^merge\.([0-9a-f]{32})\.([0-9a-f]{32})$/

/**
 * @returns the hex id of the record that takes the place of one whose last version this change closed; undefined: none
 * does
 */
export function absorberOf(recordId: string, changeId: string): string | undefined {
  const [, winner, absorbed] = MERGE_ID.exec(changeId) ?? []
  return absorbed === recordId ? winner : undefined
}

/** Ends the id of a change that closed a version which undoing a person's decision restores: compaction leaves it. */
export const KEPT = '.kept'

/** Merges that are followed in a row: each time, a record with a stronger attribution was found. */
export const MERGES_IN_A_ROW_MAX = 8

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
 * The versions that are no longer valid. Not partitioned, so an insert is one atomic part.
 */
export const CREATE_CLOSED = create('closed')

export const CLOSED_HISTORY = 'closed_history'
/** Closed versions whose rows compaction removed (`compaction.ts`): only this history remains of them. */
export const CREATE_CLOSED_HISTORY = create(CLOSED_HISTORY)

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
