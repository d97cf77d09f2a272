import { randomBytes } from 'node:crypto'
import { createAuditSink } from '../../internal/audit/audit-sink.js'
import type { AuditAction, AuditEntry } from '../../internal/auth/audit-entry.js'
import type { Broker } from '../../internal/broker/connect.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { serviceVersion } from '../../internal/config/version.js'
import { createLog } from '../../internal/telemetry/log.js'

/** Records an action of a command in the audit log. @param tenantId of the audit log; null: the instance's */
export async function recordByCli(
  broker: Broker,
  action: AuditAction,
  target: string,
  changes: NonNullable<AuditEntry['changes']>,
  tenantId: string | null = null,
): Promise<void> {
  const { publish } = createPublisher(broker.connection)
  const sink = createAuditSink({
    publish,
    clock: Date.now,
    log: createLog('attribution', 'error', { version: serviceVersion() }),
  })
  await sink.record({
    tenantId,
    actor: 'cli',
    action,
    target,
    outcome: 'succeeded',
    errorCode: null,
    traceId: randomBytes(16).toString('hex'),
    at: Date.now(),
    changes,
  })
  await sink.close()
}
