import type { AuditEntry } from '../auth/audit-entry.js'
import { KeyedBudgets } from '../auth/keyed-budgets.js'
import type { RepeatedEntry } from './chain.js'

/** Refusals of one caller and action that are recorded one by one, and how fast they may go on. */
const SAME = { perSecond: 0.1, burst: 20 }
/** The same of all refusals of a tenant, so that changing callers or addresses cannot fill a log either. */
const OF_TENANT = { perSecond: 1, burst: 200 }
/** Callers and actions that are told apart at most. */
const NAMES_MAX = 10_000
/** Of those, ones with refusals that are not recorded yet; the rest of a tenant's is counted together. */
const HELD_MAX = 1_000

/**
 * Lets through as many refusals as a log is to take, and counts the others: these go as one entry, the last of them,
 * with how many it stands for. So no flood fills a log, and none is hidden by another.
 */
export class RefusalLimit {
  private readonly same = new KeyedBudgets(SAME, NAMES_MAX)
  private readonly ofTenant = new KeyedBudgets(OF_TENANT, NAMES_MAX)
  private readonly held = new Map<string, RepeatedEntry>()

  /** @returns whether the entry is to be recorded now; otherwise it is counted */
  take(entry: AuditEntry, nowMs: number): boolean {
    const name = nameOf(entry)
    const own = this.same.of(name, nowMs)
    if (own.remaining(nowMs) > 0 && this.takeOfTenant(entry, nowMs)) return own.take(1, nowMs) === 0
    const place = this.held.has(name) || this.held.size < HELD_MAX ? name : String(entry.tenantId)
    this.held.set(place, { ...entry, repeats: (this.held.get(place)?.repeats ?? 0) + 1 })
    return false
  }

  /** What was counted and may be recorded now; with `all` whatever was counted. */
  release(nowMs: number, all = false): RepeatedEntry[] {
    const released: RepeatedEntry[] = []
    for (const [name, entry] of this.held) {
      if (!all && !this.takeOfTenant(entry, nowMs)) continue
      this.held.delete(name)
      released.push(entry)
    }
    return released
  }

  private takeOfTenant({ tenantId }: AuditEntry, nowMs: number): boolean {
    return this.ofTenant.of(String(tenantId), nowMs).take(1, nowMs) === 0
  }
}

/** Who is not authenticated is told by the address. */
const nameOf = ({ tenantId, actor, sourceAddress, action }: AuditEntry): string =>
  `${tenantId} ${actor ?? sourceAddress} ${action}`
