import { setTimeout as sleep } from 'node:timers/promises'
import type { ConsumerMessages, JetStreamManager, JsMsg } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { KEYS } from '../../../streams/keys.js'
import { type KeyHash, wordsOf } from '../../ids/key-hash.js'
import type { AdmissionKey } from '../../invocations/invocation-group.js'
import type { AdmissionIndex } from '../../repeats/admission-index.js'
import type { Logger } from '../../telemetry/log.js'
import { AdmittedKeys, isOfSender, type ReadKey, readAdmittedKeys } from './admitted-keys.js'
import { keysInLogSince, newestEventAtMs } from './log-tail.js'
import { type MissingKeys, ON_THE_WAY_MS } from './missing-keys.js'

export interface FollowKeysDeps {
  readonly manager: JetStreamManager
  readonly connection: Pick<NatsConnection, 'status'>
  readonly keys: AdmissionIndex
  /** Of this process: it knows its own keys. */
  readonly sender: Uint8Array
  /** Called with a key that another gateway has just admitted with another body than the one known. Read at once. */
  readonly onConflict: (key: KeyHash) => void
  readonly missing: Pick<MissingKeys, 'onGap' | 'onCaughtUp'>
  /** Writes a message of keys to KEYS, or keeps it until KEYS takes it; never rejects. */
  readonly storeKeys: (keys: Uint8Array) => Promise<void>
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
 * Adds the keys of all gateways to the index: those of the last 24 hours, then each as KEYS has it.
 *
 * Where a gateway and the broker died, or the connection between them, KEYS may lack the keys of a group that the log
 * has. So the end of the log is read, too: at the start, and when the broker was away. What KEYS lacked is written to it,
 * for the other gateways, and for the next start, when the end of the log is another.
 *
 * @returns once it has all that KEYS had at the call, or after `startMsMax`, and all of the log's end, or after as long
 */
export async function followKeys(deps: FollowKeysDeps, startMsMax = START_MS_MAX): Promise<void> {
  const { manager, missing, signal } = deps
  const endSinceMs = (await newestEventAtMs(manager)) - ON_THE_WAY_MS
  const follower = new Follower(deps, await manager.streams.info(KEYS.name), endSinceMs)
  void follower.read()
  void follower.watch()
  void follower.followReconnects()
  signal.addEventListener('abort', () => follower.stop(), { once: true })
  if (signal.aborted) follower.stop()
  const longEnough = (): Promise<void> => sleep(startMsMax, undefined, { ref: false })
  await Promise.race([follower.caughtUp, longEnough()])
  const ended = follower.readEnd(endSinceMs)
  void Promise.all([follower.caughtUp, ended]).then(() => missing.onCaughtUp())
  await Promise.race([ended, longEnough()])
}

type Info = Awaited<ReturnType<JetStreamManager['streams']['info']>>

class Follower {
  readonly caughtUp: Promise<void>
  private readonly deps: FollowKeysDeps
  /** From then on, the log is read at the start. */
  private readonly endSinceMs: number
  /** Sequence of the newest message that the stream had at the start, or when it was made anew. */
  private newest: number
  private created: string
  /** Of the servers that have KEYS. */
  private leader: string | undefined
  /** When KEYS was seen last with this leader. */
  private seenAtMs = Date.now()
  private next = 1
  /** Whether the next message is the one behind the last. */
  private isContinuous = false
  private lastAtMs = 0
  private isCaughtUp = false
  private onCaughtUp: () => void = () => undefined
  private messages: ConsumerMessages | undefined

  constructor(deps: FollowKeysDeps, info: Info, endSinceMs: number) {
    this.deps = deps
    this.endSinceMs = endSinceMs
    this.newest = info.state.last_seq
    this.created = info.created
    this.leader = info.cluster?.leader
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
      const lookedAtMs = Date.now()
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
      if (isAnother || info.cluster?.leader !== this.leader) void this.readEnd(this.seenAtMs - ON_THE_WAY_MS)
      this.leader = info.cluster?.leader
      this.seenAtMs = lookedAtMs
      this.checkCaughtUp(info)
    }
  }

  /** What a gateway that died wrote while the broker, or this connection, ended. */
  async followReconnects(): Promise<void> {
    for await (const { type } of this.deps.connection.status()) {
      if (this.deps.signal.aborted) return
      if (type === 'reconnect') void this.readEnd(this.seenAtMs - ON_THE_WAY_MS)
    }
  }

  /** Adds the keys of all events that the log has from an instant on, and writes those that were unknown to KEYS. */
  async readEnd(sinceMs: number): Promise<void> {
    const { manager, sender, storeKeys, log, signal } = this.deps
    while (!signal.aborted) {
      try {
        for await (const batch of keysInLogSince(manager, sinceMs)) {
          if (signal.aborted) return
          const unknown = new AdmittedKeys(sender)
          for (const { keys, storedAtMs } of batch) {
            for (const key of keys) if (this.note(readKeyOf(key), storedAtMs)) unknown.add(key)
          }
          if (unknown.payload !== undefined) await storeKeys(unknown.payload)
        }
        return
      } catch (cause) {
        log.warn({ err: cause }, 'the keys at the end of the log could not be read; will retry')
      }
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined)
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
    const { sender } = this.deps
    if (!isOfSender(message.data, sender)) for (const key of readAdmittedKeys(message.data)) this.note(key, atMs)
    if (seq >= this.newest) this.setCaughtUp()
  }

  /**
   * The first body that came under a key counts.
   *
   * @returns whether the key was unknown
   */
  private note({ hash, fingerprint, flags }: ReadKey, admittedAtMs: number): boolean {
    const { keys, onConflict } = this.deps
    const verdict = keys.lookup(hash, fingerprint, admittedAtMs)
    if (verdict === 'same') return false
    if (verdict !== 'conflict') return keys.admit(hash, fingerprint, flags, admittedAtMs)
    // What KEYS had at the start was reported then.
    if (this.isCaughtUp) onConflict(hash)
    return false
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
    // KEYS may have lost its end, and the log is not read from there on: nothing limits what has no keys.
    const missingFromMs = this.lastAtMs + ON_THE_WAY_MS
    if (missingFromMs < this.endSinceMs) this.deps.missing.onGap(missingFromMs, this.endSinceMs + ON_THE_WAY_MS)
    this.deps.log.info({ messages: this.next - 1 }, 'read the keys of the last 24 hours')
    this.onCaughtUp()
  }
}

const readKeyOf = ({ hash, fingerprint, flags }: AdmissionKey): ReadKey => ({
  hash: wordsOf(hash),
  fingerprint: wordsOf(fingerprint),
  flags,
})
