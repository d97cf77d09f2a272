import { within } from '../../broker/deadline.js'
import type { KeyHash } from '../../ids/key-hash.js'
import { bytesOf, wordsOf } from '../../ids/key-hash.js'
import type { Fingerprint } from '../../repeats/key-table.js'
import type { Logger } from '../../telemetry/log.js'
import { counter } from '../../telemetry/metrics.js'

const UNCONFIRMED = counter(
  'admission_keys_unconfirmed_total',
  'Idempotency-Keys taken for new because the read model had not answered in time; event ids still decide on records.',
)

/** Result of looking a key up in the read model: unknown, or used with the same or another body. */
export type Confirmation = 'unknown' | 'same' | 'conflict'

/** Finds keys in the read model: hex of their hash to the fingerprint and the time of their admission. */
export type FindKeys = (
  hashes: readonly Uint8Array[],
) => Promise<
  ReadonlyMap<string, { readonly fingerprint: Uint8Array; readonly flags: number; readonly admittedAtMs: number }>
>

interface Question {
  readonly hash: Uint8Array
  readonly fingerprint: Uint8Array
  /** @param recorded the fingerprint that the key was admitted with; of an unknown key, the one that was asked for */
  readonly answer: (confirmation: Confirmation, admittedAtMs: number, flags: number, recorded: Fingerprint) => void
}

/** Keys of one query. */
const BATCH_MAX = 2_000
/** A read model that has not answered within this time counts as unavailable, */
const ANSWER_MS = 500
/** and is not queried again for this long. */
const REST_MS = 1_000

/**
 * Looks keys up in the read model that only a filter reports, or that may be missing in the index. One query at a time,
 * for all keys that have accumulated. If the read model is unavailable the result is `unknown`: the sender's traffic
 * continues, and deduplication by event_id still leaves one record.
 */
export function createKeyConfirmation(
  find: FindKeys,
  clock: () => number,
  log: Pick<Logger, 'error'>,
  answerWithinMs = ANSWER_MS,
) {
  const waiting: Question[] = []
  let isAsking = false
  let restsUntilMs = 0

  const askAll = async (): Promise<void> => {
    isAsking = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH_MAX)
      const found = await within(
        answerWithinMs,
        find(batch.map(({ hash }) => hash)),
        () => new Error('no answer in time'),
      ).catch(() => {
        restsUntilMs = clock() + REST_MS
        UNCONFIRMED.inc(batch.length)
        return new Map<string, never>()
      })
      for (const { hash, fingerprint, answer } of batch) {
        const known = found.get(Buffer.from(hash).toString('hex'))
        const isSame = known !== undefined && Buffer.compare(known.fingerprint, fingerprint) === 0
        try {
          if (known === undefined) answer('unknown', 0, 0, wordsOf(fingerprint))
          else answer(isSame ? 'same' : 'conflict', known.admittedAtMs, known.flags, wordsOf(known.fingerprint))
        } catch (cause) {
          // One failing callback must not leave the others without an answer, nor end the process.
          log.error({ err: cause }, 'a request failed after its key was looked up in the read model')
        }
      }
    }
    isAsking = false
  }

  return {
    ask(key: KeyHash, fingerprint: Fingerprint, answer: Question['answer']): void {
      if (clock() < restsUntilMs) {
        UNCONFIRMED.inc()
        return answer('unknown', 0, 0, fingerprint)
      }
      waiting.push({ hash: bytesOf(key), fingerprint: bytesOf(fingerprint), answer })
      if (!isAsking) {
        isAsking = true
        setImmediate(() => void askAll())
      }
    },
  }
}

export type KeyConfirmation = ReturnType<typeof createKeyConfirmation>
