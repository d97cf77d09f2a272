/** A bucket in memory, as far as mirrors and the watermark use it. */
import { EventEmitter, on, once } from 'node:events'
import type { KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { openedOver } from '../../internal/broker/connect.js'
import { WRONG_LAST_SEQUENCE } from '../../internal/broker/errors.js'

interface Entry {
  readonly key: string
  readonly text: string
  readonly revision: number
}

export interface MemoryBucket {
  readonly kv: KV
  put(key: string, value: object): Promise<number>
  /** Ends the consumers of all watches, as a server does with which they end: they report nothing more. */
  forgetWatches(): void
  /** As if the consumer ended at once: watches that begin while it is true report nothing. */
  areWatchesDead: boolean
  /** How many watches have begun. */
  watches: number
  /** Awaited behind each of the first entries of a watch, and of those that it catches up with. */
  between: () => Promise<void>
  /** Lets all watches lag behind, until they catch up with the newest entry of each key. */
  lag(): void
  catchUp(): Promise<void>
  /** Tells what follows the connection that it is there again. */
  reconnect(): void
}

export function memoryBucket(): MemoryBucket {
  const entries = new Map<string, Entry>()
  const written = new EventEmitter()
  let revision = 0
  let laggingFrom: number | undefined
  const write = async (key: string, text: string, before = entries.get(key)?.revision ?? 0): Promise<number> => {
    if ((entries.get(key)?.revision ?? 0) !== before) throw Object.assign(new Error(key), { code: WRONG_LAST_SEQUENCE })
    const entry = { key, text, revision: ++revision }
    entries.delete(key)
    entries.set(key, entry)
    if (laggingFrom === undefined) written.emit('entry', entry, 0)
    return revision
  }
  const shown = ({ text, ...entry }: Entry, delta = 0) => ({
    ...entry,
    operation: 'PUT',
    delta,
    string: () => text,
    json: () => JSON.parse(text),
  })
  async function* watched(first: readonly Entry[], ended: AbortSignal) {
    const later = on(written, 'entry', { signal: ended })
    for (const [i, entry] of first.entries()) {
      yield shown(entry, first.length - 1 - i)
      await bucket.between()
    }
    for await (const [entry, delta] of later) yield shown(entry as Entry, delta as number)
  }
  const bucket: MemoryBucket = {
    kv: undefined as never,
    areWatchesDead: false,
    watches: 0,
    put: (key, value) => write(key, JSON.stringify(value)),
    forgetWatches: () => void written.emit('forget'),
    between: async () => undefined,
    lag() {
      laggingFrom = revision
    },
    async catchUp() {
      const missed = [...entries.values()].filter((entry) => entry.revision > (laggingFrom ?? revision))
      laggingFrom = undefined
      for (const [i, entry] of missed.entries()) {
        written.emit('entry', entry, missed.length - 1 - i)
        await bucket.between()
      }
    },
    reconnect: () => void written.emit('status', { type: 'reconnect' }),
  }
  const kv = {
    bucket: 'memory',
    status: async () => ({ bucket: 'memory', streamInfo: { state: { last_seq: revision } } }),
    get: async (key: string) => (entries.has(key) ? shown(entries.get(key) as Entry) : null),
    create: (key: string, text: string) => write(key, text, 0),
    update: write,
    async watch() {
      bucket.watches++
      const [stopping, forgotten] = [new AbortController(), new AbortController()]
      written.once('forget', () => forgotten.abort())
      if (bucket.areWatchesDead) forgotten.abort()
      const entriesOf = watched([...entries.values()], AbortSignal.any([stopping.signal, forgotten.signal]))
      const stopped = once(stopping.signal, 'abort').then(() => ({ done: true, value: undefined }))
      const next = async () => {
        const entry = forgotten.signal.aborted ? stopped : entriesOf.next().catch(() => stopped)
        return Promise.race([entry, stopped])
      }
      return { stop: () => stopping.abort(), [Symbol.asyncIterator]: () => ({ next }) }
    },
  } as unknown as KV
  async function* status() {
    for await (const [change] of on(written, 'status')) yield change
  }
  const connection = { status, isClosed: () => false } as unknown as NatsConnection
  return Object.assign(bucket, { kv: openedOver(connection, kv, async () => revision) })
}
