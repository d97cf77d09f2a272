import { setTimeout as sleep } from 'node:timers/promises'
import type { ConsumerMessages, JetStreamManager, JsMsg } from '@nats-io/jetstream'
import { KEYS } from '../../../streams/keys.js'
import type { KeyHash } from '../../ids/key-hash.js'
import type { AdmissionIndex } from '../../repeats/admission-index.js'
import type { Logger } from '../../telemetry/log.js'
import { isOfSender, readAdmittedKeys } from './admitted-keys.js'
import type { MissingKeys } from './missing-keys.js'

export interface FollowKeysDeps {
  readonly manager: JetStreamManager
  readonly keys: AdmissionIndex
  /** Of this process: it knows its own keys. */
  readonly sender: Uint8Array
  /** Called with a key that another gateway has just admitted with another body than the one known. Read at once. */
  readonly onConflict: (key: KeyHash) => void
  readonly missing: Pick<MissingKeys, 'onGap' | 'onCaughtUp'>
  readonly log: Logger
  /** Ends it. */
  readonly signal: AbortSignal
}

/** Messages that the broker sends ahead. */
const AHEAD_MAX = 5_000
const AGAIN_MS = 500
/** A consumer that died with its broker, or with the stream, is noticed within twice this time. */
const LOOK_EVERY_MS = 2_000
/** A day of 1,000 single requests per second takes minutes; the rest is read while the gateway serves. */
const START_MS_MAX = 30_000

/**
 * Adds the keys of all gateways to the index: those of the last 24 hours, then each as the log has it.
 *
 * @returns once it has all that the stream had at the call, or after `startMsMax`
 */
export async function followKeys(deps: FollowKeysDeps, startMsMax = START_MS_MAX): Promise<void> {
  const { manager, signal } = deps
  const follower = new Follower(deps, await manager.streams.info(KEYS.name))
  void follower.read()
  void follower.watch()
  signal.addEventListener('abort', () => follower.stop(), { once: true })
  if (signal.aborted) follower.stop()
  await Promise.race([follower.caughtUp, sleep(startMsMax, undefined, { ref: false })])
}

type Info = Awaited<ReturnType<JetStreamManager['streams']['info']>>

class Follower {
  readonly caughtUp: Promise<void>
  private readonly deps: FollowKeysDeps
  /** Sequence of the newest message that the stream had at the start, or when it was made anew. */
  private newest: number
  private created: string
  private next = 1
  /** Whether the next message is the one behind the last. */
  private isContinuous = false
  private lastAtMs = 0
  private isCaughtUp = false
  private onCaughtUp: () => void = () => undefined
  private messages: ConsumerMessages | undefined

  constructor(deps: FollowKeysDeps, info: Info) {
    this.deps = deps
    this.newest = info.state.last_seq
    this.created = info.created
    this.caughtUp = new Promise((resolve) => {
      this.onCaughtUp = resolve
    })
    this.checkCaughtUp(info)
  }

  /** Reads from `next` on, again and again, until `signal`. */
  async read(): Promise<void> {
    const { manager, log, signal } = this.deps
    while (!signal.aborted) {
      try {
        const consumer = await manager.jetstream().consumers.get(KEYS.name, { opt_start_seq: this.next })
        this.messages = await consumer.consume({ max_messages: AHEAD_MAX, callback: (message) => this.take(message) })
        if (signal.aborted) this.messages.stop()
        const cause = await this.messages.closed()
        if (cause instanceof Error) throw cause
      } catch (cause) {
        if (!signal.aborted) log.warn({ err: cause }, 'the keys of other gateways could not be read; will retry')
      }
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Compares what was read with what the stream has: the client notices a lost consumer after 45 s (measured). */
  async watch(): Promise<void> {
    const { manager, signal } = this.deps
    for (let before = this.next; !signal.aborted; before = this.next) {
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined)
      const info = await manager.streams.info(KEYS.name).catch(() => undefined)
      if (info === undefined || signal.aborted) continue
      const { first_seq: first, last_seq: last } = info.state
      const isAnother = info.created !== this.created || last < this.next - 1
      if (isAnother) {
        this.created = info.created
        this.newest = last
        this.next = 1
        this.isContinuous = false
      }
      const isStuck = this.next === before && last >= Math.max(first, this.next)
      if (isAnother || isStuck) this.messages?.stop()
      this.checkCaughtUp(info)
    }
  }

  stop(): void {
    this.messages?.stop()
    this.onCaughtUp()
  }

  private take(message: JsMsg): void {
    const { seq } = message
    if (seq < this.next) return
    const atMs = message.time.getTime()
    if (!this.isContinuous || seq > this.next) this.deps.missing.onGap(this.lastAtMs, atMs)
    this.isContinuous = true
    this.next = seq + 1
    this.lastAtMs = atMs
    this.note(message.data, atMs)
    if (seq >= this.newest) this.setCaughtUp()
  }

  /** The first body that came under a key counts. */
  private note(payload: Uint8Array, admittedAtMs: number): void {
    const { keys, sender, onConflict } = this.deps
    if (isOfSender(payload, sender)) return
    for (const { hash, fingerprint, flags } of readAdmittedKeys(payload)) {
      const verdict = keys.lookup(hash, fingerprint, admittedAtMs)
      if (verdict === 'same') continue
      if (verdict !== 'conflict') keys.admit(hash, fingerprint, flags, admittedAtMs)
      // What the stream had at the start was reported then.
      else if (this.isCaughtUp) onConflict(hash)
    }
  }

  /** All messages that were there at the start may have expired, or have been purged, before they were read. */
  private checkCaughtUp({ state }: Info): void {
    if (this.isCaughtUp || (state.messages > 0 && state.first_seq <= this.newest)) return
    const nowMs = Date.now()
    this.deps.missing.onGap(this.lastAtMs, nowMs)
    this.lastAtMs = nowMs
    this.next = Math.max(this.next, state.first_seq)
    this.isContinuous = true
    this.setCaughtUp()
  }

  private setCaughtUp(): void {
    if (this.isCaughtUp) return
    this.isCaughtUp = true
    this.deps.missing.onCaughtUp()
    this.deps.log.info({ messages: this.next - 1 }, 'read the keys of the last 24 hours')
    this.onCaughtUp()
  }
}
