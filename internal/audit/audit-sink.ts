import { randomUUID } from 'node:crypto'
import { auditSubject } from '../../streams/audit.js'
import type { AuditEntry, AuditSink } from '../auth/audit-entry.js'
import { KeyedBudgets } from '../auth/keyed-budgets.js'
import { type Publisher, publishOrThrow } from '../broker/publisher.js'
import type { Logger } from '../telemetry/log.js'
import { encodeEntry } from './audit-codec.js'
import type { RepeatedEntry } from './chain.js'

export interface AuditSinkDeps {
  readonly publish: Publisher['publish']
  readonly clock: () => number
  readonly log: Logger
}

export interface RunningAuditSink extends AuditSink {
  /** Records the counted refusals that are not recorded yet. */
  close(): Promise<void>
}

/**
 * Records entries of jobs that perform earlier requests: each once per id, within the stream's deduplication window.
 */
export const auditOnce =
  (publish: Publisher['publish']) =>
  (entry: AuditEntry, id: string): Promise<void> =>
    publishOrThrow(publish, auditSubject(entry.tenantId), encodeEntry({ ...entry, repeats: 1 }), id)

/** How often counted refusals are recorded. */
const RELEASE_EVERY_MS = 10_000
const ATTEMPTS_MAX = 2

/**
 * Publishes entries to the stream AUDIT, from which they are written to the audit log. An entry is durable once the
 * broker has acknowledged it; without an acknowledgement in 2 s it is published once more under the same id.
 *
 * Refusals are limited in rate (`RefusalLimit`): those beyond it are counted and recorded together later, once the broker
 * takes them.
 */
export function createAuditSink({ publish, clock, log }: AuditSinkDeps): RunningAuditSink {
  const refusals = new RefusalLimit()

  const store = async (entry: RepeatedEntry, id: string): Promise<void> => {
    const [subject, payload] = [auditSubject(entry.tenantId), encodeEntry(entry)]
    for (let attempt = 1; ; attempt++) {
      try {
        return await publishOrThrow(publish, subject, payload, id)
      } catch (cause) {
        if (attempt === ATTEMPTS_MAX) throw cause
      }
    }
  }
  /** Counted refusals that the stream does not have yet, by message id: a repeat is stored once. */
  const released = new Map<string, RepeatedEntry>()
  const release = async (all: boolean): Promise<void> => {
    // Otherwise more are counted, where their number is limited.
    if (all || released.size === 0) {
      for (const entry of refusals.release(clock(), all)) released.set(randomUUID(), entry)
    }
    for (const [id, entry] of released) {
      try {
        await store(entry, id)
        released.delete(id)
      } catch (cause) {
        const repeats = [...released.values()].reduce((sum, each) => sum + each.repeats, 0)
        log.error(
          { err: cause, repeats },
          all ? 'refusals lost: not recorded' : 'refusals not recorded yet; will retry',
        )
        return
      }
    }
  }
  let releasing: Promise<void> | undefined
  const releaseSome = (): void => {
    releasing ??= release(false).finally(() => {
      releasing = undefined
    })
  }
  const timer = setInterval(releaseSome, RELEASE_EVERY_MS)
  timer.unref()

  return {
    async record(entry) {
      if (entry.outcome === 'refused' && !refusals.take(entry, clock())) return
      await store({ ...entry, repeats: 1 }, randomUUID())
    },

    async close() {
      clearInterval(timer)
      await releasing
      await release(true)
    },
  }
}

/** Refusals of one caller and action that are recorded individually. */
const SAME = { perSecond: 0.1, burst: 20 }
/** Refusals of a whole tenant, so that changing callers or addresses cannot fill a log either. */
const OF_TENANT = { perSecond: 1, burst: 200 }
/** Combinations of caller and action with a budget of their own. */
const NAMES_MAX = 10_000
/** Combinations with unrecorded refusals; beyond that, those of a tenant are counted together. */
const HELD_MAX = 1_000

/**
 * Limits the rate at which refusals are recorded, and counts the others: those become one entry, the last of them, with
 * their number. So no flood fills a log or hides another flood.
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
    const key = this.held.has(name) || this.held.size < HELD_MAX ? name : String(entry.tenantId)
    this.held.set(key, { ...entry, repeats: (this.held.get(key)?.repeats ?? 0) + 1 })
    return false
  }

  /** The counted refusals that may be recorded now; with `all`, every counted one. */
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

/** A caller without authentication is identified by its address. */
const nameOf = ({ tenantId, actor, sourceAddress, action }: AuditEntry): string =>
  `${tenantId} ${actor ?? sourceAddress} ${action}`
