import type { Version } from '../../store/queries/records/versions.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { absorberOf, KEPT, MERGES_IN_A_ROW_MAX, mergeId } from '../../store/tables/closed.js'
import { isMerged, seenByOf, seenByText } from '../sightings/seen-by.js'
import { type Book, baseOf, currentOf } from './book.js'
import type { Change, Comparing } from './change.js'
import { decidedOf, decidedRow, isDisputed, isOverridden } from './decided.js'
import { mergedRow, separateRow } from './merged.js'
import { type Pair, sameCalls } from './same-call.js'

/**
 * Merges those of the records that show the same call. What is merged already stays so, and a repeated comparison
 * merges nothing twice: a record that was merged has no valid version.
 */
export function mergeSameCalls(change: Change & { readonly decision: Comparing }, book: Book): void {
  const { tenantId, decision } = change
  const candidates = new Map<string, { row: AttributionRow; absorbed: AttributionRow[] }>()
  for (const member of decision.members) {
    const survivor = survivorOf(tenantId, member, book)
    const row = currentOf(book.history(tenantId, survivor))
    if (row === undefined) continue
    const candidate = candidates.get(survivor) ?? { row, absorbed: [] }
    candidates.set(survivor, candidate)
    const own = ownOf(book.history(tenantId, member))
    if (own !== undefined && own !== row) candidate.absorbed.push(own)
  }
  const { pairs, perhaps } = sameCalls([...candidates.values()])
  for (const pair of pairs) merge(change, pair, book)
  for (const [one, other] of perhaps) markBoth(change, one, other, book)
}

/** The latest version that counts no other event. */
const ownOf = (history: readonly Version[]): AttributionRow | undefined =>
  (history.findLast(({ row }) => !isMerged(row)) ?? history.at(-1))?.row

/** Says on both records that they may show the same call. They stay two. */
function markBoth(change: Change, one: string, other: string, book: Book): void {
  const { tenantId, actor } = change
  for (const [id, alike] of [
    [one, other],
    [other, one],
  ] as const) {
    const row = currentOf(book.history(tenantId, id))
    if (row === undefined) continue
    const seenBy = seenByText({ ...seenByOf(row), perhaps: [alike] })
    const by = { changeId: perhapsId(id, alike), actor }
    book.replace(id, { ...row, seenBy, validFromMs: book.instantAfter(row) }, 'perhaps_twice', by)
  }
}

const perhapsId = (record: string, alike: string): string => `perhaps.${record}.${alike}`

function survivorOf(tenantId: string, recordId: string, book: Book): string {
  let id = recordId
  for (let i = 0; i < MERGES_IN_A_ROW_MAX; i++) {
    const next = nextSurvivor(id, book.history(tenantId, id))
    if (next === undefined) break
    id = next
  }
  return id
}

/** The record that this one was merged into; undefined if it was not, or is separate again. */
function nextSurvivor(recordId: string, history: readonly Version[]): string | undefined {
  if (currentOf(history) !== undefined) return undefined
  const closed = history.at(-1)?.closed
  return closed === undefined ? undefined : absorberOf(recordId, closed.changeId)
}

function merge(change: Change, pair: Pair, book: Book): void {
  const { winner, absorbed, matchedBy } = pair
  const { tenantId, actor } = change
  const history = book.history(tenantId, winner)
  const [current, base] = [currentOf(history), baseOf(history)]
  const other = currentOf(book.history(tenantId, absorbed))
  if (current === undefined || base === undefined || other === undefined) return
  const by = { changeId: mergeId(winner, absorbed), actor }
  const atMs = book.instantAfter(current, other)
  book.close(tenantId, absorbed, atMs, 'merge', by)
  const row = replaceBelowDecisions(winner, mergedRow(base, other, pair, atMs), current, 'merge', by, book)
  book.applied.push({ change, row, absorbed: { id: absorbed, matchedBy } })
}

/**
 * Replaces what a record's decisions of people rest on: undoing a decision later restores the latest version without
 * one. So where there are decisions, that version comes first, for a millisecond, and compaction leaves it.
 *
 * @returns the valid version
 */
function replaceBelowDecisions(
  recordId: string,
  base: AttributionRow,
  current: AttributionRow,
  kind: 'merge' | 'undo_merge',
  by: { readonly changeId: string; readonly actor: string },
  book: Book,
): AttributionRow {
  book.replace(recordId, base, kind, by)
  if (!isOverridden(current) && !isDisputed(current)) return base
  const row = decidedRow(base, decidedOf(current), base.validFromMs + 1)
  book.replace(recordId, row, kind, { ...by, changeId: `${by.changeId}${KEPT}` })
  return row
}

/** Gives each event of a merged record its own record again, unless one of them is no longer stored. */
export function separateMerged(change: Change, book: Book): void {
  const { id: changeId, tenantId, recordId, actor } = change
  const history = book.history(tenantId, recordId)
  const current = currentOf(history)
  if (current === undefined || !isMerged(current)) return
  const others = seenByOf(current).also.map(({ id }) => id)
  const all = [recordId, ...others]
  const parts = all.map((id) => ({ id, ...partsOf(book.history(tenantId, id)) }))
  const atMs = book.instantAfter(current, ...parts.flatMap(({ present }) => present ?? []))
  for (const { id, own, present } of parts) {
    if (own === undefined || present === undefined) return
    if (id !== recordId && currentOf(book.history(tenantId, id)) !== undefined) return
  }
  for (const { id, own, present } of parts) {
    if (own === undefined || present === undefined) continue
    const row = separateRow(own, present, all, atMs)
    const by = { changeId, actor }
    if (id === recordId) {
      book.applied.push({ change, row: replaceBelowDecisions(id, row, current, 'undo_merge', by, book) })
      continue
    }
    book.open(id, row)
    book.applied.push({ change, row })
  }
}

/** The latest version that counts no other event, and the latest one, both without a person's decision. */
function partsOf(history: readonly Version[]) {
  const undecided = history.filter(({ row }) => !isOverridden(row) && !isDisputed(row))
  return {
    own: undecided.findLast(({ row }) => !isMerged(row))?.row,
    present: undecided.at(-1)?.row,
  }
}

/** Further records whose versions a change needs, as far as the known versions name them; hex ids. */
export function namedRecords({ recordId, decision }: Change, historyOf: (id: string) => readonly Version[]): string[] {
  if (decision.kind === 'undo_merge') {
    const current = currentOf(historyOf(recordId))
    return current === undefined ? [] : seenByOf(current).also.map(({ id }) => id)
  }
  if (decision.kind !== 'same_call') return []
  return decision.members.flatMap((member) => {
    const chain: string[] = []
    for (let id: string | undefined = nextSurvivor(member, historyOf(member)); id !== undefined; ) {
      if (chain.includes(id) || chain.length === MERGES_IN_A_ROW_MAX) break
      chain.push(id)
      id = nextSurvivor(id, historyOf(id))
    }
    return chain
  })
}
