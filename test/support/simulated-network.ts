/**
 * A broker's log and buckets in memory, on virtual time, for simulated gateways. As on one connection each, what a
 * process sends arrives in the order in which it was sent, and so does what it receives; each takes a random time.
 * While a process is cut off, what it sends waits or is lost, and what it watches and reads comes afterwards: a client
 * renews both.
 */

import type { JetStreamManager, JsMsg, StoredMsg } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { errors, type NatsConnection } from '@nats-io/transport-node'
import { openedOver } from '../../internal/broker/connect.js'
import type { Publisher, PublishResult } from '../../internal/broker/publisher.js'
import type { Random } from '../../internal/local/sandbox/random.js'
import { INVOCATIONS, INVOCATIONS_OF_ALL } from '../../streams/invocations.js'
import { KEYS_SUBJECT } from '../../streams/keys.js'
import type { TimerOwner, VirtualTime } from './virtual-time.js'

const LATENCY_MS_MAX = 8
/** Some messages take longer: a collection of garbage, a busy machine. */
const SLOW_SHARE = 0.01
const SLOW_MS_MAX = 700
/** Between messages on one connection: rounding must not change their order. */
const APART_MS = 0.001

/** A process, and its connection to the broker. */
export class SimulatedHost implements TimerOwner {
  readonly stopping = new AbortController()
  frozenUntilMs = 0
  cutUntilMs = 0
  /** Whether what it sends meanwhile is lost, instead of late. */
  losesSent = false
  isDead = false
  sentUntilMs = 0
  receivedUntilMs = 0

  get isCut(): boolean {
    return this.cutUntilMs > Date.now()
  }

  kill(): void {
    this.isDead = true
    this.stopping.abort()
  }
}

/** Reads KEYS. */
interface Follower {
  readonly host: SimulatedHost
  readonly callback: (message: JsMsg) => void
}

interface Entry {
  readonly key: string
  readonly operation: 'PUT' | 'DEL'
  readonly revision: number
  readonly text: string
}

interface Watcher {
  readonly host: SimulatedHost
  readonly keys: string
  push(entry: Entry, delta: number): void
}

const matches = (pattern: string, subject: string): boolean => {
  const [wanted, given] = [pattern.split('.'), subject.split('.')]
  for (const [i, token] of wanted.entries()) {
    if (token === '>') return given.length > i
    if (given[i] === undefined || (token !== '*' && token !== given[i])) return false
  }
  return wanted.length === given.length
}

interface Range {
  readonly seq?: number
}

interface BatchQuery extends Range {
  readonly start_time?: Date
  readonly batch?: number
  readonly next_by_subj?: string
  readonly callback: (done: object | null, message?: StoredMsg) => void
}

/** A message of the log. */
export interface LogMessage {
  readonly sequence: number
  readonly subject: string
  readonly payload: Uint8Array
  readonly storedAtMs: number
}

export class SimulatedBroker {
  readonly log: LogMessage[] = []
  /** Some messages are slow. */
  isFaulty = false
  private readonly messageIds = new Map<string, number>()
  private readonly time: VirtualTime
  private readonly random: Random
  private readonly followers = new Set<Follower>()
  private readonly watchers = new Set<Watcher>()
  private readonly entries = new Map<string, Entry>()
  private revision = 0
  private purged = 0

  constructor(time: VirtualTime, random: Random) {
    this.time = time
    this.random = random
  }

  /** What a dead process followed. */
  forget(host: SimulatedHost): void {
    for (const follower of this.followers) if (follower.host === host) this.followers.delete(follower)
    for (const watcher of this.watchers) if (watcher.host === host) this.watchers.delete(watcher)
  }

  publisherOf(host: SimulatedHost): Publisher {
    return {
      publish: (subject, payload, messageId, timeoutMs) =>
        new Promise<PublishResult>((resolve) => {
          const timer = setTimeout(() => resolve({ kind: 'unavailable', reason: 'timeout' }), timeoutMs)
          const copy = Uint8Array.from(payload)
          this.up(host, () => {
            const known = messageId === '' ? undefined : this.messageIds.get(messageId)
            const sequence = known ?? this.append(subject, copy, messageId)
            this.down(host, () => {
              clearTimeout(timer)
              resolve({ kind: 'stored', sequence, duplicate: known !== undefined })
            })
          })
        }),
    }
  }

  private append(subject: string, payload: Uint8Array, messageId: string): number {
    const sequence = this.log.length + 1
    this.messageIds.set(messageId, sequence)
    this.log.push({ sequence, subject, payload, storedAtMs: Date.now() })
    const keys = this.keys()
    if (subject === KEYS_SUBJECT) {
      for (const { host, callback } of this.followers) {
        this.down(host, () => callback(keyMessage(keys, keys.length)))
      }
    }
    return sequence
  }

  /** Takes all messages of KEYS away that it has. */
  purgeKeys(): void {
    this.purged = this.keys().length
  }

  private keys(): readonly LogMessage[] {
    return this.log.filter(({ subject }) => subject === KEYS_SUBJECT)
  }

  /** Of INVOCATIONS. */
  private events(subject = INVOCATIONS_OF_ALL, from = 0, sinceMs = 0): readonly LogMessage[] {
    return this.log.filter(
      (each) => matches(subject, each.subject) && each.sequence >= from && each.storedAtMs >= sinceMs,
    )
  }

  /** Something that the broker is asked for; rejects when no answer comes within five seconds. */
  ask<T>(host: SimulatedHost, act: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new errors.TimeoutError()), 5_000)
      this.up(host, () => {
        const answer = act()
        this.down(host, () => {
          clearTimeout(timer)
          resolve(answer)
        })
      })
    })
  }

  /** The members of the client's manager that a reader of KEYS uses. */
  managerOf(host: SimulatedHost): JetStreamManager {
    const consumerFrom = (start: number) => ({
      consume: ({ callback }: Pick<Follower, 'callback'>) =>
        this.ask(host, () => {
          const follower = { host, callback }
          const now = this.keys()
          for (let sequence = Math.max(start, this.purged + 1); sequence <= now.length; sequence++) {
            this.down(host, () => callback(keyMessage(now, sequence)))
          }
          this.followers.add(follower)
          let stop = (): void => undefined
          const closed = new Promise<void>((resolve) => {
            stop = () => {
              this.followers.delete(follower)
              resolve()
            }
          })
          return { stop, closed: () => closed }
        }),
    })
    const manager = {
      streams: {
        info: (stream: string) =>
          this.ask(host, () => {
            if (stream === INVOCATIONS.name) return { state: { last_seq: this.log.length } }
            const { length } = this.keys()
            const { purged } = this
            return { created: 'once', state: { messages: length - purged, first_seq: purged + 1, last_seq: length } }
          }),
        getMessage: (_: string, query: { readonly last_by_subj?: string; readonly next_by_subj?: string } & Range) =>
          this.ask(host, () => {
            const { last_by_subj: lastOf, next_by_subj: nextOf = lastOf } = query
            const found = this.events(nextOf, query.seq)
            const message = lastOf === undefined ? found[0] : found.at(-1)
            return message === undefined ? null : stored(message)
          }),
      },
      direct: {
        getBatch: async (_: string, { callback, start_time: start, seq, batch, next_by_subj: subject }: BatchQuery) => {
          const found = await this.ask(host, () => this.events(subject, seq, start?.getTime()).slice(0, batch))
          for (const message of found) callback(null, stored(message))
          callback({})
          return { stop: () => undefined }
        },
      },
      jetstream: () => ({
        consumers: {
          get: async (_: string, { opt_start_seq: start }: { readonly opt_start_seq: number }) => consumerFrom(start),
        },
      }),
    }
    return manager as unknown as JetStreamManager
  }

  /** The members of the client's bucket that a mirror uses. */
  bucketOf(host: SimulatedHost): KV {
    const write = (key: string, operation: Entry['operation'], text: string): Promise<number> =>
      this.ask(host, () => {
        const entry = { key, operation, revision: ++this.revision, text }
        this.entries.set(key, entry)
        for (const watcher of this.watchers) {
          if (matches(watcher.keys, key)) this.down(watcher.host, () => watcher.push(entry, 0))
        }
        return entry.revision
      })
    const bucket = {
      put: (key: string, text: string) => write(key, 'PUT', text),
      delete: (key: string) => write(key, 'DEL', ''),
      status: () =>
        this.ask(host, () => ({
          bucket: 'simulated',
          values: this.entries.size,
          streamInfo: { state: { last_seq: this.revision } },
        })),
      watch: ({ key: keys }: { readonly key: string }) =>
        this.ask(host, () => {
          const queue = new Queue<ReturnType<typeof watched>>()
          const watcher: Watcher = { host, keys, push: (entry, delta) => queue.push(watched(entry, delta)) }
          const now = [...this.entries.values()]
            .filter(({ key }) => matches(keys, key))
            .sort((one, other) => one.revision - other.revision)
          for (const [i, entry] of now.entries()) {
            this.down(host, () => watcher.push(entry, now.length - 1 - i))
          }
          this.watchers.add(watcher)
          const stop = (): void => {
            this.watchers.delete(watcher)
            queue.end()
          }
          return Object.assign(queue, { stop })
        }),
    }
    const connection = {
      // A message without an answer: `$KV.<bucket>.<key>`.
      publish: (subject: string, text: string) =>
        void write(subject.split('.').slice(2).join('.'), 'PUT', text).catch(() => undefined),
      status: () => [],
      isClosed: () => true,
    }
    return openedOver(connection as unknown as NatsConnection, bucket as unknown as KV, (keys) =>
      this.ask(host, () =>
        Math.max(0, ...[...this.entries.values()].filter(({ key }) => matches(keys, key)).map((one) => one.revision)),
      ),
    )
  }

  /** A message to the broker, which takes no notice of who has died since. */
  private up(host: SimulatedHost, arrive: () => void): void {
    if (host.isCut && host.losesSent) return
    const nowMs = this.time.nowMs()
    host.sentUntilMs = Math.max(host.sentUntilMs + APART_MS, nowMs + this.latencyMs(), host.cutUntilMs)
    this.time.runIn(EVERYWHERE, () => setTimeout(arrive, host.sentUntilMs - nowMs))
  }

  private down(host: SimulatedHost, arrive: () => void): void {
    const nowMs = this.time.nowMs()
    host.receivedUntilMs = Math.max(host.receivedUntilMs + APART_MS, nowMs + this.latencyMs(), host.cutUntilMs)
    this.time.runIn(host, () => setTimeout(arrive, host.receivedUntilMs - nowMs))
  }

  private latencyMs(): number {
    const { random } = this
    return this.isFaulty && random.share() < SLOW_SHARE ? random.share() * SLOW_MS_MAX : random.share() * LATENCY_MS_MAX
  }
}

/** What the broker does stops for nobody. */
const EVERYWHERE: TimerOwner = { isDead: false, frozenUntilMs: 0 }

const stored = ({ sequence, subject, payload, storedAtMs }: LogMessage): StoredMsg => {
  const time = new Date(storedAtMs)
  const header = { get: () => '' }
  return { seq: sequence, subject, data: payload, time, timestamp: time.toISOString(), header } as unknown as StoredMsg
}

/** @param sequence from 1 */
function keyMessage(keys: readonly LogMessage[], sequence: number): JsMsg {
  const { payload, storedAtMs } = keys[sequence - 1] as LogMessage
  const info = { pending: keys.length - sequence }
  return { seq: sequence, data: payload, time: new Date(storedAtMs), info } as unknown as JsMsg
}

const watched = ({ key, operation, revision, text }: Entry, delta: number) => ({
  key,
  operation,
  revision,
  delta,
  json: () => JSON.parse(text),
})

/** An endless list, read as it grows. */
class Queue<T> implements AsyncIterable<T> {
  private readonly items: T[] = []
  private wake: () => void = () => undefined
  private hasEnded = false

  push(item: T): void {
    this.items.push(item)
    this.wake()
  }

  end(): void {
    this.hasEnded = true
    this.wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const item = this.items.shift()
      if (item !== undefined) yield item
      else if (this.hasEnded) return
      else
        await new Promise<void>((resolve) => {
          this.wake = resolve
        })
    }
  }
}
