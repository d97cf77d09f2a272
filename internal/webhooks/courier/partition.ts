import { setTimeout as sleep } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import { DELIVERIES, deliveriesCheckpoint, deliveriesSubject } from '../../../streams/deliveries.js'
import { dueCheckpoint, dueSubject, RETRIES } from '../../../streams/retries.js'
import { CheckpointHold, OwnershipLost, type Progress, type UpdateEntry } from '../../broker/checkpoint.js'
import type { LogRange, StoredEntry } from '../../broker/log.js'
import type { Logger } from '../../telemetry/log.js'
import type { Delivery } from '../delivery.js'
import { decodeDeliveries, GROUP_DELIVERIES_MAX } from '../delivery-group.js'
import type { LaneTask } from './lane.js'
import type { Lanes } from './lanes.js'
import type { Outcome } from './outcomes.js'
import type { SettleDeps } from './settle.js'
import { settle } from './settle.js'
import { DeliveryWindow, type WindowProgress } from './window.js'

/** The checkpoint of a log of deliveries. The one of a part's first log names the part's owner, too. */
interface DeliveryProgress extends Progress, WindowProgress {
  readonly owner?: string
}

export interface PartitionDeps extends SettleDeps {
  readonly self: string
  readonly checkpoints: KV
  readonly updateCheckpoint: UpdateEntry
  readonly readLog: (range: LogRange) => Promise<StoredEntry[]>
  /** Whether the part should be this process's. */
  readonly isOwner: (key: string) => boolean
  /** Names of the couriers that are alive. */
  readonly live: () => readonly string[]
  /** Resolves when something new is said to have come, or after a while. */
  readonly somethingNew: (partition: number, signal: AbortSignal) => Promise<void>
  readonly lanes: Lanes
  /** Makes an attempt, and calls one of the two, not before it returns. */
  readonly deliver: (delivery: Delivery, made: (outcome: Outcome) => void, failed: (cause: unknown) => void) => void
  readonly putOff: (delivery: Delivery) => Outcome
  readonly log: Logger
}

const READ_MESSAGES_MAX = 500
const READ_BYTES_MAX = 4 * 1024 * 1024
/** Read and not settled, of each of a part's two logs; what is read last may exceed it. */
const UNSETTLED_MAX = 8_000
const UNSETTLED_BYTES_MAX = 16 * 1024 * 1024
/**
 * From the first that is not settled to the last that is read. Far more than may be unsettled: while an endpoint lets one
 * wait, those of the others come and go behind it. The checkpoint names each by a bit, 11 KiB of text in all.
 */
const WINDOW_SPAN_MAX = 64 * 1024
/**
 * An endpoint that answers gets all in order, however much waits for it: it is read at its pace. Only where those of a
 * tenant have held up the others for so long, their order is given up.
 */
const HELD_UP_MS_MAX = 10_000
/**
 * What is acknowledged meanwhile is written down together, at the same beat by all parts of a process: what they write to
 * the broker then leaves in one piece.
 */
const SETTLE_EVERY_MS = 10
/** An owner says at least so often that it is there. */
const CONFIRM_EVERY_MS = 1_000
/** One that could not say so for this long starts nothing: after 3 s (`broker/members.ts`) another may have taken over. */
const CONFIRMED_MS_MAX = 2_500
const IDLE_MS = 50
const RETRY_MS = 300

/** A part of the endpoints while this process delivers to them. */
export class Partition {
  private readonly partition: number
  private readonly deps: PartitionDeps
  private confirmedAt = Number.NEGATIVE_INFINITY

  constructor(partition: number, deps: PartitionDeps) {
    this.partition = partition
    this.deps = deps
  }

  /**
   * Delivers what comes to the part whenever this process owns it, until `signal` aborts. An owner that leaves finishes
   * what is under way and says that it has; one that died is followed when its heartbeat has lapsed.
   */
  async run(signal: AbortSignal): Promise<void> {
    const key = deliveriesCheckpoint(this.partition)
    const log = this.deps.log.child({ partition: this.partition })
    while (!signal.aborted) {
      if (!this.deps.isOwner(key)) {
        await pause(IDLE_MS, signal)
        continue
      }
      try {
        const { checkpoints, updateCheckpoint } = this.deps
        const first = await CheckpointHold.take<DeliveryProgress>(checkpoints, key, { done: 0 }, updateCheckpoint)
        const { owner } = first.value
        if (owner !== undefined && owner !== this.deps.self && this.deps.live().includes(owner)) {
          await pause(IDLE_MS, signal)
          continue
        }
        await first.save({ ...first.value, owner: this.deps.self })
        const dueKey = dueCheckpoint(this.partition)
        const due = await CheckpointHold.take<DeliveryProgress>(checkpoints, dueKey, { done: 0 }, updateCheckpoint)
        log.debug({ done: first.value.done }, 'delivers to a part of the endpoints')
        await this.work(first, due, signal)
      } catch (cause) {
        if (cause instanceof OwnershipLost) log.info('another courier delivers to this part now')
        else log.warn({ err: cause }, 'a part of the endpoints could not be taken over; it will be tried again')
        await pause(RETRY_MS, signal)
      }
    }
  }

  private async work(
    first: CheckpointHold<DeliveryProgress>,
    due: CheckpointHold<DeliveryProgress>,
    signal: AbortSignal,
  ): Promise<void> {
    const ending = new AbortController()
    const end = (): void => ending.abort()
    signal.addEventListener('abort', end)
    const logs = [
      new OpenLog(DELIVERIES.name, deliveriesSubject(this.partition), first),
      new OpenLog(RETRIES.name, dueSubject(this.partition), due),
    ] as const
    const session = new Session(logs, this.deps, () => {
      this.confirmedAt = performance.now()
      this.deps.lanes.pump()
    })
    this.confirmedAt = performance.now()
    const mayStart = (): boolean => performance.now() - this.confirmedAt < CONFIRMED_MS_MAX
    const readers = logs.map((log) => this.read(log, session, mayStart, ending.signal))
    try {
      let settling = session.settleOnce()
      for (;;) {
        await settling
        const isLeaving = ending.signal.aborted || !this.deps.isOwner(deliveriesCheckpoint(this.partition))
        if (isLeaving) {
          end()
          session.dropWaiting()
          await Promise.all(readers)
          if (session.inFlight === 0) break
        }
        await session.outcomeOr(isLeaving ? IDLE_MS : CONFIRM_EVERY_MS)
        settling = session.settleOnce()
      }
      await session.settleOnce()
      const { owner: _, ...free } = first.value
      await first.save(free)
    } finally {
      end()
      session.dropWaiting()
      this.confirmedAt = Number.NEGATIVE_INFINITY
      signal.removeEventListener('abort', end)
      await Promise.all(readers)
    }
  }

  private async read(log: OpenLog, session: Session, mayStart: () => boolean, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const room = Math.min(UNSETTLED_MAX - log.unsettled, WINDOW_SPAN_MAX - log.window.span)
        const isFull = room <= 0 || log.unsettledBytes >= UNSETTLED_BYTES_MAX
        if (isFull) {
          // While nothing may start, no endpoint is to blame.
          if (mayStart()) session.makeRoom(log)
          else log.heldUpSince = undefined
        }
        const entries = isFull
          ? undefined
          : await this.deps.readLog({
              stream: log.stream,
              subject: log.subject,
              from: log.window.next,
              messagesMax: Math.min(Math.ceil(room / GROUP_DELIVERIES_MAX), READ_MESSAGES_MAX),
              bytesMax: READ_BYTES_MAX,
            })
        if (signal.aborted) return
        for (const entry of entries ?? []) session.take(log, entry, mayStart)
        if (entries === undefined) await session.room(signal)
        else if (entries.length === 0) {
          log.heldUpSince = undefined
          await this.deps.somethingNew(this.partition, signal)
        }
      } catch (cause) {
        if (signal.aborted) return
        log.heldUpSince = undefined
        this.deps.log.warn({ err: cause, subject: log.subject }, 'deliveries could not be read; they will be')
        await pause(RETRY_MS, signal)
      }
    }
  }
}

class OpenLog {
  readonly stream: string
  readonly subject: string
  readonly hold: CheckpointHold<DeliveryProgress>
  readonly window: DeliveryWindow
  /** Deliveries that were read and are not settled. */
  unsettled = 0
  unsettledBytes = 0
  /** When there was no room for more, by `performance.now()`; undefined once all that there is has been read since. */
  heldUpSince: number | undefined
  isChanged = false

  constructor(stream: string, subject: string, hold: CheckpointHold<DeliveryProgress>) {
    this.stream = stream
    this.subject = subject
    this.hold = hold
    this.window = new DeliveryWindow(hold.value)
  }
}

interface ReadDelivery {
  readonly place: number
  /** Its part of the message that it came in. */
  readonly bytes: number
  readonly readAt: number
  readonly delivery: Delivery
}

interface Settled {
  readonly task: DeliveryTask
  readonly outcome: Outcome
}

/** A delivery of a log, from when it was read until it is settled. */
class DeliveryTask implements LaneTask {
  readonly log: OpenLog
  readonly place: number
  readonly bytes: number
  readonly readAt: number
  readonly owner: Session
  readonly mayStart: () => boolean
  private readonly delivery: Delivery

  constructor(owner: Session, log: OpenLog, { place, bytes, readAt, delivery }: ReadDelivery, mayStart: () => boolean) {
    this.owner = owner
    this.log = log
    this.place = place
    this.bytes = bytes
    this.readAt = readAt
    this.delivery = delivery
    this.mayStart = mayStart
  }

  run(ended: () => void): void {
    this.owner.run(this, this.delivery, ended)
  }

  putOff(): void {
    this.owner.putOff(this, this.delivery)
  }
}

/** What one hold of a part has under way. */
class Session {
  private readonly logs: readonly OpenLog[]
  private readonly deps: PartitionDeps
  private readonly confirmed: () => void
  private outcomes: Settled[] = []
  private runningCount = 0
  private wake: () => void = () => undefined
  private freed: () => void = () => undefined

  constructor(logs: readonly OpenLog[], deps: PartitionDeps, confirmed: () => void) {
    this.logs = logs
    this.deps = deps
    this.confirmed = confirmed
  }

  get inFlight(): number {
    return this.runningCount
  }

  /** Takes what is to be settled of a message. */
  take(log: OpenLog, { sequence, data }: StoredEntry, mayStart: () => boolean): void {
    let deliveries: readonly Delivery[]
    try {
      deliveries = decodeDeliveries(data)
    } catch (cause) {
      this.deps.log.error({ err: cause, subject: log.subject, sequence }, 'dropped what is no delivery')
      log.window.settle(log.window.read(sequence, 1))
      log.isChanged = true
      return
    }
    const first = log.window.read(sequence, deliveries.length)
    const bytes = Math.ceil(data.length / deliveries.length)
    const readAt = performance.now()
    for (const [i, delivery] of deliveries.entries()) {
      if (log.window.isSettled(first + i)) continue
      log.unsettled++
      log.unsettledBytes += bytes
      const task = new DeliveryTask(this, log, { place: first + i, bytes, readAt, delivery }, mayStart)
      this.deps.lanes.add(delivery, task)
    }
  }

  /** Until there is an outcome; what it needs of the broker is waited for. */
  run(task: DeliveryTask, delivery: Delivery, ended: () => void): void {
    this.runningCount++
    const made = (outcome: Outcome): void => {
      this.runningCount--
      this.settled(task, outcome)
      ended()
    }
    const failed = (cause: unknown): void => {
      const { log } = this.deps
      log.warn({ err: cause, delivery: delivery.id }, 'an attempt could not be finished; it will be made again')
      setTimeout(make, RETRY_MS)
    }
    const make = (): void => {
      try {
        this.deps.deliver(delivery, made, failed)
      } catch (cause) {
        failed(cause)
      }
    }
    make()
  }

  putOff(task: DeliveryTask, delivery: Delivery): void {
    this.settled(task, this.deps.putOff(delivery))
  }

  private settled(task: DeliveryTask, outcome: Outcome): void {
    this.outcomes.push({ task, outcome })
    this.wake()
  }

  /** Puts off what keeps a log from being read, once it has done so for long. */
  makeRoom(log: OpenLog): void {
    const now = performance.now()
    log.heldUpSince ??= now
    const longAgo = now - HELD_UP_MS_MAX
    if (log.window.span >= WINDOW_SPAN_MAX) {
      this.deps.lanes.putOff(this, (lane) => lane.takeReadBefore(longAgo))
    } else if (log.heldUpSince < longAgo) {
      // By tenant, or one with several endpoints would keep all others out with none that has so much. Where no tenant has
      // so much, it is several that are behind, and putting off would but cost them their order.
      this.deps.lanes.putOffBeyond(this, Math.ceil(log.unsettled / 2))
    }
  }

  /** What was not started stays in the log for whoever comes next. */
  dropWaiting(): void {
    this.deps.lanes.removeOf(this)
  }

  /** Resolves when there is an outcome to settle, or after a time. */
  async outcomeOr(ms: number): Promise<void> {
    if (this.outcomes.length > 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Resolves when there is room in a window, or after a while. */
  async room(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, CONFIRM_EVERY_MS)
      this.freed = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /**
   * Makes all outcomes durable: first what must happen because of them, then that they are settled. Whoever dies in
   * between makes these attempts again.
   *
   * @throws OwnershipLost
   */
  async settleOnce(): Promise<void> {
    if (this.outcomes.length > 0) await sleep(SETTLE_EVERY_MS - (performance.now() % SETTLE_EVERY_MS))
    const outcomes = this.outcomes
    this.outcomes = []
    await this.untilStored(() =>
      settle(
        outcomes.map(({ outcome }) => outcome),
        this.deps,
      ),
    )
    for (const {
      task: { log, place, bytes },
    } of outcomes) {
      log.window.settle(place)
      log.unsettled--
      log.unsettledBytes -= bytes
      log.isChanged = true
    }
    const [first, ...others] = this.logs
    for (const log of others) if (log.isChanged) await this.save(log)
    // The first one is also the owner's sign of life.
    if (first !== undefined && (first.isChanged || performance.now() - this.savedAt > CONFIRM_EVERY_MS / 2)) {
      await this.save(first)
      this.savedAt = performance.now()
    }
    this.confirmed()
    if (outcomes.length > 0) this.freed()
  }
  private savedAt = 0

  private async save(log: OpenLog): Promise<void> {
    const { owner } = log.hold.value
    const progress = { ...log.window.progress(), ...(owner !== undefined && { owner }) }
    await this.untilStored(() => log.hold.save(progress))
    log.isChanged = false
  }

  private async untilStored(store: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await store()
      } catch (cause) {
        if (cause instanceof OwnershipLost) throw cause
        this.deps.log.warn({ err: cause }, 'what became of deliveries could not be written down; it will be')
        await sleep(RETRY_MS)
      }
    }
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined)
