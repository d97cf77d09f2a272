/** A bucket in memory, as far as mirrors and the watermark use it. */
import { EventEmitter, on } from 'node:events'
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
  /** As the consumer of a watch that ended with its server: watches that begin while it is true report nothing. */
  areWatchesDead: boolean
  /** How many watches have begun. */
  watches: number
}

export function memoryBucket(): MemoryBucket {
  const entries = new Map<string, Entry>()
  const written = new EventEmitter()
  let revision = 0
  const write = async (key: string, text: string, before = entries.get(key)?.revision ?? 0): Promise<number> => {
    if ((entries.get(key)?.revision ?? 0) !== before) throw Object.assign(new Error(key), { code: WRONG_LAST_SEQUENCE })
    const entry = { key, text, revision: ++revision }
    entries.delete(key)
    entries.set(key, entry)
    written.emit('entry', entry)
    return revision
  }
  const shown = ({ text, ...entry }: Entry, delta = 0) => ({
    ...entry,
    operation: 'PUT',
    delta,
    string: () => text,
    json: () => JSON.parse(text),
  })
  async function* watched(first: readonly Entry[], stopping: AbortSignal) {
    for (const [i, entry] of first.entries()) yield shown(entry, first.length - 1 - i)
    for await (const [entry] of on(written, 'entry', { signal: stopping })) yield shown(entry as Entry)
  }
  const bucket: MemoryBucket = {
    kv: undefined as never,
    areWatchesDead: false,
    watches: 0,
    put: (key, value) => write(key, JSON.stringify(value)),
  }
  const kv = {
    bucket: 'memory',
    status: async () => ({ bucket: 'memory', streamInfo: { state: { last_seq: revision } } }),
    get: async (key: string) => (entries.has(key) ? shown(entries.get(key) as Entry) : null),
    create: (key: string, text: string) => write(key, text, 0),
    update: write,
    async watch() {
      bucket.watches++
      const stopping = new AbortController()
      const silent = new Promise<never>((_, reject) => {
        stopping.signal.addEventListener('abort', () => reject(new Error('stopped')))
      })
      const dead = { next: () => silent }
      const alive = watched([...entries.values()], stopping.signal)
      const iterator = bucket.areWatchesDead ? dead : alive
      const next = () => iterator.next().catch(() => ({ done: true, value: undefined }))
      return { stop: () => stopping.abort(), [Symbol.asyncIterator]: () => ({ next }) }
    },
  } as unknown as KV
  const connection = { status: () => [], isClosed: () => false } as unknown as NatsConnection
  return Object.assign(bucket, { kv: openedOver(connection, kv, async () => revision) })
}
