import { changesSubject } from '../../../streams/changes.js'
import { type Publisher, storedOrThrow } from '../../broker/publisher.js'
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
  (change: Change): Promise<number> =>
    storedOrThrow(publish, changesSubject(change.tenantId), encodeChange(change), messageIdOf(change))

const messageIdOf = ({ id, decision }: Change): string => (decision.kind === 'promised' ? `${id}.promised` : id)

/** Maximum number of unacknowledged publishes. */
const IN_FLIGHT_MAX = 500

/**
 * Publishes the trace stage's corrections to CHANGES, after the events that they concern.
 *
 * @param logId of INVOCATIONS
 */
export const correctionPublisher = (publish: Publisher['publish'], logId: number) => {
  const publishChange = changePublisher(publish)
  return async (corrections: readonly Correction[]): Promise<void> => {
    for (const portion of portionsOf(corrections)) {
      await Promise.all(
        portion.map(({ tenantId, id, verdict, cause }) => {
          const recordId = idHex(id)
          const decision = { kind: 'correction', verdict } as const
          return publishChange({ id: `${logId}.${cause}.${recordId}`, tenantId, recordId, actor: 'stage_a', decision })
        }),
      )
    }
  }
}

/** Publishes comparisons of records to CHANGES, after the records have been inserted. */
export const comparisonPublisher = (publish: Publisher['publish']) => {
  const publishChange = changePublisher(publish)
  return async (calls: readonly SharedCall[]): Promise<void> => {
    for (let from = 0; from < calls.length; from += IN_FLIGHT_MAX) {
      await Promise.all(
        calls.slice(from, from + IN_FLIGHT_MAX).map(({ id, tenantId, members, fromMs, toMs }) => {
          const decision = { kind: 'same_call', members, fromMs, toMs } as const
          return publishChange({ id: `same.${id}`, tenantId, recordId: members[0] ?? '', actor: 'same_call', decision })
        }),
      )
    }
  }
}

/**
 * In order, and each record at most once per portion: a retry may reorder two corrections of a record that are in
 * flight.
 */
function* portionsOf(corrections: readonly Correction[]): Generator<readonly Correction[]> {
  let portion = new Map<string, Correction>()
  for (const correction of corrections) {
    const record = idHex(correction.id)
    if (portion.size >= IN_FLIGHT_MAX || portion.has(record)) {
      yield [...portion.values()]
      portion = new Map()
    }
    portion.set(record, correction)
  }
  if (portion.size > 0) yield [...portion.values()]
}

/** Publishes a slice of a job to CHANGES. */
export const slicePublisher =
  (publish: Publisher['publish']) =>
  (tenantId: string, slice: SliceMessage): Promise<number> =>
    storedOrThrow(publish, changesSubject(tenantId), encodeSlice(slice), sliceMessageId(slice))
