import { createHash } from 'node:crypto'
import type { SeenTwiceQuestion, SharedId } from '../../store/queries/records/seen-twice.js'
import type { EventWindow } from '../../store/queries/records/versions.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { Logger } from '../../telemetry/log.js'
import { MEMBERS_MAX, SAME_CALL_MS } from './seen-by.js'

/** Records that may show one call. */
export interface SharedCall {
  /** Derived from the members. */
  readonly id: string
  readonly tenantId: string
  /** Hex ids, in order. */
  readonly members: readonly string[]
  /** The times of their events lie within. */
  readonly fromMs: number
  readonly toMs: number
}

export interface SeenTwiceDeps {
  /** Whether the tenant wants events of one call to become one record. */
  readonly isWanted: (tenantId: string) => boolean
  readonly capacity: Pick<MergeCapacity, 'refresh' | 'has'>
  readonly find: (question: SeenTwiceQuestion, membersMax: number) => Promise<readonly (readonly SharedId[])[]>
  /** Has the records compared; safe to repeat. */
  readonly compare: (calls: readonly SharedCall[]) => Promise<void>
}

/**
 * Looks for records that may show the calls that were just inserted. Called after the insert and before the batch is
 * done: of two records that are inserted at once, in whichever partitions, the later one finds the other, and a batch
 * that a crash cut short looks again when it is repeated.
 */
export type FindSameCalls = (rows: readonly AttributionRow[]) => Promise<void>

export const sameCallFinder =
  ({ isWanted, capacity, find, compare }: SeenTwiceDeps): FindSameCalls =>
  async (rows) => {
    const found = identified(rows, isWanted)
    if (found.size > 0) await capacity.refresh()
    for (const [tenantId, ofTenant] of found) {
      if (!capacity.has(tenantId)) continue
      const { validFromMs } = ofTenant[0] as AttributionRow
      const hasInstrumented = ofTenant.some(({ instrumentation }) => instrumentation !== '')
      const windows = windowsAround(ofTenant)
      for (let from = 0; from < windows.length; from += WINDOWS_AT_ONCE) {
        const some = windows.slice(from, from + WINDOWS_AT_ONCE)
        const question = { tenantId, validFromMs, windows: some, inserted: some.map(within), hasInstrumented }
        await compare(sharedCalls(tenantId, await find(question, MEMBERS_MAX)))
      }
    }
  }

/** The rows with an id of their call, by tenant: of most batches, none. */
function identified(
  rows: readonly AttributionRow[],
  isWanted: (tenantId: string) => boolean,
): ReadonlyMap<string, readonly AttributionRow[]> {
  const found = new Map<string, AttributionRow[]>()
  for (const row of rows) {
    if ((row.responseId === '' && row.spanId === '' && row.requestId === '') || !isWanted(row.tenantId)) continue
    const known = found.get(row.tenantId)
    if (known === undefined) found.set(row.tenantId, [row])
    else known.push(row)
  }
  return found
}

/** The same records may have several things in common: they are compared once. */
function sharedCalls(tenantId: string, groups: readonly (readonly SharedId[])[]): SharedCall[] {
  const calls = new Map<string, SharedCall>()
  for (const group of groups) {
    const members = [...new Set(group.map(({ id }) => id))].sort()
    if (members.length < 2) continue
    const times = group.map(({ eventTimeMs }) => eventTimeMs)
    const id = createHash('sha256').update(members.join()).digest('hex').slice(0, 32)
    calls.set(id, { id, tenantId, members, fromMs: Math.min(...times), toMs: Math.max(...times) })
  }
  return [...calls.values()]
}

/** Windows of one query: live events are in one, those of a backfill may be in as many as they are. */
const WINDOWS_AT_ONCE = 16

/** Where events of the same calls may lie, without overlaps. */
export function windowsAround(rows: readonly Pick<AttributionRow, 'eventTimeMs'>[]): EventWindow[] {
  const windows: { fromMs: number; toMs: number }[] = []
  for (const eventTimeMs of rows.map((row) => row.eventTimeMs).sort((one, other) => one - other)) {
    const last = windows.at(-1)
    if (last !== undefined && eventTimeMs - SAME_CALL_MS <= last.toMs) last.toMs = eventTimeMs + SAME_CALL_MS
    else windows.push({ fromMs: eventTimeMs - SAME_CALL_MS, toMs: eventTimeMs + SAME_CALL_MS })
  }
  return windows
}

/** The events of a window, from the first to the last. */
const within = ({ fromMs, toMs }: EventWindow): EventWindow => ({
  fromMs: fromMs + SAME_CALL_MS,
  toMs: toMs - SAME_CALL_MS,
})

export interface MergeCapacityDeps {
  /** The tenants that have as many closed versions as reads can leave out. */
  readonly fullTenants: () => Promise<ReadonlySet<string>>
  readonly clock: () => number
  readonly log: Pick<Logger, 'warn'>
}

/**
 * Closed versions of a tenant up to which its calls are merged. A merge closes two, which stay for six hours; every
 * read leaves out the closed versions, at a quarter of a second per million.
 */
export const CLOSED_MAX = 1_000_000
const REFRESH_EVERY_MS = 60_000

/** Whether a tenant's calls can still be merged; the answer is up to a minute old. */
export class MergeCapacity {
  private readonly deps: MergeCapacityDeps
  private full: ReadonlySet<string> = new Set()
  private refreshedAtMs = Number.NEGATIVE_INFINITY

  constructor(deps: MergeCapacityDeps) {
    this.deps = deps
  }

  /** @throws when the store is unavailable */
  async refresh(): Promise<void> {
    const { clock, fullTenants, log } = this.deps
    if (clock() - this.refreshedAtMs < REFRESH_EVERY_MS) return
    this.refreshedAtMs = clock()
    const before = this.full
    this.full = await fullTenants()
    for (const tenantId of this.full) {
      if (before.has(tenantId)) continue
      log.warn({ tenantId, closed: CLOSED_MAX }, 'calls that are seen twice are not merged: too many closed versions')
    }
  }

  has(tenantId: string): boolean {
    return !this.full.has(tenantId)
  }
}
