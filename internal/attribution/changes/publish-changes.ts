import { changesSubject } from '../../../streams/changes.js'
import {
  type GroupPublisher,
  type Message,
  type Publisher,
  publishAllOrThrow,
  storedOrThrow,
} from '../../broker/publisher.js'
import { idHex } from '../../ids/ids.js'
import type { Correction } from '../actor/corrections.js'
import type { SharedCall } from '../sightings/seen-twice.js'
import { type Change, encodeChange } from './change.js'
import { encodeSlice, type SliceMessage, sliceMessageId } from './reattribution-job.js'

/**
 * Publishes changes to CHANGES. Safe to repeat: JetStream deduplicates the message, and later repeats are recognized by
 * the change id when they are applied.
 */
export const changePublisher =
  (publish: Publisher['publish']) =>
  (change: Change): Promise<number> => {
    const { subject, payload, messageId } = messageOf(change)
    return storedOrThrow(publish, subject, payload, messageId)
  }

const messageOf = (change: Change): Message => ({
  subject: changesSubject(change.tenantId),
  payload: encodeChange(change),
  messageId: change.decision.kind === 'promised' ? `${change.id}.promised` : change.id,
})

/**
 * Publishes the trace stage's corrections to CHANGES, in order, after the events that they concern.
 *
 * @param logId of INVOCATIONS
 */
export const correctionPublisher =
  (publisher: GroupPublisher, logId: number) =>
  (corrections: readonly Correction[]): Promise<void> =>
    publishAllOrThrow(publisher, corrections, ({ tenantId, id, verdict, cause }) => {
      const recordId = idHex(id)
      const decision = { kind: 'correction', verdict } as const
      return messageOf({ id: `${logId}.${cause}.${recordId}`, tenantId, recordId, actor: 'stage_a', decision })
    })

/** Publishes comparisons of records to CHANGES, after the records have been inserted. */
export const comparisonPublisher =
  (publisher: GroupPublisher) =>
  (calls: readonly SharedCall[]): Promise<void> =>
    publishAllOrThrow(publisher, calls, ({ id, tenantId, members, fromMs, toMs }) => {
      const decision = { kind: 'same_call', members, fromMs, toMs } as const
      return messageOf({ id: `same.${id}`, tenantId, recordId: members[0] ?? '', actor: 'same_call', decision })
    })

/** Publishes a slice of a job to CHANGES. */
export const slicePublisher =
  (publish: Publisher['publish']) =>
  (tenantId: string, slice: SliceMessage): Promise<number> =>
    storedOrThrow(publish, changesSubject(tenantId), encodeSlice(slice), sliceMessageId(slice))
