import type { Version } from '../../store/queries/records/versions.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { ClosedRow } from '../../store/tables/closed.js'
import type { Change, Correcting, Decision, Promised } from './change.js'
import { correctedRow, isCorrectable } from './corrected.js'
import { decidedOf, decidedRow, isDisputed, isOverridden, refusalOf, withDecision } from './decided.js'

/** What changes do to the read model: versions that begin, and versions that end. */
export interface LedgerEntries {
  readonly rows: readonly AttributionRow[]
  readonly closed: readonly ClosedRow[]
  /** The changes that took effect, each with the version that it made. */
  readonly applied: readonly { readonly change: Change; readonly row: AttributionRow }[]
  /** Of decisions that took no effect, though whoever asked was told that they would in their turn. */
  readonly broken: readonly (Change & { readonly decision: Promised })[]
}

/**
 * Applies changes to records in their order. Pure: the same versions and changes make the same entries, as a repeated
 * batch must. A change that took effect before is passed over, and so is one that its record is not in the state for:
 * whoever asked for it sees that it closed nothing, or was promised what is `broken` then.
 *
 * @param versionsOf all versions of a record before the batch, the oldest first; none where there is no such record
 * @param atMs the batch's instant
 */
export function applyChanges(
  changes: readonly Change[],
  versionsOf: (tenantId: string, recordId: string) => readonly Version[],
  atMs: number,
): LedgerEntries {
  const rows: AttributionRow[] = []
  const closed: ClosedRow[] = []
  const applied: LedgerEntries['applied'][number][] = []
  const broken: LedgerEntries['broken'][number][] = []
  const histories = new Map<string, Version[]>()
  for (const change of changes) {
    const { tenantId, recordId, decision, actor } = change
    const key = `${tenantId} ${recordId}`
    const history = histories.get(key) ?? [...versionsOf(tenantId, recordId)]
    histories.set(key, history)
    const isApplied = history.some(({ closed: closing }) => closing?.changeId === change.id)
    if (decision.kind === 'promised') {
      if (!isApplied) broken.push({ ...change, decision })
      continue
    }
    const at = history.findLastIndex(({ closed: closing }) => closing === undefined)
    const current = history[at]?.row
    const base = history.findLast(({ row }) => !isOverridden(row) && !isDisputed(row))?.row
    if (current === undefined || base === undefined || isApplied) continue
    // Two changes of one record in one batch begin at two instants, so that each version has its own.
    const validFromMs = Math.max(atMs, current.validFromMs + 1)
    const row =
      decision.kind === 'correction'
        ? corrected(current, decision, validFromMs)
        : decided(current, base, decision, actor, validFromMs)
    if (row === undefined) continue

    const { kind } = decision
    rows.push(row)
    closed.push({ version: current, closedAtMs: validFromMs, change: kind, changeId: change.id, actor })
    applied.push({ change, row })
    history[at] = { row: current, closed: { atMs: validFromMs, change: kind, changeId: change.id, actor } }
    history.push({ row, closed: undefined })
  }
  return { rows, closed, applied, broken }
}

/** Undefined where the record is not in the state for it. */
const decided = (
  current: AttributionRow,
  base: AttributionRow,
  decision: Decision,
  actor: string,
  validFromMs: number,
): AttributionRow | undefined =>
  refusalOf(current, decision) === undefined
    ? decidedRow(base, withDecision(decidedOf(current), decision, actor), validFromMs)
    : undefined

const corrected = (
  current: AttributionRow,
  { verdict }: Correcting,
  validFromMs: number,
): AttributionRow | undefined =>
  isCorrectable(current, verdict) ? correctedRow(current, verdict, validFromMs) : undefined
