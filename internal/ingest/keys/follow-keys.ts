import { setTimeout as sleep } from 'node:timers/promises'
import type { ConsumerMessages, JetStreamManager, JsMsg } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { KEYS } from '../../../streams/keys.js'
import type { KeyHash } from '../../ids/key-hash.js'
import type { AdmissionIndex } from '../../repeats/admission-index.js'
import type { Logger } from '../../telemetry/log.js'
import { isOfSender, readAdmittedKeys } from './admitted-keys.js'

export interface FollowKeysDeps {
  readonly manager: JetStreamManager
  /** Of the manager. */
  readonly connection: Pick<NatsConnection, 'status'>
  readonly keys: AdmissionIndex
  /** Of this process: it knows its own keys. */
  readonly sender: Uint8Array
  /** Called with a key that was admitted with another body than the one known. Read at once. */
  readonly onConflict: (key: KeyHash) => void
  readonly log: Logger
  /** Ends it. */
  readonly signal: AbortSignal
}

/** Messages that the broker sends ahead. */
const AHEAD_MAX = 5_000
const AGAIN_MS = 500

/**
 * Adds the keys of all gateways to the index: those of the last 24 hours, then each as the log has it.
 *
 * @returns once it has all that the stream had at the call
 */
export async function followKeys(deps: FollowKeysDeps): Promise<void> {
  const { manager, log, signal } = deps
  const { messages, last_seq: newest } = (await manager.streams.info(KEYS.name)).state
  let next = 1
  let caughtUp: () => void = () => undefined
  const isCaughtUp = new Promise<void>((resolve) => {
    caughtUp = resolve
  })
  const take = (message: JsMsg): void => {
    if (message.seq < next) return
    next = message.seq + 1
    note(message, deps)
    // The newest one may expire meanwhile.
    if (next > newest || message.info.pending === 0) caughtUp()
  }
  const reading: Reading = {}
  // The consumer is in the memory of the broker. One that has lost it is otherwise noticed after 45 s (measured).
  void (async () => {
    for await (const { type } of deps.connection.status()) if (type === 'reconnect') reading.messages?.stop()
  })()
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await readOn(deps, reading, next, take)
      } catch (cause) {
        if (!signal.aborted) log.warn({ err: cause }, 'the keys of other gateways could not be read; will retry')
      }
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined)
    }
    caughtUp()
  }
  void follow()
  // A stream whose messages have all expired keeps their last sequence.
  if (messages > 0) await isCaughtUp
}

/** What is read now. */
interface Reading {
  messages?: ConsumerMessages
}

/** Reads from a sequence on, until the broker or `signal` ends it. */
async function readOn(
  { manager, signal }: FollowKeysDeps,
  reading: Reading,
  from: number,
  take: (message: JsMsg) => void,
): Promise<void> {
  const consumer = await manager.jetstream().consumers.get(KEYS.name, { opt_start_seq: from })
  const messages = await consumer.consume({ max_messages: AHEAD_MAX, callback: take })
  reading.messages = messages
  const stop = (): void => messages.stop()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    const cause = await messages.closed()
    if (cause instanceof Error) throw cause
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** The first body that came under a key counts. */
function note(message: JsMsg, { keys, sender, onConflict }: FollowKeysDeps): void {
  if (isOfSender(message.data, sender)) return
  const admittedAtMs = message.time.getTime()
  for (const { hash, fingerprint, flags } of readAdmittedKeys(message.data)) {
    const verdict = keys.lookup(hash, fingerprint, admittedAtMs)
    if (verdict === 'same') continue
    if (verdict === 'conflict') onConflict(hash)
    else keys.admit(hash, fingerprint, flags, admittedAtMs)
  }
}
