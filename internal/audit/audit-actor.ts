import { randomBytes } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import { AUDIT, AUDIT_CHECKPOINT, AUDIT_OF_ALL, auditLogName, auditSubject } from '../../streams/audit.js'
import { AUDIT_DAYS, AUDIT_HEADS } from '../../streams/buckets.js'
import { REPLAY_WINDOW_MS } from '../../streams/invocations.js'
import { quarantineSubject } from '../../streams/quarantine.js'
import { HEAD_LOST } from '../auth/audit-entry.js'
import type { Extent, Progress } from '../broker/checkpoint.js'
import type { Broker } from '../broker/connect.js'
import type { StoredEntry } from '../broker/log.js'
import { logIdOf, type OwnedLog } from '../broker/owned-logs.js'
import type { PlannedLog } from '../broker/planned-log.js'
import { type GroupPublisher, publishOrThrow } from '../broker/publisher.js'
import { type Poison, poisonReason, quarantine } from '../broker/quarantine.js'
import { insertsOfLog } from '../store/log-sink.js'
import { lastAuditRecords } from '../store/queries/audit-log.js'
import { AUDIT_LOG, type AuditLogRow } from '../store/tables/audit-log.js'
import type { Logger } from '../telemetry/log.js'
import { decodeEntry, encodeEntry } from './audit-codec.js'
import { toRow } from './audit-rows.js'
import { type AuditRecord, CHAIN_START, type ChainHead, chained, type RepeatedEntry } from './chain.js'
import { type Heads, signedHeads } from './heads.js'

/** The writer's progress; the value of `audit` in the bucket `checkpoints`. */
export interface AuditProgress extends Progress {
  readonly plan?: AuditPlan
}

/** A batch is chained to the records that were last when it was planned, also when another process forms it again. */
export interface AuditPlan extends Extent {
  /** By the log's name. */
  readonly heads: Readonly<Record<string, ChainHead>>
}

export interface AuditActorDeps extends GroupPublisher {
  /** Inserts rows once per token. */
  readonly insert: (rows: readonly AuditLogRow[], token: string) => Promise<void>
  /** The last record of each of these tenants in the table. @param tenantIds empty text: the instance's */
  readonly lastOf: (
    tenantIds: readonly string[],
  ) => Promise<readonly Pick<AuditLogRow, 'tenantId' | 'sequence' | 'hash'>[]>
  readonly heads: Pick<Heads, 'read' | 'readDays' | 'keep'>
  readonly log: Logger
}

/**
 * Writes the audit logs: moves entries from the stream AUDIT to the read model, each once, chained by tenant, and signs
 * the new head of each log.
 */
export function auditActor(deps: AuditActorDeps): PlannedLog<AuditProgress> {
  return {
    key: AUDIT_CHECKPOINT,
    stream: AUDIT.name,
    subject: AUDIT_OF_ALL,
    initial: { done: 0 },
    async open() {
      const known = new Map<string, ChainHead>()
      return async (entries, extent, _before, planned) => {
        const { audited, poison } = decoded(entries)
        const tenantIds = [...new Set(audited.map(({ tenantId }) => tenantId))]
        if (planned === undefined) await learnHeads(tenantIds, known, extent.atMs, deps)
        const heads =
          planned?.heads ??
          Object.fromEntries(tenantIds.map(auditLogName).map((name) => [name, known.get(name) ?? CHAIN_START]))
        const records = chainedBy(heads, audited)
        const plan = planned ?? { ...extent, heads }
        return {
          plan,
          after: { done: extent.last },
          size: records.length,
          inserts: records.length > 0,
          async applyEffects() {
            for (const { id, reason } of poison) {
              deps.log.error({ id, reason }, 'quarantined an unreadable audit entry')
            }
            await quarantine(deps, quarantineSubject('audit'), poison)
            await deps.insert(records.map(toRow), `audit.${extent.first}-${extent.last}`)
            const last = new Map(records.map((record) => [auditLogName(record.tenant_id), record]))
            for (const [name, record] of last) {
              await deps.heads.keep(name, record, (heads[name] ?? CHAIN_START).sequence + 1, plan.atMs)
              known.set(name, { sequence: record.sequence, hash: record.hash })
            }
          },
        }
      }
    },
  }
}

function decoded(entries: readonly StoredEntry[]) {
  const audited: RepeatedEntry[] = []
  const poison: Poison[] = []
  for (const { sequence, subject: log, messageId, data } of entries) {
    try {
      audited.push(decodeEntry(data))
    } catch (cause) {
      const reason = poisonReason('unreadable_message', cause)
      poison.push({ id: `audit.${sequence}`, data, reason, log, messageId })
    }
  }
  return { audited, poison }
}

function chainedBy(heads: Readonly<Record<string, ChainHead>>, entries: readonly RepeatedEntry[]): AuditRecord[] {
  const last = new Map(Object.entries(heads))
  return entries.map((entry) => {
    const name = auditLogName(entry.tenantId)
    const record = chained(last.get(name) ?? CHAIN_START, entry)
    last.set(name, record)
    return record
  })
}

/**
 * Reads the heads of logs that this process has not written to yet. The signed head counts, even when the table ends at
 * another record: then records were removed or added, which the next ones reveal by a gap or a repeated sequence. A log
 * with records but without a valid signed head gets a record that says so before it is signed again.
 */
async function learnHeads(
  tenantIds: readonly (string | null)[],
  known: Map<string, ChainHead>,
  atMs: number,
  deps: AuditActorDeps,
): Promise<void> {
  const { lastOf, heads, log } = deps
  const unknown = tenantIds.filter((tenantId) => !known.has(auditLogName(tenantId)))
  if (unknown.length === 0) return
  const stored = new Map((await lastOf(unknown.map((id) => id ?? ''))).map((last) => [last.tenantId, last]))
  for (const tenantId of unknown) {
    const name = auditLogName(tenantId)
    const inTable: ChainHead = stored.get(tenantId ?? '') ?? CHAIN_START
    const signed = await heads.read(name)
    const head = signed.kind === 'signed' ? signed.head : await furthestOf(name, inTable, heads)
    if (signed.kind !== 'signed' && (signed.kind === 'forged' || head.sequence > 0)) {
      await recordLoss(tenantId, signed.kind, head, atMs, deps)
    }
    if (signed.kind === 'forged' || head.sequence !== inTable.sequence || head.hash !== inTable.hash) {
      const sequences = {
        signed: signed.kind === 'signed' ? signed.head.sequence : signed.kind,
        stored: inTable.sequence,
      }
      log.error({ audit_log: name, ...sequences }, 'audit log does not end at its signed head; run audit verify')
    }
    known.set(name, { sequence: head.sequence, hash: head.hash })
  }
}

/** The last record in the table, or a later signed head of a day. */
async function furthestOf(name: string, inTable: ChainHead, heads: AuditActorDeps['heads']): Promise<ChainHead> {
  const { days } = await heads.readDays(name)
  return days.reduce((one: ChainHead, other) => (other.sequence > one.sequence ? other : one), inTable)
}

/**
 * Publishes to the stream, so that the entry is chained like every other; durable before the log's head is signed
 * again.
 */
function recordLoss(
  tenantId: string | null,
  signed: 'missing' | 'forged',
  { sequence }: ChainHead,
  atMs: number,
  { publish }: AuditActorDeps,
): Promise<void> {
  const entry: RepeatedEntry = {
    tenantId,
    actor: null,
    action: HEAD_LOST,
    target: null,
    outcome: 'failed',
    errorCode: 'INTERNAL_ERROR',
    traceId: randomBytes(16).toString('hex'),
    at: atMs,
    changes: { before: { signed }, after: { sequence } },
    repeats: 1,
  }
  // A failed batch is formed again, perhaps by another process: the id prevents a second entry for the same loss.
  const id = `${HEAD_LOST}.${auditLogName(tenantId)}.${sequence}`
  return publishOrThrow(publish, auditSubject(tenantId), encodeEntry(entry), id)
}

export interface OpenAuditLogDeps extends GroupPublisher {
  readonly broker: Broker
  readonly store: ClickHouseClient
  /** Signs the heads of the logs. */
  readonly key: Uint8Array
  readonly log: Logger
}

/** The log of audit entries with the actor that writes them to the read model. */
export async function openAuditLog(deps: OpenAuditLogDeps): Promise<OwnedLog<AuditProgress>> {
  const { broker, store, publish, publishTogether, key, log } = deps
  const actor = auditActor({
    publish,
    publishTogether,
    insert: insertsOfLog(store, AUDIT_LOG, await logIdOf(broker, AUDIT.name)),
    lastOf: (tenantIds) => lastAuditRecords(store, tenantIds),
    heads: signedHeads(await broker.bucket(AUDIT_HEADS), await broker.bucket(AUDIT_DAYS), key),
    log,
  })
  return { ...actor, bytesMax: AUDIT.max_bytes, keepMs: REPLAY_WINDOW_MS }
}
