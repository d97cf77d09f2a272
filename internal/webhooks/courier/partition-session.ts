import type { StoredEntry } from '../../broker/log.js'
import type { Delivery } from '../delivery.js'
import { decodeDeliveries } from '../delivery-group.js'
import type { AttemptTask } from './endpoint-queue.js'
import type { EndpointQueues } from './endpoint-queues.js'
import { OutcomeSettler, type ReadDelivery, type SettlerDeps } from './outcome-settler.js'
import type { Outcome } from './outcomes.js'
import type { PartitionLog } from './partition-log.js'
import { RETRY_MS } from './pauses.js'

export interface SessionDeps extends SettlerDeps {
  readonly queues: EndpointQueues
  /** Makes an attempt and calls exactly one of the two callbacks, never before it returns. */
  readonly deliver: (
    delivery: Delivery,
    onOutcome: (outcome: Outcome) => void,
    onFailure: (cause: unknown) => void,
  ) => void
  /** The outcome of a delivery that is rescheduled without an attempt. */
  readonly park: (delivery: Delivery) => Outcome
}

/**
 * How long a log may be stalled before deliveries are parked. An endpoint that answers gets everything in order,
 * however long its queue, and the log is read at that endpoint's pace. Only when one tenant's backlog has kept the
 * others waiting for this long is that tenant's order given up.
 */
const STALLED_MS_MAX = 10_000

/** One period of ownership of a partition: the deliveries it has read, runs, and settles. */
export class PartitionSession {
  private readonly deps: SessionDeps
  private readonly settler: OutcomeSettler
  private runningCount = 0

  /** @param onConfirmed called whenever a write has proved that this process still owns the partition */
  constructor(logs: readonly PartitionLog[], deps: SessionDeps, onConfirmed: () => void) {
    this.deps = deps
    this.settler = new OutcomeSettler(logs, deps, onConfirmed)
  }

  get inFlight(): number {
    return this.runningCount
  }

  /** Queues the unsettled deliveries of a message. */
  accept(log: PartitionLog, { sequence, data }: StoredEntry, mayStart: () => boolean): void {
    let deliveries: readonly Delivery[]
    try {
      deliveries = decodeDeliveries(data)
    } catch (cause) {
      this.deps.log.error({ err: cause, subject: log.subject, sequence }, 'dropped undecodable delivery message')
      log.skip(sequence)
      return
    }
    const first = log.window.read(sequence, deliveries.length)
    const bytes = Math.ceil(data.length / deliveries.length)
    const readAt = performance.now()
    for (const [i, delivery] of deliveries.entries()) {
      const index = first + i
      if (log.window.isSettled(index)) continue
      log.countRead(bytes)
      this.deps.queues.add(delivery, new DeliveryTask(this, delivery, { log, index, bytes }, readAt, mayStart))
    }
    if (!mayStart()) this.settler.confirmSoon()
  }

  /** Parks queued deliveries that keep a log from being read, once they have done so for long. */
  parkIfStalled(log: PartitionLog): void {
    const now = performance.now()
    log.stalledSince ??= now
    const longAgo = now - STALLED_MS_MAX
    if (log.isSpanFull) {
      this.deps.queues.park(this, (queue) => queue.takeReadBefore(longAgo))
    } else if (log.stalledSince < longAgo) {
      // Per tenant: a tenant could otherwise block all others with several endpoints, none of which has this many
      // queued. When no tenant has this many, several tenants are slow, and parking would only cost them their order.
      this.deps.queues.parkBeyond(this, Math.ceil(log.unsettled / 2))
    }
  }

  /** Forgets the deliveries that have not started; they stay in the log for the next owner. */
  dropWaiting(): void {
    this.deps.queues.removeOf(this)
  }

  outcomeOr(ms: number): Promise<void> {
    return this.settler.outcomeOr(ms)
  }

  capacity(signal: AbortSignal): Promise<void> {
    return this.settler.capacity(signal)
  }

  /** @throws OwnershipLost */
  settleOnce(): Promise<void> {
    return this.settler.settleOnce()
  }

  park(task: DeliveryTask): void {
    this.settler.add(task, this.deps.park(task.delivery))
  }

  /** Repeats the attempt until there is an outcome, waiting for a broker that is unavailable. */
  run(task: DeliveryTask, onEnd: () => void): void {
    const { delivery } = task
    this.runningCount++
    const onOutcome = (outcome: Outcome): void => {
      this.runningCount--
      this.settler.add(task, outcome)
      onEnd()
    }
    const onFailure = (cause: unknown): void => {
      this.deps.log.warn({ err: cause, delivery: delivery.id }, 'could not finish a delivery attempt; will retry')
      setTimeout(attempt, RETRY_MS)
    }
    const attempt = (): void => {
      try {
        this.deps.deliver(delivery, onOutcome, onFailure)
      } catch (cause) {
        onFailure(cause)
      }
    }
    attempt()
  }
}

/** A delivery of a log, from when it is read until it is settled. A class, since every delivery makes one. */
class DeliveryTask implements AttemptTask, ReadDelivery {
  readonly owner: PartitionSession
  readonly delivery: Delivery
  readonly log: PartitionLog
  readonly index: number
  readonly bytes: number
  readonly readAt: number
  readonly mayStart: () => boolean

  constructor(
    owner: PartitionSession,
    delivery: Delivery,
    { log, index, bytes }: ReadDelivery,
    readAt: number,
    mayStart: () => boolean,
  ) {
    this.owner = owner
    this.delivery = delivery
    this.log = log
    this.index = index
    this.bytes = bytes
    this.readAt = readAt
    this.mayStart = mayStart
  }

  run(onEnd: () => void): void {
    this.owner.run(this, onEnd)
  }

  park(): void {
    this.owner.park(this)
  }
}
