import { setTimeout as sleep } from 'node:timers/promises'
import { isInvocations } from '../../../streams/invocations.js'
import { isObservations } from '../../../streams/observations.js'
import type { Publisher, PublishResult } from '../../broker/publisher.js'
import type { Logger } from '../../telemetry/log.js'
import { counter } from '../../telemetry/metrics.js'
import type { Appended } from '../spool/appender.js'
import { oneByOne, type Spool } from '../spool/spool.js'
import type { SpoolRecord } from '../spool/spool-record.js'
import { isOfKeys, joined, mailboxIn } from './joined-records.js'

export const KEYS_LOST = counter(
  'admission_keys_lost_total',
  'Messages of Idempotency-Keys that neither KEYS nor the disk took: other gateways do not know them.',
)

export interface SpoolDeliveryDeps {
  readonly publisher: Publisher
  /** For keys alone, so that no event waits behind them. */
  readonly keySpool: Spool
  readonly isBrokerUp: () => boolean
  /** Of the log. */
  readonly partitions: number
  readonly log: Logger
}

/** Time for one attempt; then the log counts as unavailable, and the message goes to the spool under the same id. */
export const ATTEMPT_MS = 1_000
const DRAIN_EVERY_MS = 100
/** A spool that stands still says why at most this often. */
const SAY_EVERY_MS = 10_000

/** Why a spool stands still: its stream did not take the next record, or a disk failed. */
type Obstacle =
  | ({ readonly subject: string } & Exclude<PublishResult, { readonly kind: 'stored' }>)
  | { readonly err: Error }

/**
 * Delivers what spools hold to its streams, in order. No event waits for anything but its own stream:
 *
 * - Keys that KEYS does not take move to a spool of their own.
 * - An event of a partition that the layout no longer has goes to one that it has; stage A passes it on.
 * - A record of another subject was written by another version beside an event. It is dropped: events are in the
 *   streams of invocations and observations alone.
 */
export class SpoolDelivery {
  private readonly deps: SpoolDeliveryDeps
  /** By spool of this gateway that is not empty. */
  private readonly running = new Map<Spool, Promise<void>>()
  private isClosing = false

  constructor(deps: SpoolDeliveryDeps) {
    this.deps = deps
  }

  /** Stores records in a spool of this gateway, which is then delivered until it is empty. */
  async store(spool: Spool, records: readonly SpoolRecord[]): Promise<Appended> {
    const appended = await spool.append(records)
    this.begin(spool)
    return appended
  }

  /**
   * Publishes the keys of a message that is in the log or in a spool, or keeps them on disk until KEYS takes them.
   *
   * @returns `full` when they are given up
   */
  async deliverKeys(record: SpoolRecord): Promise<Appended> {
    const { keySpool } = this.deps
    if (keySpool.isEmpty && (await this.publish(record)).kind === 'stored') return { kind: 'stored' }
    const appended = await this.store(keySpool, [record])
    if (appended.kind === 'full') KEYS_LOST.inc()
    return appended
  }

  /** Delivers what a spool holds and gets, until `isOver` or `signal` is aborted. */
  async deliverUntil(spool: Spool, isOver: () => boolean, signal: AbortSignal): Promise<void> {
    let saidAt = Number.NEGATIVE_INFINITY
    while (!isOver() && !signal.aborted) {
      await sleep(DRAIN_EVERY_MS, undefined, { signal }).catch(() => undefined)
      const obstacle = await this.drain(spool, signal)
      if (obstacle === undefined || performance.now() - saidAt < SAY_EVERY_MS) continue
      saidAt = performance.now()
      const { log } = this.deps
      const { folder } = spool
      if ('err' in obstacle) log.error({ ...obstacle, folder }, 'a spool waits: a disk cannot be read or written')
      else log.warn({ ...obstacle, folder }, 'a spool waits: its next message is not taken')
    }
  }

  /** Tries once more to deliver what waits. */
  async close(): Promise<void> {
    this.isClosing = true
    await Promise.all(this.running.values())
  }

  private begin(spool: Spool): void {
    if (this.isClosing || spool.isEmpty || this.running.has(spool)) return
    const { signal } = new AbortController()
    const delivered = this.deliverUntil(spool, () => this.isClosing || spool.isEmpty, signal).finally(() => {
      this.running.delete(spool)
      // What was stored at the last moment.
      this.begin(spool)
    })
    this.running.set(spool, delivered)
  }

  /** @returns why it ended before the spool's end */
  private async drain(spool: Spool, signal: AbortSignal): Promise<Obstacle | undefined> {
    const { keySpool, isBrokerUp, partitions, log } = this.deps
    if (spool.isEmpty || !isBrokerUp()) return undefined
    const { folder } = spool
    let obstacle: Obstacle | undefined
    const dropped = new Map<string, number>()
    const take = async (message: SpoolRecord): Promise<boolean> => {
      if (signal.aborted) return false
      const found = await this.deliver(message, spool === keySpool)
      obstacle ??= found
      return found === undefined
    }
    const drained = await spool.drain(async (records) => {
      const taken = await takeTogether(records, partitions, take)
      for (const { subject } of records.slice(0, taken).filter((record) => !isKnown(record)))
        dropped.set(subject, (dropped.get(subject) ?? 0) + 1)
      return taken
    })
    for (const [subject, messages] of dropped) {
      log.warn({ subject, messages, folder }, 'dropped messages of a spool that no stream takes: they carry no events')
    }
    if (drained.delivered > 0) log.info({ delivered: drained.delivered, end: drained.kind, folder }, 'drained a spool')
    return drained.kind === 'failed' ? { err: drained.error } : obstacle
  }

  private async deliver(message: SpoolRecord, isOfKeySpool: boolean): Promise<Obstacle | undefined> {
    if (isOfKeys(message) && !isOfKeySpool) {
      const appended = await this.deliverKeys(message)
      return appended.kind === 'failed' ? { err: appended.error } : undefined
    }
    const result = await this.publish(message)
    return result.kind === 'stored' ? undefined : { subject: message.subject, ...result }
  }

  private publish({ subject, payload, messageId }: SpoolRecord): Promise<PublishResult> {
    const { publisher, partitions } = this.deps
    return publisher.publish(mailboxIn(partitions, subject), payload, messageId, ATTEMPT_MS)
  }
}

/**
 * @param take whether the log has a message now
 * @returns how many of the first records it has. Of what is behind a message that is not taken it may have some, which
 *   then is sent once more
 */
async function takeTogether(
  records: readonly SpoolRecord[],
  partitions: number,
  take: (message: SpoolRecord) => Promise<boolean>,
): Promise<number> {
  const messages = joined(records.filter(isKnown), partitions)
  const failed = messages[await oneByOne(take)(messages)]
  if (failed === undefined) return records.length
  // All events before it are in the log, and their keys were still to come.
  const before = records.slice(0, records.indexOf(failed.parts[0]))
  const keys = isOfKeys(failed) ? [] : before.filter(isOfKeys)
  const lacking = keys[await takeTogether(keys, partitions, take)]
  return lacking === undefined ? before.length : before.indexOf(lacking)
}

const isKnown = (record: SpoolRecord): boolean =>
  isInvocations(record.subject) || isObservations(record.subject) || isOfKeys(record)
