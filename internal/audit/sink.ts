import { randomUUID } from 'node:crypto'
import { auditSubject } from '../../streams/audit.js'
import type { AuditEntry, AuditSink } from '../auth/audit-entry.js'
import { type Publisher, publishOrThrow } from '../broker/publisher.js'
import type { Logger } from '../telemetry/log.js'
import type { RepeatedEntry } from './chain.js'
import { encodeEntry } from './codec.js'
import { RefusalLimit } from './refusals.js'

export interface AuditSinkDeps {
  readonly publish: Publisher['publish']
  readonly clock: () => number
  readonly log: Logger
}

export interface RunningAuditSink extends AuditSink {
  /** Records what was counted and not recorded yet. */
  close(): Promise<void>
}

/**
 * Takes single entries of who carries out what was asked for earlier: each once under its id, for as long as the stream
 * knows it.
 */
export const auditOnce =
  (publish: Publisher['publish']) =>
  (entry: AuditEntry, id: string): Promise<void> =>
    publishOrThrow(publish, auditSubject(entry.tenantId), encodeEntry({ ...entry, repeats: 1 }), id)

/** How often refusals that were only counted are recorded. */
const RELEASE_EVERY_MS = 10_000
const ATTEMPTS_MAX = 2

/**
 * Takes entries into the stream AUDIT, from where they come into the audit log. An entry is durable once the broker has
 * acknowledged it; one that was not acknowledged in 2 s is published once more under the same id.
 *
 * Refusals are limited in rate (`RefusalLimit`): those that come faster are counted and recorded together later.
 */
export function createAuditSink({ publish, clock, log }: AuditSinkDeps): RunningAuditSink {
  const refusals = new RefusalLimit()

  const store = async (entry: RepeatedEntry): Promise<void> => {
    const [subject, payload, id] = [auditSubject(entry.tenantId), encodeEntry(entry), randomUUID()]
    for (let attempt = 1; ; attempt++) {
      try {
        return await publishOrThrow(publish, subject, payload, id)
      } catch (cause) {
        if (attempt === ATTEMPTS_MAX) throw cause
      }
    }
  }
  const release = async (all: boolean): Promise<void> => {
    for (const entry of refusals.release(clock(), all)) {
      await store(entry).catch((cause: unknown) => {
        const { tenantId, action, repeats } = entry
        log.error({ err: cause, tenantId, action, repeats }, 'refusals were not recorded')
      })
    }
  }
  const timer = setInterval(() => void release(false), RELEASE_EVERY_MS)
  timer.unref()

  return {
    async record(entry) {
      if (entry.outcome === 'refused' && !refusals.take(entry, clock())) return
      await store({ ...entry, repeats: 1 })
    },

    async close() {
      clearInterval(timer)
      await release(true)
    },
  }
}
