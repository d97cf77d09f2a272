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
/** For how long the events of other tenants may wait for a batch of the lane. */
const WORKED_OFF_MS = 200

/** How much of the lane goes on at once: as much as stage A has lately worked off in a moment. */
export class LanePace {
  batchBytesMax = BYTES_MIN

  /** @param workedOff as of `LaneDeps`: its time says how fast stage A is */
  async timed(workedOff: Promise<void>): Promise<void> {
    const startedAtMs = performance.now()
    await workedOff
    const next = performance.now() - startedAtMs > WORKED_OFF_MS ? this.batchBytesMax / 2 : this.batchBytesMax * 2
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

/** Waits for the checkpoints of stage A to pass what its mailboxes hold now. */
export async function untilWorkedOff(
  { manager, checkpoints }: { readonly manager: JetStreamManager; readonly checkpoints: KV },
  partitions: number,
): Promise<void> {
  const endsAt = performance.now() + WAIT_MS_MAX
  await Promise.all(
    Array.from({ length: partitions }, async (_, partition) => {
      const subject = invocationsSubject('a', partition)
      const last = await manager.streams.getMessage(INVOCATIONS.name, { last_by_subj: subject })
      while (last !== null && performance.now() < endsAt) {
        const checkpoint = await readCheckpoint<Checkpoint>(checkpoints, `a.${partition}`)
        if ((checkpoint?.done ?? 0) >= last.seq) return
        await sleep(LOOK_EVERY_MS)
      }
    }),
  )
}
