import type { Condition } from '../../filters/parse.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { decidedOf, decidedRow, isOverridden, withDecision } from './decided.js'
import { withUsageOf } from './merged.js'

/** What a bulk override sets, and the records that its dry run selected. */
export interface BulkOverride {
  readonly conditions: readonly Condition[]
  /** Only versions that were valid then: what came later is not taken. */
  readonly snapshot_ms: number
  readonly service: string
  readonly owner: string
  readonly reason: string
  /** Of the dry run. */
  readonly records: number
  /** Decimal text. */
  readonly cost_usd: string
}

/** @param rows without those that people have decided on */
export const overriddenRows = (
  rows: readonly AttributionRow[],
  { service, owner, reason }: BulkOverride,
  job: { readonly id: string; readonly actor: string },
  validFromMs: number,
): AttributionRow[] =>
  rows.map((row) =>
    decidedRow(row, { override: { service, owner, reason, actor: job.actor, bulk_override: job.id } }, validFromMs),
  )

/**
 * The records whose valid version still has a bulk override, without it. One that somebody has undone, or overridden
 * again since, is not among them; an open dispute stays open.
 *
 * @param rows the valid versions
 * @param replaced the versions that the override replaced, of the same records
 */
export function restoredRows(
  rows: readonly AttributionRow[],
  replaced: readonly AttributionRow[],
  overrideId: string,
  actor: string,
  validFromMs: number,
): AttributionRow[] {
  const before = new Map(replaced.map((row) => [hexOf(row.id), row]))
  return rows.flatMap((row) => {
    const base = before.get(hexOf(row.id))
    const decided = decidedOf(row)
    if (base === undefined || !isOverridden(row) || decided.override?.bulk_override !== overrideId) return []
    // Another event of the call may have been merged into the record since.
    const current = { ...withUsageOf(base, row), seenBy: row.seenBy, responseId: row.responseId }
    return [decidedRow(current, withDecision(decided, { kind: 'undo_override' }, actor), validFromMs)]
  })
}

const hexOf = (id: Uint8Array): string => Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')
