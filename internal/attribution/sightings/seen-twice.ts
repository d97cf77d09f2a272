import { createHash } from 'node:crypto'
import type { SeenTwiceQuestion, SharedBy, SharedId } from '../../store/queries/records/seen-twice.js'
import type { EventWindow } from '../../store/queries/records/versions.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { Logger } from '../../telemetry/log.js'
import { type CallKey, callKeys, MEMBERS_MAX, SAME_CALL_MS } from './seen-by.js'

/** Records that share an id of a call, from at least two sources. */
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
 * Looks for other sources' records of the calls that were just inserted. Called after the insert and before the batch
 * is done: of two records that are inserted at once, in whichever partitions, the later one finds the other, and a
 * batch that a crash cut short looks again when it is repeated.
 */
export type FindSameCalls = (rows: readonly AttributionRow[]) => Promise<void>

export const sameCallFinder =
  ({ isWanted, capacity, find, compare }: SeenTwiceDeps): FindSameCalls =>
  async (rows) => {
    const found = lookups(rows, isWanted)
    if (found.length > 0) await capacity.refresh()
    for (const [by, ofTenant] of found) {
      const [first] = ofTenant as readonly [AttributionRow]
      const { tenantId, validFromMs } = first
      if (!capacity.has(tenantId)) continue
      const windows = windowsAround(ofTenant)
      for (let from = 0; from < windows.length; from += WINDOWS_AT_ONCE) {
        const some = windows.slice(from, from + WINDOWS_AT_ONCE)
        const groups = await find({ tenantId, by, validFromMs, windows: some }, MEMBERS_MAX)
        await compare(groups.flatMap((group) => sharedCalls(tenantId, by, group)))
      }
    }
  }

/** The rows with an id of a call, by tenant and kind of id: of most batches, none. */
function lookups(
  rows: readonly AttributionRow[],
  isWanted: (tenantId: string) => boolean,
): (readonly [SharedBy, readonly AttributionRow[]])[] {
  const found = new Map<string, [SharedBy, AttributionRow[]]>()
  for (const row of rows) {
    if ((row.responseId === '' && row.spanId === '') || !isWanted(row.tenantId)) continue
    for (const { by } of callKeys(row)) {
      const name = `${by} ${row.tenantId}`
      const known = found.get(name)
      if (known === undefined) found.set(name, [by, [row]])
      else known[1].push(row)
    }
  }
  return [...found.values()]
}

/** A response id counts within its provider only. */
function sharedCalls(tenantId: string, by: SharedBy, group: readonly SharedId[]): SharedCall[] {
  const byKey = new Map<string, SharedId[]>()
  for (const member of group) {
    const key = by === 'response_id' ? responseKey(member)?.text : ''
    if (key !== undefined) byKey.set(key, [...(byKey.get(key) ?? []), member])
  }
  return [...byKey.values()]
    .filter(({ length }) => length > 1)
    .map((members) => {
      const ids = members.map(({ id }) => id).sort()
      const times = members.map(({ eventTimeMs }) => eventTimeMs)
      const id = createHash('sha256').update(ids.join()).digest('hex').slice(0, 32)
      return { id, tenantId, members: ids, fromMs: Math.min(...times), toMs: Math.max(...times) }
    })
}

/** The members of a group have the same response id, whatever it is. */
const responseKey = ({ provider }: SharedId): CallKey | undefined =>
  callKeys({ provider, responseId: 'same', traceId: '', spanId: '' })[0]

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
