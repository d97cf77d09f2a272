import type { Version } from '../../store/queries/records/versions.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { ClosedRow } from '../../store/tables/closed.js'
import type { Change, Correcting, Decision, Promised } from './change.js'
import { correctedRow, isCorrectable } from './corrected.js'
import { decidedOf, decidedRow, isDisputed, isOverridden, refusalOf, withDecision } from './decided.js'

/** The effects of changes on the read model: new versions and closed versions. */
export interface LedgerEntries {
  readonly rows: readonly AttributionRow[]
  readonly closed: readonly ClosedRow[]
  /** The changes that took effect, each with its new version. */
  readonly applied: readonly { readonly change: Change; readonly row: AttributionRow }[]
  /** Decisions that were refused after their request had been answered with 202. */
  readonly broken: readonly (Change & { readonly decision: Promised })[]
}

/**
 * Applies changes to records in order. Pure: the same versions and changes give the same entries, as a repeated batch
 * requires. Skips a change that took effect earlier, and one for which the record is not in a suitable state: its request
 * sees that it closed no version, or was answered with 202 and is then in `broken`.
 *
 * @param versionsOf all versions of a record before the batch, oldest first; empty if the record does not exist
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
    const isApplied = history.some(({ closed: closure }) => closure?.changeId === change.id)
    if (decision.kind === 'promised') {
      if (!isApplied) broken.push({ ...change, decision })
      continue
    }
    const at = history.findLastIndex(({ closed: closure }) => closure === undefined)
    const current = history[at]?.row
    const base = history.findLast(({ row }) => !isOverridden(row) && !isDisputed(row))?.row
    if (current === undefined || base === undefined || isApplied) continue
    // Two changes of one record in one batch get distinct instants, so that every version has its own.
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

/** @returns undefined when the record is not in a suitable state */
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
