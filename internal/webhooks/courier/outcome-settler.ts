import { setTimeout as sleep } from 'node:timers/promises'
import { deadLettersSubject, dueSubject, retrySubject } from '../../../streams/retries.js'
import { OwnershipLost } from '../../broker/checkpoint.js'
import { type GroupPublisher, type Message, publishAllOrThrow } from '../../broker/publisher.js'
import type { Logger } from '../../telemetry/log.js'
import { counter, histogram, SECONDS_BUCKETS } from '../../telemetry/metrics.js'
import { type Delivery, encodeDelivery, partitionOf } from '../delivery.js'
import type { LogAttempts } from './attempt-log.js'
import type { Outcome } from './outcomes.js'
import type { PartitionLog } from './partition-log.js'
import { CONFIRM_EVERY_MS, CONFIRM_IDLE_EVERY_MS, RETRY_MS } from './pauses.js'

export interface SettlerDeps extends GroupPublisher {
  readonly logAttempts: LogAttempts
  readonly log: Logger
}

/** A delivery of a log, as far as settling it is concerned. */
export interface ReadDelivery {
  readonly log: PartitionLog
  /** Its index in the log's window. */
  readonly index: number
  /** Its share of the bytes of its message. */
  readonly bytes: number
}

/**
 * Outcomes are settled in batches, at the same ticks in all partitions of a process, so that their publishes share a
 * write.
 */
const SETTLE_EVERY_MS = 10

/** Collects the outcomes of a partition's deliveries and makes them durable. */
export class OutcomeSettler {
  private readonly logs: readonly PartitionLog[]
  private readonly deps: SettlerDeps
  private readonly onConfirmed: () => void
  private pending: { readonly delivery: ReadDelivery; readonly outcome: Outcome }[] = []
  private firstSavedAt = 0
  private isConfirmationWanted = false
  private notifyOutcome: () => void = () => undefined
  private notifyCapacity: () => void = () => undefined

  /**
   * @param logs the first one's checkpoint names the owner and confirms it
   * @param onConfirmed called after each successful write, which proves that this process still owns the partition
   */
  constructor(logs: readonly PartitionLog[], deps: SettlerDeps, onConfirmed: () => void) {
    this.logs = logs
    this.deps = deps
    this.onConfirmed = onConfirmed
  }

  add(delivery: ReadDelivery, outcome: Outcome): void {
    this.pending.push({ delivery, outcome })
    this.notifyOutcome()
  }

  /** Confirms the ownership soon: an attempt waits for it. */
  confirmSoon(): void {
    this.isConfirmationWanted = true
    this.notifyOutcome()
  }

  /** Resolves when an outcome waits to be settled or a confirmation is wanted, or after `ms`. */
  async outcomeOr(ms: number): Promise<void> {
    if (this.pending.length > 0 || this.isConfirmationWanted) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.notifyOutcome = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Resolves when outcomes were settled, which may let a log be read further, or after a timeout. */
  async capacity(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, CONFIRM_EVERY_MS)
      this.notifyCapacity = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /**
   * Makes all pending outcomes durable: first their effects, then the checkpoint. After a crash in between, the next
   * owner repeats these attempts.
   *
   * @throws OwnershipLost
   */
  async settleOnce(): Promise<void> {
    if (this.pending.length > 0) await sleep(SETTLE_EVERY_MS - (performance.now() % SETTLE_EVERY_MS))
    const settled = this.pending
    this.pending = []
    const outcomes = settled.map(({ outcome }) => outcome)
    await this.untilStored(() => applyOutcomes(outcomes, this.deps))
    for (const { delivery } of settled) delivery.log.settle(delivery.index, delivery.bytes)
    const [first, ...others] = this.logs
    for (const log of others) if (log.isChanged) await this.save(log)
    this.isConfirmationWanted = false
    const isIdle = this.logs.every(({ unsettled }) => unsettled === 0)
    const savedMsAgo = performance.now() - this.firstSavedAt
    // The first log's checkpoint is also the owner's heartbeat.
    if (first?.isChanged || savedMsAgo > (isIdle ? CONFIRM_IDLE_EVERY_MS : CONFIRM_EVERY_MS / 2)) {
      if (first !== undefined) await this.save(first)
      this.firstSavedAt = performance.now()
      this.onConfirmed()
    } else if (savedMsAgo <= CONFIRM_EVERY_MS / 2) this.onConfirmed()
    if (settled.length > 0) this.notifyCapacity()
  }

  private async save(log: PartitionLog): Promise<void> {
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
        this.deps.log.warn({ err: cause }, 'delivery outcomes not recorded yet; will retry')
        await sleep(RETRY_MS)
      }
    }
  }
}

const ATTEMPTS = counter('webhook_attempts_total', 'Attempts to deliver an event to an endpoint.', [
  'outcome',
  'reason',
])
const ATTEMPT_SECONDS = histogram('webhook_attempt_duration_seconds', 'From an attempt to its answer.', SECONDS_BUCKETS)

/**
 * Applies the effects of outcomes: schedules retries, stores dead letters, and logs every attempt. The attempts are
 * logged last, and everything before that is safe to repeat: a delivery has one schedule, and a dead letter has one
 * message id.
 *
 * @throws NotStored
 */
async function applyOutcomes(outcomes: readonly Outcome[], deps: SettlerDeps): Promise<void> {
  const again = outcomes.filter((outcome) => outcome.kind === 'again')
  const deadLetters = outcomes.filter((outcome) => outcome.kind === 'dead_lettered').filter(isReplayable)
  await Promise.all([
    publishAllOrThrow(deps, again, scheduleOf),
    publishAllOrThrow(deps, deadLetters, ({ delivery }) => ({
      subject: deadLettersSubject(delivery.endpointId),
      payload: encodeDelivery(delivery),
      messageId: delivery.id,
    })),
  ])
  const records = outcomes.flatMap((outcome) =>
    outcome.kind === 'dropped' || outcome.record === undefined ? [] : [outcome.record],
  )
  await deps.logAttempts(records)
  for (const { outcome, reason, latencyMs } of records) {
    ATTEMPTS.inc({ outcome, reason: reason ?? 'none' })
    ATTEMPT_SECONDS.observe(latencyMs / 1_000)
  }
}

/** An unanswered challenge is not: the tenant requests a new one. */
const isReplayable = ({ delivery }: { readonly delivery: Delivery }): boolean =>
  delivery.type !== 'webhook.verification'

function scheduleOf({ delivery, atMs }: Extract<Outcome, { readonly kind: 'again' }>): Message {
  const partition = partitionOf(delivery.endpointId)
  return {
    subject: retrySubject(partition, delivery.endpointId, delivery.id),
    payload: encodeDelivery(delivery),
    messageId: '',
    more: { schedule: { atMs, subject: dueSubject(partition) } },
  }
}
