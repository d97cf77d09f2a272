import { AckPolicy, DeliverPolicy, type JetStreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { INVOCATIONS, invocationsSubject, mailboxes } from '../../streams/invocations.js'
import { readCheckpoint } from './checkpoint.js'
import type { ReadLogOf } from './log-lag.js'
import { partitionsHeld } from './partitions.js'
import { admittableBytes } from './stream-capacity.js'

/**
 * The mailboxes of all stages, the lane included, and of all partitions that may hold events.
 *
 * @param partitions of the log
 */
export async function invocationLogs(manager: JetStreamManager, partitions: number): Promise<readonly ReadLogOf[]> {
  return mailboxes(await partitionsHeld(manager, partitions)).map(({ stage, partition }) => ({
    key: `${stage}.${partition}`,
    stream: INVOCATIONS.name,
    subject: invocationsSubject(stage, partition),
  }))
}

export interface LogBound {
  /** The share of the log's capacity for new work that unprocessed messages use. From 1 on, gateways refuse events. */
  readonly share: number
  readonly unprocessedBytes: number
  readonly lastSequence: number
}

/**
 * How much of the log is unprocessed. Processed messages are kept while there is space, and purged when there is none:
 * they do not count.
 */
export async function logBound(manager: JetStreamManager, checkpoints: KV, partitions: number): Promise<LogBound> {
  const logs = await invocationLogs(manager, partitions)
  const { config, state } = await manager.streams.info(INVOCATIONS.name)
  const sizes = await Promise.all(
    logs.map(async (log) =>
      bytesBehind(manager, log, (await readCheckpoint(checkpoints, log.key))?.done ?? 0, state.last_seq),
    ),
  )
  const unprocessedBytes = Math.min(
    state.bytes,
    sizes.reduce((sum, bytes) => sum + bytes, 0),
  )
  const capacity = config.max_bytes > 0 ? admittableBytes(config.max_bytes) : Number.POSITIVE_INFINITY
  return { share: unprocessedBytes / capacity, unprocessedBytes, lastSequence: state.last_seq }
}

/** Places in a log at which sizes are sampled: messages become larger while a backlog grows. */
const PLACES = 8
/** Messages per place. */
const SAMPLED = 64
/** Up to this many are read, which costs no more than the samples of a long log. */
const COUNTED_MAX = PLACES * SAMPLED
/** What the broker stores of a message besides its payload: subject, headers, and its own fields. */
const OVERHEAD_BYTES = 128
const REPLY_MS_MAX = 2_000

/**
 * The bytes of the messages of a log after a sequence. The broker counts messages, not their bytes: of a few hundred,
 * each size is read; of more, the mean size at places that are spread evenly over the log.
 */
async function bytesBehind(manager: JetStreamManager, log: ReadLogOf, done: number, last: number): Promise<number> {
  const first = await sizesFrom(manager, log, done + 1)
  const { pending } = first
  if (pending <= first.sizes.length) return sum(first.sizes)
  const step = Math.max(1, Math.floor((last - done) / PLACES))
  const others = await Promise.all(
    Array.from({ length: PLACES - 1 }, (_, i) => sizesFrom(manager, log, done + 1 + step * (i + 1))),
  )
  // Each place represents the messages up to the next one.
  const places = [first, ...others]
  const parts = places.map(({ pending: from, sizes }, i) => {
    const count = Math.max(0, from - (places[i + 1]?.pending ?? 0))
    return sizes.length === 0 ? 0 : (count * sum(sizes)) / sizes.length
  })
  return sum(parts)
}

interface Sizes {
  /** Number of messages from the place to the end of the log. */
  readonly pending: number
  /** Of all of them, or of the first ones. */
  readonly sizes: readonly number[]
}

/** By a consumer of its own, which takes headers only and is removed. */
async function sizesFrom(manager: JetStreamManager, { stream, subject }: ReadLogOf, from: number): Promise<Sizes> {
  const info = await manager.consumers.add(stream, {
    filter_subject: subject,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: from,
    ack_policy: AckPolicy.None,
    headers_only: true,
    mem_storage: true,
    inactive_threshold: FORGOTTEN_NS,
  })
  const { name, num_pending: pending } = info
  try {
    const sizes: number[] = []
    if (pending === 0) return { pending, sizes }
    const consumer = manager.jetstream().consumers.getConsumerFromInfo(info)
    const messages = await consumer.fetch({
      max_messages: pending > COUNTED_MAX ? SAMPLED : pending,
      expires: REPLY_MS_MAX,
    })
    for await (const { headers } of messages) sizes.push(Number(headers?.get(SIZE_HEADER) ?? 0) + OVERHEAD_BYTES)
    return { pending, sizes }
  } finally {
    // The broker removes it by itself, too.
    await manager.consumers.delete(stream, name).catch(() => undefined)
  }
}

const SIZE_HEADER = 'Nats-Msg-Size'
/** In nanoseconds. */
const FORGOTTEN_NS = 5_000_000_000

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)
