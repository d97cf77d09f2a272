import { CHANGES, CHANGES_OF_ALL } from '../../../streams/changes.js'
import { quarantineSubject } from '../../../streams/quarantine.js'
import { CHANGES_CHECKPOINT } from '../../../streams/records.js'
import type { Progress } from '../../broker/checkpoint.js'
import type { LogEntry } from '../../broker/log.js'
import type { PlannedLog } from '../../broker/planned-log.js'
import type { Publisher } from '../../broker/publisher.js'
import { type Poison, poisonReason, quarantine } from '../../broker/quarantine.js'
import type { PublishEvent } from '../../events/publish.js'
import type { Version } from '../../store/queries/versions.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { ClosedRow } from '../../store/tables/closed.js'
import type { Logger } from '../../telemetry/log.js'
import { attributionEvent } from '../event.js'
import { type Change, decodeChange } from './change.js'
import { applyChanges } from './ledger.js'

export interface ChangesActorDeps {
  readonly publish: Publisher['publish']
  readonly publishEvent: PublishEvent
  /** All versions of records before an instant, the oldest first. @param ids hex */
  readonly versionsBefore: (tenantId: string, ids: readonly string[], beforeMs: number) => Promise<readonly Version[]>
  /** Each keeps rows once for a token. */
  readonly insert: (rows: readonly AttributionRow[], token: string) => Promise<void>
  readonly close: (rows: readonly ClosedRow[], token: string) => Promise<void>
  readonly log: Logger
}

/** What is told of a decision; of those that undo one, nothing. */
const EVENT_OF = {
  override: 'attribution.override.applied',
  dispute: 'attribution.disputed',
  undo_override: undefined,
  undo_dispute: undefined,
  correction: undefined,
} as const satisfies Record<Change['decision']['kind'], string | undefined>

/**
 * Carries out changes of records: the new version, the end of the one before (and with it its reversal in the rollups),
 * and what is told of it, each once. Versions are read as they were before the batch, so that a batch that is formed
 * again comes to the same.
 */
export function changesActor(deps: ChangesActorDeps): PlannedLog<Progress> {
  return {
    key: CHANGES_CHECKPOINT,
    stream: CHANGES.name,
    subject: CHANGES_OF_ALL,
    initial: { done: 0 },
    open: async () => async (entries, extent, _before, planned) => {
      const { changes, poison } = decoded(entries)
      const versions = await readVersions(changes, extent.atMs, deps)
      const { rows, closed, applied } = applyChanges(
        changes,
        (tenantId, recordId) => versions.get(`${tenantId} ${recordId}`) ?? [],
        extent.atMs,
      )
      const token = `changes.${extent.first}-${extent.last}`
      return {
        plan: planned ?? extent,
        after: { done: extent.last },
        size: changes.length,
        inserts: rows.length > 0,
        async carryOut() {
          for (const { id, reason } of poison)
            deps.log.error({ id, reason }, 'quarantined a change that cannot be read')
          await quarantine(deps.publish, quarantineSubject('changes'), poison)
          await deps.insert(rows, token)
          await deps.close(closed, token)
          for (const { change, row } of applied) {
            const type = EVENT_OF[change.decision.kind]
            if (type !== undefined) await deps.publishEvent(attributionEvent(type, row, change.id))
          }
        },
      }
    },
  }
}

function decoded(entries: readonly LogEntry[]) {
  const changes: Change[] = []
  const poison: Poison[] = []
  for (const { sequence, data } of entries) {
    try {
      changes.push(decodeChange(data))
    } catch (cause) {
      poison.push({ id: `changes.${sequence}`, data, reason: poisonReason('unreadable_message', cause) })
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
