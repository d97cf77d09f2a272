import { CHANGES, CHANGES_OF_ALL } from '../../../streams/changes.js'
import { quarantineSubject } from '../../../streams/quarantine.js'
import { CHANGES_CHECKPOINT } from '../../../streams/records.js'
import type { AuditEntry } from '../../auth/audit-entry.js'
import type { Extent, Progress } from '../../broker/checkpoint.js'
import type { LogEntry, StoredEntry } from '../../broker/log.js'
import type { PlannedLog, PreparedBatch } from '../../broker/planned-log.js'
import type { GroupPublisher } from '../../broker/publisher.js'
import { type Poison, poisonReason, quarantine } from '../../broker/quarantine.js'
import type { NewEvent } from '../../events/event.js'
import { formatId } from '../../ids/ids.js'
import type { Place } from '../../store/queries/records/slices.js'
import type { EventWindow, Version } from '../../store/queries/records/versions.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { type ClosedRow, MERGES_IN_A_ROW_MAX } from '../../store/tables/closed.js'
import type { Logger } from '../../telemetry/log.js'
import {
  type AnnounceDeps,
  announcer,
  attributionEvent,
  materializedEvent,
  mergedEvent,
} from '../records/record-event.js'
import { SAME_CALL_MS } from '../sightings/seen-by.js'
import type { LedgerEntries } from './book.js'
import { type Change, decodeChange } from './change.js'
import { applyChanges } from './ledger.js'
import { namedRecords } from './merges.js'
import { decodeSlice, isSliceMessage, type SliceMessage } from './reattribution-job.js'
import { prepareSlice, type SliceDeps } from './slice.js'

/** Progress of the reader; the value of `changes` in the bucket `checkpoints`. */
export interface ChangesProgress extends Progress {
  readonly plan?: ChangesPlan
}

export interface ChangesPlan extends Extent {
  /** For a slice of a job: its end; null at the end of the job. */
  readonly until?: Place | null
}

export interface ChangesActorDeps extends AnnounceDeps, GroupPublisher {
  /** All versions of records before an instant, oldest first. @param ids hex @param within the times of their events */
  readonly versionsBefore: (
    tenantId: string,
    ids: readonly string[],
    beforeMs: number,
    within: EventWindow | undefined,
  ) => Promise<readonly Version[]>
  /** Both are idempotent by token. */
  readonly insert: (rows: readonly AttributionRow[], token: string) => Promise<void>
  readonly close: (rows: readonly ClosedRow[], token: string) => Promise<void>
  /** Whether the tenant has a subscriber to merges. Only then are events published: there may be one per call. */
  readonly subscribesToMerges: (tenantId: string) => boolean
  /** Appends an entry to the audit log; idempotent by id, for as long as a batch may be repeated. */
  readonly audit: (entry: AuditEntry, id: string) => Promise<void>
  readonly slices: Omit<SliceDeps, 'insert' | 'close' | 'announce'>
  readonly log: Logger
}

/** The event of each kind of change; undefined: only the new attribution is announced. */
const EVENT_OF = {
  override: 'attribution.override.applied',
  dispute: 'attribution.disputed',
  undo_override: undefined,
  undo_dispute: undefined,
  correction: undefined,
  same_call: undefined,
  undo_merge: undefined,
  promised: undefined,
} as const satisfies Record<Change['decision']['kind'], string | undefined>

/**
 * Applies changes of records, each exactly once: inserts the new version, closes the previous one (which reverses it in
 * the rollups) and publishes the events. Versions are read as of before the batch, so that a repeated batch gives the
 * same result. A slice of a reattribution job is a batch of its own.
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
      if (slice !== undefined) return preparedSliceBatch(slice, extent, planned, deps)
      const { changes, poison } = decodeChanges(entries)
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
          for (const { id, reason } of poison) deps.log.error({ id, reason }, 'quarantined an undecodable change')
          await quarantine(deps, quarantineSubject('changes'), poison)
          await deps.insert(rows, tokenOf(extent))
          await deps.close(closed, tokenOf(extent))
          await deps.publishEvents(applied.flatMap((each) => eventsOf(each, deps)))
          for (const promise of broken) await deps.audit(refusalOf(promise, extent.atMs), `${promise.id}.refused`)
        },
      }
    },
  }
}

function eventsOf({ change, row, absorbed }: LedgerEntries['applied'][number], deps: ChangesActorDeps): NewEvent[] {
  const type = EVENT_OF[change.decision.kind]
  const events: NewEvent[] = []
  if (type !== undefined) events.push(attributionEvent(type, row, change.id))
  else if (deps.subscribesToRecords(row.tenantId)) events.push(materializedEvent(row))
  if (absorbed !== undefined && deps.subscribesToMerges(row.tenantId)) {
    events.push(mergedEvent(row, absorbed.id, absorbed.matchedBy))
  }
  return events
}

/** The request was answered with 202 and audited as succeeded; only now is it known to be refused. */
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

/** An undecodable slice message is poison like any other message. */
function sliceIn([entry]: readonly LogEntry[]): SliceMessage | undefined {
  if (entry === undefined || !isSliceMessage(entry.messageId)) return undefined
  try {
    return decodeSlice(entry.data)
  } catch {
    return undefined
  }
}

async function preparedSliceBatch(
  slice: SliceMessage,
  extent: Extent,
  planned: ChangesPlan | undefined,
  deps: ChangesActorDeps,
): Promise<PreparedBatch<ChangesProgress>> {
  const { insert, close } = deps
  const sliceDeps = { ...deps.slices, insert, close, announce: announcer(deps) }
  const prepared = await prepareSlice(slice, extent.atMs, planned?.until, sliceDeps)
  return {
    plan: planned ?? { ...extent, until: prepared.until },
    after: { done: extent.last },
    size: prepared.size,
    inserts: prepared.size > 0,
    applyEffects: () => prepared.applyEffects(tokenOf(extent)),
  }
}

function decodeChanges(entries: readonly StoredEntry[]) {
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

/** @returns versions by tenant and hex id of the record */
async function readVersions(
  changes: readonly Change[],
  beforeMs: number,
  deps: ChangesActorDeps,
): Promise<ReadonlyMap<string, Version[]>> {
  const changesOf = new Map<string, Change[]>()
  for (const change of changes) changesOf.set(change.tenantId, [...(changesOf.get(change.tenantId) ?? []), change])
  const versions = new Map<string, Version[]>()
  for (const [tenantId, ofTenant] of changesOf) await readVersionsOf(tenantId, ofTenant, beforeMs, versions, deps)
  return versions
}

/** Rounds of reading records that the versions just read name: a chain of merges, and what they have taken in. */
const ROUNDS_MAX = MERGES_IN_A_ROW_MAX + 1

async function readVersionsOf(
  tenantId: string,
  changes: readonly Change[],
  beforeMs: number,
  versions: Map<string, Version[]>,
  { versionsBefore }: ChangesActorDeps,
): Promise<void> {
  const historyOf = (id: string): readonly Version[] => versions.get(`${tenantId} ${id}`) ?? []
  const read = new Set<string>()
  let wanted = new Set(changes.flatMap(({ recordId, decision }) => [recordId, ...membersOf(decision)]))
  for (let round = 0; wanted.size > 0 && round < ROUNDS_MAX; round++) {
    for (const version of await versionsBefore(tenantId, [...wanted], beforeMs, windowOf(changes))) {
      const key = `${tenantId} ${Buffer.from(version.row.id).toString('hex')}`
      const known = versions.get(key)
      if (known === undefined) versions.set(key, [version])
      else known.push(version)
    }
    for (const id of wanted) read.add(id)
    wanted = new Set(changes.flatMap((change) => namedRecords(change, historyOf)).filter((id) => !read.has(id)))
  }
}

const membersOf = (decision: Change['decision']): readonly string[] =>
  decision.kind === 'same_call' ? decision.members : []

/** The times of all events that the changes are about; undefined if one of them does not say. */
function windowOf(changes: readonly Change[]): EventWindow | undefined {
  let [fromMs, toMs] = [Number.POSITIVE_INFINITY, 0]
  for (const { decision } of changes) {
    if (decision.kind !== 'same_call') return undefined
    fromMs = Math.min(fromMs, decision.fromMs)
    toMs = Math.max(toMs, decision.toMs)
  }
  // What was merged before may lie beyond them.
  const reachMs = MERGES_IN_A_ROW_MAX * SAME_CALL_MS
  return { fromMs: fromMs - reachMs, toMs: toMs + reachMs }
}
