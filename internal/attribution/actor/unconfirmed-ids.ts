import type { JetStreamManager } from '@nats-io/jetstream'
import { UNCONFIRMED, UNCONFIRMED_ID_BYTES, UNCONFIRMED_SUBJECT } from '../../../streams/unconfirmed.js'
import { type LogEntry, nextAtLeader, readLog } from '../../broker/log.js'
import { hashOfInvocationId } from '../../ids/key-hash.js'
import { AdmissionIndex } from '../../repeats/admission-index.js'

const HOUR_MS = 60 * 60 * 1000
/** As long as the stream keeps them. */
const WINDOW_MS = 24 * HOUR_MS
/** 40 bytes each; older ones are in filters of 2 bytes each, whose rare false positives cost a needless look. */
const EXACT_IDS_MAX = 100_000
const FILTER_BITS_PER_ID = 16
/** 33 million ids. */
const FILTER_BYTES_MAX = 64 * 1024 * 1024
const NO_FINGERPRINT = new Int32Array(2)
const LOG = { stream: UNCONFIRMED.name, subject: UNCONFIRMED_SUBJECT }
const MESSAGES_MAX = 500
const BYTES_MAX = 8 * 1024 * 1024

/**
 * The events that some gateway admitted without confirmation (stream UNCONFIRMED), of all partitions. Another gateway
 * may have admitted one of them as surely new, under another trace: whichever of the two is later in the log has to
 * yield, so both have to be looked for, not only the one that is marked.
 *
 * A gateway writes the id before the event. So an event in the log that is later than an unconfirmed one of its id
 * finds the id here, if it is looked for after the event was read, at the leader of the stream: a follower may not have
 * it yet.
 */
export class UnconfirmedIds {
  private readonly manager: JetStreamManager
  private readonly clock: () => number
  private readonly hash = new Int32Array(4)
  private readonly index = new AdmissionIndex({
    windowMs: WINDOW_MS,
    periodMs: HOUR_MS,
    exactKeysMax: EXACT_IDS_MAX,
    hasFingerprint: false,
    filterBitsPerKey: FILTER_BITS_PER_ID,
    filterBytesMax: () => FILTER_BYTES_MAX,
  })
  private readUpTo = 0
  private current: Promise<void> = Promise.resolve()
  private following: Promise<void> | undefined

  /** @param clock milliseconds, monotonic */
  constructor(manager: JetStreamManager, clock: () => number) {
    this.manager = manager
    this.clock = clock
  }

  /**
   * Reads what the stream has now. Of concurrent calls, those that wait share one read, which begins after them.
   *
   * @throws Error when the broker does not answer
   */
  upToNow(): Promise<void> {
    this.following ??= this.current
      .catch(() => undefined)
      .then(() => {
        this.current = this.following as Promise<void>
        this.following = undefined
        return this.read()
      })
    return this.following
  }

  /** Whether an event may have been admitted without confirmation; false for those that the last read did not find. */
  mayHave(id: Uint8Array): boolean {
    hashOfInvocationId(id, this.hash)
    return this.index.lookup(this.hash, NO_FINGERPRINT, this.clock()) !== 'new'
  }

  private async read(): Promise<void> {
    for (;;) {
      const next = await nextAtLeader(this.manager, { ...LOG, from: this.readUpTo + 1 })
      if (next === undefined) return
      this.take(next)
      await this.readMany()
    }
  }

  /** Reads on, where many messages wait; from any server, which may not have the newest. */
  private async readMany(): Promise<void> {
    const limits = { messagesMax: MESSAGES_MAX, bytesMax: BYTES_MAX }
    const entries = await readLog(this.manager, { ...LOG, ...limits, from: this.readUpTo + 1 })
    for (const entry of entries) this.take(entry)
  }

  private take({ sequence, data }: LogEntry): void {
    const nowMs = this.clock()
    for (let at = 0; at + UNCONFIRMED_ID_BYTES <= data.length; at += UNCONFIRMED_ID_BYTES) {
      hashOfInvocationId(data.subarray(at, at + UNCONFIRMED_ID_BYTES), this.hash)
      this.index.admit(this.hash, NO_FINGERPRINT, 0, nowMs)
    }
    this.readUpTo = Math.max(this.readUpTo, sequence)
  }
}
