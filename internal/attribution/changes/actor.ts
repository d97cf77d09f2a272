import { CHANGES, CHANGES_OF_ALL } from '../../../streams/changes.js'
import { quarantineSubject } from '../../../streams/quarantine.js'
import { CHANGES_CHECKPOINT } from '../../../streams/records.js'
import type { AuditEntry } from '../../auth/audit-entry.js'
import type { Extent, Progress } from '../../broker/checkpoint.js'
import type { LogEntry, StoredEntry } from '../../broker/log.js'
import type { PlannedLog, PreparedBatch } from '../../broker/planned-log.js'
import type { Publisher } from '../../broker/publisher.js'
import { type Poison, poisonReason, quarantine } from '../../broker/quarantine.js'
import type { PublishEvent } from '../../events/publish.js'
import { formatId } from '../../ids/ids.js'
import type { Place } from '../../store/queries/records/slices.js'
import type { Version } from '../../store/queries/records/versions.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { ClosedRow } from '../../store/tables/closed.js'
import type { Logger } from '../../telemetry/log.js'
import type { Announce } from '../records/announce.js'
import { attributionEvent } from '../records/event.js'
import { type Change, decodeChange } from './change.js'
import { decodeSlice, isSliceMessage, type SliceMessage } from './job.js'
import { applyChanges, type LedgerEntries } from './ledger.js'
import { prepareSlice, type SliceDeps } from './slice.js'

/** How far the reader has come; the value of `changes` in the bucket `checkpoints`. */
export interface ChangesProgress extends Progress {
  readonly plan?: ChangesPlan
}

export interface ChangesPlan extends Extent {
  /** Of a slice of a job: where it ends; null where the job does. */
  readonly until?: Place | null
}

export interface ChangesActorDeps {
  readonly publish: Publisher['publish']
  readonly publishEvent: PublishEvent
  /** All versions of records before an instant, the oldest first. @param ids hex */
  readonly versionsBefore: (tenantId: string, ids: readonly string[], beforeMs: number) => Promise<readonly Version[]>
  /** Each keeps rows once for a token. */
  readonly insert: (rows: readonly AttributionRow[], token: string) => Promise<void>
  readonly close: (rows: readonly ClosedRow[], token: string) => Promise<void>
  readonly announce: Announce
  /** Takes an entry of the audit log once under its id, for as long as a batch is likely to be repeated. */
  readonly audit: (entry: AuditEntry, id: string) => Promise<void>
  readonly slices: Omit<SliceDeps, 'insert' | 'close' | 'announce'>
  readonly log: Logger
}

/** What is told of a decision; of the others, that there is another attribution. */
const EVENT_OF = {
  override: 'attribution.override.applied',
  dispute: 'attribution.disputed',
  undo_override: undefined,
  undo_dispute: undefined,
  correction: undefined,
  promised: undefined,
} as const satisfies Record<Change['decision']['kind'], string | undefined>

/**
 * Carries out changes of records: the new version, the end of the one before (and with it its reversal in the rollups),
 * and what is told of it, each once. Versions are read as they were before the batch, so that a batch that is formed
 * again comes to the same. A slice of a window that is attributed again is a batch of its own.
 */
export function changesActor(deps: ChangesActorDeps): PlannedLog<ChangesProgress> {
  return {
    key: CHANGES_CHECKPOINT,
    stream: CHANGES.name,
    subject: CHANGES_OF_ALL,
    initial: { done: 0 },
    cut(entries) {
      const at = entries.findIndex(({ messageId }) => isSliceMessage(messageId))
      return at < 0 ? entries.length : Math.max(1, at)
    },
    open: async () => async (entries, extent, _before, planned) => {
      const slice = sliceIn(entries)
      if (slice !== undefined) return preparedSlice(slice, extent, planned, deps)
      const { changes, poison } = decoded(entries)
      const versions = await readVersions(changes, extent.atMs, deps)
      const { rows, closed, applied, broken } = applyChanges(
        changes,
        (tenantId, recordId) => versions.get(`${tenantId} ${recordId}`) ?? [],
        extent.atMs,
      )
      return {
        plan: planned ?? extent,
        after: { done: extent.last },
        size: changes.length,
        inserts: rows.length > 0,
        async applyEffects() {
          for (const { id, reason } of poison)
            deps.log.error({ id, reason }, 'quarantined a change that cannot be read')
          await quarantine(deps.publish, quarantineSubject('changes'), poison)
          await deps.insert(rows, tokenOf(extent))
          await deps.close(closed, tokenOf(extent))
          for (const { change, row } of applied) {
            const type = EVENT_OF[change.decision.kind]
            if (type === undefined) await deps.announce([row])
            else await deps.publishEvent(attributionEvent(type, row, change.id))
          }
          for (const promise of broken) await deps.audit(refusalOf(promise, extent.atMs), `${promise.id}.refused`)
        },
      }
    },
  }
}

/** The request was answered with a 202 and entered as succeeded; what became of it is known only now. */
const refusalOf = (
  { tenantId, recordId, actor, decision: { decided, traceId } }: LedgerEntries['broken'][number],
  at: number,
): AuditEntry => ({
  tenantId,
  actor,
  action: `attribution.${decided}`,
  target: formatId('attr', Buffer.from(recordId, 'hex')),
  outcome: 'refused',
  errorCode: 'CONFLICT',
  traceId,
  at,
})

const tokenOf = ({ first, last }: Extent): string => `changes.${first}-${last}`

/** One that cannot be read is poison like any other message. */
function sliceIn([entry]: readonly LogEntry[]): SliceMessage | undefined {
  if (entry === undefined || !isSliceMessage(entry.messageId)) return undefined
  try {
    return decodeSlice(entry.data)
  } catch {
    return undefined
  }
}

async function preparedSlice(
  slice: SliceMessage,
  extent: Extent,
  planned: ChangesPlan | undefined,
  deps: ChangesActorDeps,
): Promise<PreparedBatch<ChangesProgress>> {
  const { insert, close, announce } = deps
  const prepared = await prepareSlice(slice, extent.atMs, planned?.until, { ...deps.slices, insert, close, announce })
  return {
    plan: planned ?? { ...extent, until: prepared.until },
    after: { done: extent.last },
    size: prepared.size,
    inserts: prepared.size > 0,
    applyEffects: () => prepared.carryOut(tokenOf(extent)),
  }
}

function decoded(entries: readonly StoredEntry[]) {
  const changes: Change[] = []
  const poison: Poison[] = []
  for (const { sequence, subject: log, messageId, data } of entries) {
    try {
      changes.push(decodeChange(data))
    } catch (cause) {
      const reason = poisonReason('unreadable_message', cause)
      poison.push({ id: `changes.${sequence}`, data, reason, log, messageId })
    }
  }
  return { changes, poison }
}

/** By tenant and hex of the record. */
async function readVersions(
  changes: readonly Change[],
  beforeMs: number,
  { versionsBefore }: ChangesActorDeps,
): Promise<ReadonlyMap<string, Version[]>> {
  const idsOf = new Map<string, Set<string>>()
  for (const { tenantId, recordId } of changes) {
    const ids = idsOf.get(tenantId) ?? new Set()
    idsOf.set(tenantId, ids.add(recordId))
  }
  const versions = new Map<string, Version[]>()
  for (const [tenantId, ids] of idsOf) {
    for (const version of await versionsBefore(tenantId, [...ids], beforeMs)) {
      const key = `${tenantId} ${Buffer.from(version.row.id).toString('hex')}`
      const known = versions.get(key)
      if (known === undefined) versions.set(key, [version])
      else known.push(version)
    }
  }
  return versions
}
