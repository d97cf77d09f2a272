import { randomUUID } from 'node:crypto'
import { auditSubject } from '../../streams/audit.js'
import type { AuditEntry, AuditSink } from '../auth/audit-entry.js'
import { type Publisher, publishOrThrow } from '../broker/publisher.js'
import type { Logger } from '../telemetry/log.js'
import { encodeEntry } from './audit-codec.js'
import type { RepeatedEntry } from './chain.js'
import { RefusalLimit } from './refusals.js'

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
 * Refusals are limited in rate (`RefusalLimit`): those beyond it are counted and recorded together later.
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
        log.error({ err: cause, tenantId, action, repeats }, 'could not record refusals')
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
