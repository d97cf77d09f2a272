import type { PublishEvent } from '../../events/publish-event.js'
import { formatId } from '../../ids/ids.js'
import { hexOf, type KeyHash } from '../../ids/key-hash.js'
import type { Logger } from '../../telemetry/log.js'
import { counter } from '../../telemetry/metrics.js'
import type { OwnCalls } from './own-calls.js'

const CONFLICTS = counter(
  'admission_key_conflicts_total',
  'Own calls whose Idempotency-Key another gateway admitted with another body, within the time that a message takes.',
)

export interface ConflictNoticesDeps {
  readonly publishEvent: PublishEvent
  readonly log: Pick<Logger, 'warn'>
}

/**
 * What becomes of a key that two gateways admitted with different bodies at the same time: both calls are taken, and
 * each gateway counts and names its own, once.
 *
 * @returns takes the key, in the background
 */
export function conflictNotices(
  ownCalls: OwnCalls,
  { publishEvent, log }: ConflictNoticesDeps,
): (key: KeyHash) => void {
  return (key) => {
    const own = ownCalls.take(key)
    if (own === undefined) return
    CONFLICTS.inc()
    const { tenantId } = own
    const invocationId = formatId('inv', own.id)
    log.warn({ tenantId, invocationId }, 'another gateway admitted another body under the Idempotency-Key of this call')
    publishEvent({
      tenantId,
      type: 'ingestion.key.conflict',
      cause: `${hexOf(key)} ${invocationId}`,
      data: { invocation_id: invocationId },
    }).catch((cause: unknown) => {
      log.warn({ tenantId, invocationId, err: cause }, 'could not report an Idempotency-Key with two bodies')
    })
  }
}
