import type { ClickHouseClient } from '@clickhouse/client'
import { AUDIT } from '../../streams/audit.js'
import { AUDIT_DAYS, AUDIT_HEADS } from '../../streams/buckets.js'
import { REPLAY_WINDOW_MS } from '../../streams/invocations.js'
import type { Broker } from '../broker/connect.js'
import { logIdOf, type OwnedLog } from '../broker/owned-logs.js'
import type { Publisher } from '../broker/publisher.js'
import { insertsOfLog } from '../store/log-sink.js'
import { lastAuditRecords } from '../store/queries/audit-log.js'
import { AUDIT_LOG } from '../store/tables/audit-log.js'
import type { Logger } from '../telemetry/log.js'
import { type AuditProgress, auditActor } from './audit-actor.js'
import { signedHeads } from './heads.js'

export interface OpenAuditLogDeps {
  readonly broker: Broker
  readonly store: ClickHouseClient
  readonly publish: Publisher['publish']
  /** Signs the heads of the logs. */
  readonly key: Uint8Array
  readonly log: Logger
}

/** The log of audit entries with the actor that writes them to the read model. */
export async function openAuditLog(deps: OpenAuditLogDeps): Promise<OwnedLog<AuditProgress>> {
  const { broker, store, publish, key, log } = deps
  const actor = auditActor({
    publish,
    insert: insertsOfLog(store, AUDIT_LOG, await logIdOf(broker, AUDIT.name)),
    lastOf: (tenantIds) => lastAuditRecords(store, tenantIds),
    heads: signedHeads(await broker.bucket(AUDIT_HEADS), await broker.bucket(AUDIT_DAYS), key),
    log,
  })
  return { ...actor, bytesMax: AUDIT.max_bytes, keepMs: REPLAY_WINDOW_MS }
}
