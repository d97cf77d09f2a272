import type { JetStreamManager } from '@nats-io/jetstream'
import { counter, gauge, histogram, SECONDS_BUCKETS } from '../telemetry/metrics.js'
import { lagOf, type ReadLogOf } from './log-lag.js'

/** Metrics of logs that one owner at a time reads, named by checkpoint: `a.0` is partition 0 of stage A. */
export const BATCHES = counter('log_batches_total', 'Batches that have taken effect.', ['log'])
export const BATCH_EVENTS = counter('log_batch_events_total', 'Events of batches that have taken effect.', ['log'])
export const BATCH_SECONDS = histogram(
  'log_batch_duration_seconds',
  'From the read of a batch to its effects, without the pause behind it.',
  SECONDS_BUCKETS,
  ['log'],
)
export const TAKEOVERS = counter('log_takeovers_total', 'How often this process began to read a log.', ['log'])
export const BATCH_RETRIES = counter('log_retries_total', 'Batches that failed and were tried again.', ['log'])

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

/**
 * Sets what waits in the logs of this process, and forgets those that it no longer owns. While the broker does not
 * answer, none has a value: the last one would say that nothing waits.
 */
export async function setLogLags(
  owned: readonly ReadLogOf[],
  doneOf: (key: string) => Promise<number>,
  manager: JetStreamManager,
  nowMs: number,
): Promise<void> {
  const looking = Promise.all(
    owned.map(async (log) => ({ log: log.key, ...(await lagOf(manager, log, await doneOf(log.key), nowMs)) })),
  )
  const lags = await looking.finally(() => {
    OLDEST.reset()
    WAITING.reset()
  })
  for (const { log, oldestS, messages } of lags) {
    OLDEST.set({ log }, oldestS)
    WAITING.set({ log }, messages)
  }
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
