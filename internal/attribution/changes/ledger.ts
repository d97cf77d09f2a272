import { bandOf, type Confidence, isReplaceableByTrace } from '../../records/interpretation.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { evidenceText, type Verdict } from '../records/row.js'
import { Book, baseOf, currentOf, type LedgerEntries, type VersionsOf } from './book.js'
import type { Change, Correcting, Decision } from './change.js'
import { decidedOf, decidedRow, isDisputed, isOverridden, refusalOf, withDecision } from './decided.js'
import { mergeSameCalls, separateMerged } from './merges.js'
import { rowEligibility } from './row-eligibility.js'

/**
 * Applies changes to records in order. Pure: the same versions and changes give the same entries, as a repeated batch
 * requires. Skips a change that took effect earlier, and one for which the record is not in a suitable state: its
 * request sees that it closed no version, or was answered with 202 and is then in `broken`.
 *
 * @param atMs the batch's instant
 */
export function applyChanges(changes: readonly Change[], versionsOf: VersionsOf, atMs: number): LedgerEntries {
  const book = new Book(versionsOf, atMs)
  for (const change of changes) {
    const { decision } = change
    switch (decision.kind) {
      case 'same_call':
        mergeSameCalls({ ...change, decision }, book)
        break
      case 'undo_merge':
        if (!book.isApplied(change)) separateMerged(change, book)
        break
      case 'promised':
        if (!book.isApplied(change)) book.broken.push({ ...change, decision })
        break
      default:
        if (!book.isApplied(change)) decide({ ...change, decision }, book)
    }
  }
  const { rows, closed, applied, broken } = book
  return { rows, closed, applied, broken }
}

function decide(change: Change & { readonly decision: Decision | Correcting }, book: Book): void {
  const { id, tenantId, recordId, decision, actor } = change
  const history = book.history(tenantId, recordId)
  const [current, base] = [currentOf(history), baseOf(history)]
  if (current === undefined || base === undefined) return
  const validFromMs = book.instantAfter(current)
  const row =
    decision.kind === 'correction'
      ? corrected(current, decision, validFromMs)
      : decided(current, base, decision, actor, validFromMs)
  if (row === undefined) return
  book.replace(recordId, row, decision.kind, { changeId: id, actor })
  book.applied.push({ change, row })
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

/**
 * Whether a later verdict of the trace stage replaces a version. A person's decision takes precedence; when it is
 * undone, the record returns to its state before the decision.
 */
function isCorrectable(row: AttributionRow, verdict: Verdict): boolean {
  if (isOverridden(row) || isDisputed(row) || !isReplaceableByTrace(row.evidenceBasis)) return false
  // That the trace has several services is no better evidence than an inference.
  if (verdict.contested === 'trace' && isInferred(row)) return false
  const isSame =
    row.evidenceBasis === verdict.evidenceBasis &&
    row.service === verdict.service &&
    row.contested === (verdict.contested ?? '') &&
    row.confidence === confidenceOf(row, verdict)
  return !isSame
}

const isInferred = ({ stageOrigin }: AttributionRow): boolean => stageOrigin === 'stage_b'

/** A new version with another verdict: the attribution changes; cost and consumption stay. */
function correctedRow(row: AttributionRow, verdict: Verdict, validFromMs: number): AttributionRow {
  const { service, owner, stageOrigin, evidenceBasis, outputState, modelVersion, degradationState } = verdict
  const confidence = confidenceOf(row, verdict)
  const corrected = {
    ...row,
    validFromMs,
    service,
    owner,
    stageOrigin,
    evidenceBasis,
    outputState,
    modelVersion,
    degradationState,
    confidence,
    confidenceBand: bandOf(confidence),
    contested: verdict.contested ?? '',
    evidence: evidenceText(verdict),
    inference: '',
  }
  return { ...corrected, exportEligibility: rowEligibility(corrected) }
}

const confidenceOf = (row: AttributionRow, verdict: Verdict): Confidence =>
  Math.min(verdict.confidence, row.attributionConfidence)
