import { AckPolicy, DeliverPolicy, type JetStreamManager } from '@nats-io/jetstream'
import { counter, gauge, histogram, SECONDS_BUCKETS } from '../telemetry/metrics.js'
import { brokerErrorCode } from './errors.js'
import { readLog } from './log.js'

/** The metrics of logs that one owner at a time reads. A log is named by its checkpoint: `a.0` is partition 0 of stage A. */
export const BATCHES = counter('log_batches_total', 'Batches that have taken effect.', ['log'])
export const BATCH_EVENTS = counter('log_batch_events_total', 'Events of batches that have taken effect.', ['log'])
export const BATCH_SECONDS = histogram(
  'log_batch_duration_seconds',
  'From the read of a batch to its effects, without the pause behind it.',
  SECONDS_BUCKETS,
  ['log'],
)
export const TAKEOVERS = counter('log_takeovers_total', 'How often this process began to read a log.', ['log'])
export const RETRIES = counter('log_retries_total', 'Batches that failed and were tried again.', ['log'])

const OLDEST = gauge(
  'log_oldest_seconds',
  'Age of the oldest message that its owner has not processed; 0: none waits.',
  ['log'],
)
const WAITING = gauge(
  'log_waiting_messages',
  'Messages that the owner of a log has not processed; each holds many events.',
  ['log'],
)

export interface ReadLogOf {
  readonly key: string
  readonly stream: string
  readonly subject: string
}

/** Sets what waits in the logs of this process, and forgets those that it no longer owns. */
export async function setLogLags(
  owned: readonly ReadLogOf[],
  doneOf: (key: string) => Promise<number>,
  manager: JetStreamManager,
  nowMs: number,
): Promise<void> {
  const lags = await Promise.all(
    owned.map(async (log) => {
      const from = (await doneOf(log.key)) + 1
      const [oldest] = await readLog(manager, { ...log, from, messagesMax: 1, bytesMax: MESSAGE_BYTES_MAX })
      if (oldest === undefined) return { log: log.key, ageS: 0, waiting: 0 }
      const ageS = Math.max(0, nowMs - Date.parse(oldest.storedAt)) / 1_000
      return { log: log.key, ageS, waiting: await messagesFrom(manager, log, from) }
    }),
  )
  OLDEST.reset()
  WAITING.reset()
  for (const { log, ageS, waiting } of lags) {
    OLDEST.set({ log }, ageS)
    WAITING.set({ log }, waiting)
  }
}

const MESSAGE_BYTES_MAX = 8 * 1024 * 1024
/** In nanoseconds; the broker removes a consumer that could not be deleted. */
const FORGOTTEN_NS = 5_000_000_000
const NO_SUCH_CONSUMER = 10_014

/** A consumer that reads nothing: the broker counts what it would read. */
async function messagesFrom(manager: JetStreamManager, { stream, subject }: ReadLogOf, from: number): Promise<number> {
  const { name, num_pending: pending } = await manager.consumers.add(stream, {
    filter_subject: subject,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: from,
    ack_policy: AckPolicy.None,
    mem_storage: true,
    inactive_threshold: FORGOTTEN_NS,
  })
  await manager.consumers.delete(stream, name).catch((cause: unknown) => {
    if (brokerErrorCode(cause) !== NO_SUCH_CONSUMER) throw cause
  })
  return pending
}

const STREAM_BYTES = gauge('stream_bytes', 'Bytes in a stream of the broker.', ['stream'])
const STREAM_BYTES_MAX = gauge('stream_bytes_max', 'Limit of the bytes in a stream; absent: none.', ['stream'])
const STREAM_MESSAGES = gauge('stream_messages', 'Messages in a stream of the broker.', ['stream'])

/** Sets the fill levels of the streams; those behind buckets and object stores are left out. */
export async function setStreamLevels(manager: JetStreamManager): Promise<void> {
  for await (const { config, state } of manager.streams.list()) {
    const { name: stream, max_bytes: bytesMax } = config
    if (/^(KV|OBJ)_/.test(stream)) continue
    STREAM_BYTES.set({ stream }, state.bytes)
    STREAM_MESSAGES.set({ stream }, state.messages)
    if (bytesMax > 0) STREAM_BYTES_MAX.set({ stream }, bytesMax)
  }
}
