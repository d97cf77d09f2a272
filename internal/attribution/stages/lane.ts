import { setTimeout as sleep } from 'node:timers/promises'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { INVOCATIONS, invocationsSubject } from '../../../streams/invocations.js'
import { readCheckpoint } from '../../broker/checkpoint.js'
import { partitionOf } from '../../ids/event-partition.js'
import type { Checkpoint } from '../actor/checkpoint.js'
import { HAND_ON, type Stage } from '../actor/stage.js'

/** The most that goes on at once. */
const BYTES_MAX = 1024 * 1024
const BYTES_MIN = 64 * 1024
/** For how long the events of other tenants may wait while stage A decides on a batch of the lane. */
const DECIDED_MS_MAX = 200

/**
 * How much of the lane goes on at once: as much as stage A has lately decided on in a moment. Its effects and its
 * pauses, which a small batch has too, do not count: else the lane would hardly move where they take longest.
 */
export class LanePace {
  batchBytesMax = BYTES_MIN

  /** @param decidedMs how long stage A took to decide on what went on before */
  note(decidedMs: number): void {
    const next = decidedMs > DECIDED_MS_MAX ? this.batchBytesMax / 2 : this.batchBytesMax * 2
    this.batchBytesMax = Math.min(Math.max(next, BYTES_MIN), BYTES_MAX)
  }
}

export interface LaneDeps {
  /** Of the log. */
  readonly partitions: number
  /** Resolves once stage A has worked off what its mailboxes hold now. */
  readonly untilWorkedOff: () => Promise<void>
}

/**
 * The lane (L): the mailbox `invocations.l.0` of tenants that send more than is worked off, or whose events cost much
 * (`internal/ingest/admission/lane.ts`). It passes their events on to stage A one batch at a time, so that those of the
 * others wait for one batch and not for all. Stage A, which then has all events with one id in one partition, decides
 * which of them are new.
 */
export const laneStage = ({ partitions, untilWorkedOff }: LaneDeps): Stage => ({
  name: 'l',
  next: 'a',
  mailboxOf: ({ id }) => ({ stage: 'a', partition: partitionOf(id, partitions) }),
  open: async () => ({
    async handle({ invocations }) {
      await untilWorkedOff()
      return invocations.map(() => HAND_ON)
    },
  }),
})

const LOOK_EVERY_MS = 50
/** A stage that stands still must not keep the lane's owner from proving its ownership. */
const WAIT_MS_MAX = 5_000

/**
 * Waits for the checkpoints of stage A to pass what its mailboxes hold now.
 *
 * @returns the longest time that it took to decide on a batch meanwhile, in milliseconds; that of the wait if it did not
 *   get there
 */
export async function untilWorkedOff(
  { manager, checkpoints }: { readonly manager: JetStreamManager; readonly checkpoints: KV },
  partitions: number,
): Promise<number> {
  const endsAt = performance.now() + WAIT_MS_MAX
  let longestMs = 0
  await Promise.all(
    Array.from({ length: partitions }, async (_, partition) => {
      const subject = invocationsSubject('a', partition)
      const last = await manager.streams.getMessage(INVOCATIONS.name, { last_by_subj: subject })
      if (last === null) return
      while (performance.now() < endsAt) {
        const { done = 0, decidedMs = 0 } = (await readCheckpoint<Checkpoint>(checkpoints, `a.${partition}`)) ?? {}
        longestMs = Math.max(longestMs, decidedMs)
        if (done >= last.seq) return
        await sleep(LOOK_EVERY_MS)
      }
      longestMs = WAIT_MS_MAX
    }),
  )
  return longestMs
}
