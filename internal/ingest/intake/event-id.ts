import { uuid5 } from '../../ids/uuid5.js'

/**
 * The `event_id` of what a source sent: the same for every repeat, so that none becomes a second record. This is what an
 * Idempotency-Key is on the API, which senders of other formats cannot set.
 *
 * @param source in which the id is unique, such as `litellm` or `span`
 */
export const eventIdOf = (tenantId: string, source: string, id: string): string =>
  uuid5(`${tenantId}\n${source}\n${id}`)
