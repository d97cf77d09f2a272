import { uuid5 } from '../../ids/uuid5.js'

/**
 * The `event_id` of what a source sent: the same for every repeat, so that none becomes a second record. This is what
 * an Idempotency-Key is on the API, which senders of other formats cannot set.
 *
 * @param source in which the id is unique, such as `litellm` or `span`
 * @param id one or several parts, which are one text
 */
export function eventIdOf(tenantId: string, source: string, ...id: readonly string[]): string {
  if (tenantId !== last.tenantId || source !== last.source) {
    last = { tenantId, source, namespace: `${tenantId}\n${source}\n` }
  }
  return uuid5(last.namespace, ...id)
}
/** Events of one body have the same two. */
let last = { tenantId: '', source: '', namespace: '' }
