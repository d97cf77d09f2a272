import { changesSubject } from '../../../streams/changes.js'
import { type Publisher, storedOrThrow } from '../../broker/publisher.js'
import { idHex } from '../../ids/ids.js'
import type { Correction } from '../actor/corrections.js'
import { type Change, encodeChange } from './change.js'
import { encodeSlice, type SliceMessage, sliceMessageId } from './job.js'

/**
 * Puts changes into CHANGES. Safe to repeat: the same change is the same message, or is known by its id where it takes
 * effect.
 */
export const changePublisher =
  (publish: Publisher['publish']) =>
  (change: Change): Promise<number> =>
    storedOrThrow(publish, changesSubject(change.tenantId), encodeChange(change), messageIdOf(change))

const messageIdOf = ({ id, decision }: Change): string => (decision.kind === 'promised' ? `${id}.promised` : id)

/** Published and not acknowledged at once. */
const UNDER_WAY_MAX = 500

/** Puts what stage A has learned into CHANGES, behind the events that it is about. @param logId of stage A's log */
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

/** In their order, a record once in each: of two that are under way at once either may be refused and come behind the other. */
function* portionsOf(corrections: readonly Correction[]): Generator<readonly Correction[]> {
  let portion = new Map<string, Correction>()
  for (const correction of corrections) {
    const record = idHex(correction.id)
    if (portion.size >= UNDER_WAY_MAX || portion.has(record)) {
      yield [...portion.values()]
      portion = new Map()
    }
    portion.set(record, correction)
  }
  if (portion.size > 0) yield [...portion.values()]
}

/** Puts a slice of a job in its place among the changes. */
export const slicePublisher =
  (publish: Publisher['publish']) =>
  (tenantId: string, slice: SliceMessage): Promise<number> =>
    storedOrThrow(publish, changesSubject(tenantId), encodeSlice(slice), sliceMessageId(slice))
