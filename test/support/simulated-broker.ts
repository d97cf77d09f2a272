/**
 * A broker and a store that exist in memory only, on virtual time, with faults drawn from a seed: each request takes a
 * random time on its way there and back, its answer may get lost, it may fail, and the process that sent it may have
 * died or stand still when the answer comes. What the broker and the store do themselves is atomic, as theirs is.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import { WRONG_LAST_SEQUENCE } from '../../internal/broker/errors.js'
import type { LogRange, StoredEntry } from '../../internal/broker/log.js'
import type { Random } from '../../internal/local/sandbox/random.js'

/** A process of which only the faults are simulated. */
export class SimulatedProcess {
  readonly stopping = new AbortController()
  frozenUntilMs = 0
  isDead = false
  /** Whether it believes to own the log: members may disagree. */
  isOwner = false

  kill(): void {
    this.isDead = true
    this.stopping.abort()
  }
}

const LATENCY_MS_MAX = 40
const SLOW_MS_MAX = 3_000

/** Sends requests of a process: `act` happens once, or not at all if the request fails or the process died before. */
export class Network {
  private readonly random: Random
  /** Faults end with it set to false. */
  isFaulty = true

  constructor(random: Random) {
    this.random = random
  }

  async send<T>(process: SimulatedProcess, act: () => T): Promise<T> {
    await this.travel(process)
    if (this.isFaulty && this.random.share() < 0.02) throw new Error('the request failed')
    const answer = act()
    await this.travel(process)
    if (this.isFaulty && this.random.share() < 0.03) throw new Error('the answer was lost')
    return answer
  }

  /** A dead process never hears of anything again. */
  private async travel(process: SimulatedProcess): Promise<void> {
    const ms = this.random.share() < 0.05 ? this.random.share() * SLOW_MS_MAX : this.random.share() * LATENCY_MS_MAX
    await sleep(this.isFaulty ? ms : 1)
    while (process.frozenUntilMs > Date.now()) await sleep(process.frozenUntilMs - Date.now())
    if (process.isDead) await new Promise(() => undefined)
  }
}

class WrongLastSequence extends Error {
  readonly code = WRONG_LAST_SEQUENCE
}

/** A bucket with compare-and-set, as JetStream's. */
export class SimulatedBucket {
  private revision = 0
  private readonly entries = new Map<string, { readonly revision: number; readonly text: string }>()

  get(key: string) {
    return this.entries.get(key)
  }

  put(key: string, text: string, expected: number): number {
    if ((this.entries.get(key)?.revision ?? 0) !== expected) throw new WrongLastSequence(key)
    this.entries.set(key, { revision: ++this.revision, text })
    return this.revision
  }

  /** The members of the client's bucket that planned logs use. */
  asSeenBy(process: SimulatedProcess, network: Network): KV {
    const get = async (key: string) => {
      const entry = await network.send(process, () => this.get(key))
      if (entry === undefined) return null
      const { revision, text } = entry
      return { operation: 'PUT', revision, string: () => text, json: () => JSON.parse(text) }
    }
    const update = (key: string, text: string, revision: number) =>
      network.send(process, () => this.put(key, text, revision))
    return { get, update, create: (key: string, text: string) => update(key, text, 0) } as unknown as KV
  }
}

/** A stream of one subject. */
export class SimulatedStream {
  readonly messages: StoredEntry[] = []

  append(): void {
    const sequence = this.messages.length + 1
    this.messages.push({ sequence, messageId: '', data: new Uint8Array(1), subject: 'log', storedAt: '' })
  }

  read({ from, messagesMax }: LogRange): StoredEntry[] {
    return this.messages.slice(from - 1, from - 1 + messagesMax)
  }
}

/** A row of a batch: a message, and the instant at which it became valid. */
export interface SimulatedRow {
  readonly sequence: number
  readonly atMs: number
}

/**
 * A table on two shards. Each takes its rows of an insert as one, once per token; between the two the sender may die.
 */
export class SimulatedTable {
  readonly rows: SimulatedRow[] = []
  private readonly tokens = [new Set<string>(), new Set<string>()] as const

  /** @param token undefined: nothing is recognised as a repeat */
  insert(shard: 0 | 1, rows: readonly SimulatedRow[], token: string | undefined): void {
    if (token !== undefined) {
      if (this.tokens[shard].has(token)) return
      this.tokens[shard].add(token)
    }
    this.rows.push(...rows.filter(({ sequence }) => sequence % 2 === shard))
  }
}
