import type { NatsConnection } from '@nats-io/transport-node'
import { claimsSubject } from '../../../streams/gateways.js'
import type { KeyHash } from '../../ids/key-hash.js'
import type { Logger } from '../../telemetry/log.js'
import { type EventAnswer, FIRST, isEventAnswer, isTaken, UNSURE } from '../keys/event-answers.js'
import type { OwnedEvents } from '../keys/owned-events.js'
import type { KeyOwners } from './key-owners.js'
import type { OwnerChanges } from './owner-changes.js'
import { type EventRecord, encodeEvents, type PeerId } from './peer-messages.js'

/** A record for the owner of an event; `onAnswer` is called once, if its sender waits. */
export interface EventNotice extends EventRecord {
  readonly onAnswer?: (answer: EventAnswer) => void
}

export interface EventClaimsDeps {
  readonly connection: NatsConnection
  readonly sender: PeerId
  readonly owners: KeyOwners
  readonly changes: Pick<OwnerChanges, 'areSettled' | 'noteSilence'>
  readonly owned: Pick<OwnedEvents, 'claim' | 'release'>
  /** Sends a notice at the end of this event-loop iteration, in the order of the calls. */
  readonly post: (owner: string, notice: EventNotice) => void
  /** An owner that was silent answers again. Neither has heard of all events that the other had claimed. */
  readonly onReturn: (owner: string, silentMs: number) => void
  readonly partitions: number
  /** An owner that has not answered within this time is silent: nobody waits for it until it has answered again. */
  readonly answerWithinMs: number
  /** Milliseconds, monotonic. */
  readonly clock: () => number
  readonly log: Logger
}

const PING_SILENT_EVERY_MS = 1_000

interface Batch {
  readonly owner: string
  readonly notices: readonly EventNotice[]
  readonly sentAtMs: number
}

/**
 * The requesting side of claims for event ids. A claim whose owner does not answer in time gets `UNSURE`. Claims go to
 * a silent owner as well: one that was stopped reads them, in order, when it continues.
 */
export class EventClaims {
  private readonly deps: EventClaimsDeps
  /** With the time of the first message that each has not answered. */
  private readonly silentOwners = new Map<string, number>()
  /** Sent and not answered yet. */
  private readonly waiting = new Set<Batch>()
  private pinging: NodeJS.Timeout | undefined

  constructor(deps: EventClaimsDeps) {
    this.deps = deps
  }

  /** Whether no other gateway owns events: nothing needs to be claimed. */
  get isAlone(): boolean {
    return this.deps.owners.isAlone
  }

  /** Whether the owners have not changed lately: an event that is new to its owner is then new. */
  get areOwnersSettled(): boolean {
    return this.deps.changes.areSettled
  }

  /**
   * Claims an event for a partition. The caller must not change `key` afterwards.
   *
   * @param onAnswer called once: at once when this gateway is the owner, or the owner is silent
   * @returns the owner; undefined when it is this gateway. Pass it to `settled`
   */
  claim(key: KeyHash, partition: number, onAnswer: (answer: EventAnswer) => void): string | undefined {
    const { owners, owned, post } = this.deps
    const owner = owners.ownerOf(key)
    if (owner === undefined) {
      onAnswer(owned.claim(key, partition))
    } else if (this.silentOwners.has(owner)) {
      post(owner, { key, partition, what: 'claim' })
      onAnswer(UNSURE)
    } else {
      post(owner, { key, partition, what: 'claim', onAnswer })
    }
    return owner
  }

  /**
   * Reports whether the log holds a claimed event now. The owner needs to know that it does not; or that it does, if
   * the owner has changed. If the owner was not sure, or silent, all others get to know it, and the owner again: the
   * claim may have been lost.
   *
   * @param owner the result of `claim`, or undefined for an event that was admitted without a claim
   */
  settled(key: KeyHash, partition: number, owner: string | undefined, answer: EventAnswer, isStored: boolean): void {
    const { owners, owned, post } = this.deps
    if (isStored) {
      const now = owners.ownerOf(key)
      // Gateways that see a dead owner leave earlier than this one does own its events among themselves meanwhile.
      const told = answer === UNSURE ? owners.peers : now === undefined ? [] : [now]
      for (const peer of told) if (peer !== owner || answer === UNSURE) post(peer, { key, partition, what: 'stored' })
    } else if (!isTaken(answer)) {
      if (owner === undefined) owned.release(key, partition)
      else post(owner, { key, partition, what: 'release' })
    }
  }

  /** Sends notices that were posted together. */
  async send(owner: string, notices: readonly EventNotice[]): Promise<void> {
    const { connection, sender, answerWithinMs, partitions } = this.deps
    const batch = { owner, notices, sentAtMs: this.deps.clock() }
    if (this.silentOwners.has(owner)) this.report(notices, undefined)
    else this.waiting.add(batch)
    // After a stall of this process the timer fires first although the answer has arrived: let it be read.
    const timer = setTimeout(() => setImmediate(() => this.onSilence(batch)), answerWithinMs)
    try {
      const request = encodeEvents(sender, notices)
      const { data } = await connection.request(claimsSubject(owner), request, { timeout: 2 * answerWithinMs })
      const isIntelligible = data.length === notices.length && data.every((byte) => isEventAnswer(byte, partitions))
      if (!isIntelligible) return this.onSilence(batch)
      const silentMs = this.endSilence(owner)
      if (silentMs !== undefined) this.deps.onReturn(owner, silentMs)
      if (this.waiting.delete(batch)) this.report(notices, data)
    } catch {
      this.onSilence(batch)
    } finally {
      clearTimeout(timer)
    }
  }

  /** A gateway has departed: nobody waits for its answers. @returns for how long it had been silent */
  forgetOwner(owner: string): number {
    const silentMs = this.endSilence(owner) ?? 0
    this.endWaiting((batch) => batch.owner === owner)
    return silentMs
  }

  /** Answers every claim in flight, and those in `unsent`, with `UNSURE`. */
  close(unsent: readonly EventNotice[]): void {
    clearInterval(this.pinging)
    this.endWaiting(() => true)
    this.report(unsent, undefined)
  }

  private onSilence(batch: Batch): void {
    if (!this.waiting.has(batch)) return
    const { owner, notices, sentAtMs } = batch
    if (!this.silentOwners.has(owner)) this.silentOwners.set(owner, sentAtMs)
    // Without claims for it, one that answers again would be taken for silent until there is one.
    this.pinging ??= setInterval(() => {
      for (const silent of this.silentOwners.keys()) void this.send(silent, [])
    }, PING_SILENT_EVERY_MS)
    this.deps.changes.noteSilence(true)
    this.deps.log.warn(
      { owner, events: notices.length },
      'a peer gateway does not answer claims for the events it owns',
    )
    this.endWaiting((other) => other.owner === owner)
  }

  /** @returns for how long it was silent; undefined if it was not */
  private endSilence(owner: string): number | undefined {
    const sinceMs = this.silentOwners.get(owner)
    if (sinceMs === undefined) return undefined
    this.silentOwners.delete(owner)
    if (this.silentOwners.size === 0) {
      clearInterval(this.pinging)
      this.pinging = undefined
    }
    this.deps.changes.noteSilence(this.silentOwners.size > 0)
    return this.deps.clock() - sinceMs
  }

  private endWaiting(isOver: (batch: Batch) => boolean): void {
    for (const batch of this.waiting) {
      if (!isOver(batch)) continue
      this.waiting.delete(batch)
      this.report(batch.notices, undefined)
    }
  }

  private report(notices: readonly EventNotice[], answers: Uint8Array | undefined): void {
    for (const [i, { onAnswer }] of notices.entries()) {
      try {
        const answer = answers?.[i] ?? UNSURE
        // The owner may be one that had not seen a change of the owners which this gateway has seen meanwhile.
        onAnswer?.(answer === FIRST && !this.areOwnersSettled ? UNSURE : answer)
      } catch (cause) {
        // One failing callback must not leave the other events of the batch without an answer.
        this.deps.log.error({ err: cause }, 'a request failed while handling the answer to the claim of its event')
      }
    }
  }
}
