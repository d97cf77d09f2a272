import { setTimeout as sleep } from 'node:timers/promises'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { INVOCATIONS, invocationsSubject } from '../../../streams/invocations.js'
import { readCheckpoint } from '../../broker/checkpoint.js'
import type { LogEntry } from '../../broker/log.js'
import { partitionOf } from '../../ids/event-partition.js'
import { identifyEntries } from '../../invocations/invocation-group.js'
import type { Checkpoint } from '../actor/checkpoint.js'
import { HAND_ON, type Stage } from '../actor/stage.js'

/** Of events whose rules may cost much, what goes on at once. */
const COSTLY_BYTES_MIN = 16 * 1024
const COSTLY_BYTES_MAX = 128 * 1024
/** For how long the events of other tenants may wait while stage A decides on them. */
const DECIDED_MS_MAX = 100

/**
 * How much of the lane goes on at once: of events whose rules may cost much, as many as stage A has lately decided on
 * in a moment; of others, a batch. Inserts and pauses of stage A do not count, which the smallest batch has too: else
 * the lane would hardly move where they take longest.
 */
export class LanePace {
  private readonly isCostly: (tenantId: string) => boolean
  private costlyBytesMax = COSTLY_BYTES_MIN
  /** Of the batch that was cut last, and of the one before it. */
  private cutBytes = 0
  private passedBytes = 0

  constructor(isCostly: (tenantId: string) => boolean) {
    this.isCostly = isCostly
  }

  /** How many of the next messages of the lane go on together. */
  cut(messages: readonly Pick<LogEntry, 'data'>[]): number {
    this.cutBytes = 0
    for (const [i, { data }] of messages.entries()) {
      if (!identifyEntries(data).some(({ tenantId }) => this.isCostly(tenantId))) continue
      if (this.cutBytes > 0 && this.cutBytes + data.length > this.costlyBytesMax) return i
      this.cutBytes += data.length
    }
    return messages.length
  }

  /** @param decidedMs how long stage A took to decide on what went on before the batch that was cut last */
  note(decidedMs: number): void {
    if (this.passedBytes > 0) {
      const fitting = (this.passedBytes * DECIDED_MS_MAX) / Math.max(1, decidedMs)
      const next = Math.min(fitting, 2 * this.costlyBytesMax, COSTLY_BYTES_MAX)
      this.costlyBytesMax = Math.max(next, COSTLY_BYTES_MIN)
    }
    this.passedBytes = this.cutBytes
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
