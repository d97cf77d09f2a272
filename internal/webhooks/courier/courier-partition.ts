import type { KV } from '@nats-io/kv'
import { DELIVERIES, deliveriesCheckpoint, deliveriesSubject } from '../../../streams/deliveries.js'
import { dueCheckpoint, dueSubject, RETRIES } from '../../../streams/retries.js'
import { CheckpointHold, OwnershipLost, type UpdateEntry } from '../../broker/checkpoint.js'
import type { Logger } from '../../telemetry/log.js'
import { type DeliveryProgress, PartitionLog } from './partition-log.js'
import { type ReaderDeps, readPartitionLog } from './partition-reader.js'
import { PartitionSession, type SessionDeps } from './partition-session.js'
import { CONFIRM_EVERY_MS, RETRY_MS, sleepUntilAborted } from './pauses.js'

export interface PartitionDeps extends SessionDeps, ReaderDeps {
  /** This process's name among the couriers. */
  readonly self: string
  readonly checkpoints: KV
  readonly updateCheckpoint: UpdateEntry
  /** Whether membership assigns the partition with this checkpoint key to this process. */
  readonly isOwner: (key: string) => boolean
  /** Names of the live couriers. */
  readonly liveMembers: () => readonly string[]
  readonly log: Logger
}

/** The checkpoints of a partition's two logs, held by this process. */
interface Holds {
  readonly deliveries: CheckpointHold<DeliveryProgress>
  readonly due: CheckpointHold<DeliveryProgress>
}

/**
 * An owner that could not confirm its ownership for this long starts no attempt: after 3 s (`broker/members.ts`)
 * another courier may have taken over.
 */
const CONFIRMED_MS_MAX = 2_500
const IDLE_MS = 50

/** Delivers to one partition of the endpoints while this process owns it. */
export class Partition {
  private readonly partition: number
  private readonly key: string
  private readonly deps: PartitionDeps
  private confirmedAt = Number.NEGATIVE_INFINITY

  constructor(partition: number, deps: PartitionDeps) {
    this.partition = partition
    this.key = deliveriesCheckpoint(partition)
    this.deps = deps
  }

  /**
   * Delivers whenever this process owns the partition, until `signal` aborts. An owner that leaves finishes its
   * attempts in flight and then releases the partition; one that died is replaced when its heartbeat has expired.
   */
  async run(signal: AbortSignal): Promise<void> {
    const log = this.deps.log.child({ partition: this.partition })
    while (!signal.aborted) {
      if (!this.deps.isOwner(this.key)) {
        await sleepUntilAborted(IDLE_MS, signal)
        continue
      }
      try {
        const holds = await this.takeOver()
        if (holds === undefined) {
          await sleepUntilAborted(IDLE_MS, signal)
          continue
        }
        log.debug({ done: holds.deliveries.value.done }, 'took over a delivery partition')
        await this.deliverWhileOwner(holds, signal)
      } catch (cause) {
        if (cause instanceof OwnershipLost) log.info('another courier has taken over this delivery partition')
        else log.warn({ err: cause }, 'could not take over a delivery partition; will retry')
        await sleepUntilAborted(RETRY_MS, signal)
      }
    }
  }

  /** @returns undefined while the previous owner is alive and has not released the partition */
  private async takeOver(): Promise<Holds | undefined> {
    const { checkpoints, updateCheckpoint, self, liveMembers } = this.deps
    const hold = (key: string) => CheckpointHold.take<DeliveryProgress>(checkpoints, key, { done: 0 }, updateCheckpoint)
    const deliveries = await hold(this.key)
    const { owner } = deliveries.value
    if (owner !== undefined && owner !== self && liveMembers().includes(owner)) return undefined
    await deliveries.save({ ...deliveries.value, owner: self })
    return { deliveries, due: await hold(dueCheckpoint(this.partition)) }
  }

  private async deliverWhileOwner({ deliveries, due }: Holds, signal: AbortSignal): Promise<void> {
    const ending = new AbortController()
    const end = (): void => ending.abort()
    signal.addEventListener('abort', end)
    const logs = [
      new PartitionLog(DELIVERIES.name, deliveriesSubject(this.partition), deliveries),
      new PartitionLog(RETRIES.name, dueSubject(this.partition), due),
    ] as const
    const session = new PartitionSession(logs, this.deps, () => {
      this.confirmedAt = performance.now()
      this.deps.queues.pump()
    })
    this.confirmedAt = performance.now()
    const mayStart = (): boolean => performance.now() - this.confirmedAt < CONFIRMED_MS_MAX
    const readers = logs.map((log) =>
      readPartitionLog(this.partition, log, session, mayStart, this.deps, ending.signal),
    )
    try {
      await this.settleUntilIdle(session, readers, ending)
      const { owner: _, ...released } = deliveries.value
      await deliveries.save(released)
    } finally {
      end()
      session.dropWaiting()
      this.confirmedAt = Number.NEGATIVE_INFINITY
      signal.removeEventListener('abort', end)
      await Promise.all(readers)
    }
  }

  /** Settles outcomes until this process has to leave the partition and none of its attempts is in flight. */
  private async settleUntilIdle(
    session: PartitionSession,
    readers: readonly Promise<void>[],
    ending: AbortController,
  ): Promise<void> {
    let settling = session.settleOnce()
    for (;;) {
      await settling
      const isLeaving = ending.signal.aborted || !this.deps.isOwner(this.key)
      if (isLeaving) {
        ending.abort()
        session.dropWaiting()
        await Promise.all(readers)
        if (session.inFlight === 0) break
      }
      await session.outcomeOr(isLeaving ? IDLE_MS : CONFIRM_EVERY_MS)
      settling = session.settleOnce()
    }
    await session.settleOnce()
  }
}
