import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KV, KvEntry } from '@nats-io/kv'
import { isLostRace } from '../../broker/errors.js'

/**
 * The record under an Idempotency-Key, stored for 24 hours. While a request is in progress: the seed of its owner. Once
 * decided: the sealed reply.
 *
 * The seed outlives its owner: the ids of created records derive from it, so that the next attempt, after an owner
 * crashed, finds the records of the previous one and creates nothing twice.
 */
type KeyRecord = OpenRecord | DecidedRecord

interface OpenRecord {
  /** Hex; of method, path and body. */
  readonly fingerprint: string
  /** Hex, 16 random bytes. */
  readonly seed: string
  /** Starts at 1. The same seed with another attempt number is another owner. */
  readonly attempt: number
  /** Of the first attempt. Absent: written by an earlier version. */
  readonly principal?: string
  /** The owner gave up: the next attempt need not wait for the lease to expire. */
  readonly isLeft?: true
}

interface DecidedRecord {
  readonly fingerprint: string
  readonly sealed: string
}

/** The state of a key that is already in use. */
export type Known =
  | { readonly kind: 'decided'; readonly sealed: string }
  | { readonly kind: 'conflict' }
  /** Another request is in progress, beyond the maximum wait. */
  | { readonly kind: 'busy' }

/** The right to execute a mutation. Ends with exactly one of `decide`, `withdraw` and `leave`. */
export interface Claim {
  readonly seed: Uint8Array
  /** Whether an earlier attempt may have had its effect, or part of it. */
  readonly isRepeat: boolean
  /** Whose the secrets of the request are: of the principal that sent it first. Undefined: to an earlier version. */
  readonly principal: string | undefined
  /** @returns false when another attempt has taken over: its reply counts, whatever this one did */
  decide(sealed: string): Promise<boolean>
  /** Nothing was changed: frees the key, also for another body. */
  withdraw(): Promise<void>
  /** Something may have changed: the next attempt continues with the same seed, without waiting for the lease. */
  leave(): Promise<void>
}

export interface Claims {
  /**
   * Claims a key unless it is in use. Waits for another request in progress under it.
   *
   * @param key of the record
   * @param principal who sends this attempt
   * @param waitMsMax for another request to finish
   * @throws Error when the broker is unreachable
   */
  claim(
    key: string,
    fingerprint: string,
    principal: string,
    waitMsMax: number,
  ): Promise<Known | ({ readonly kind: 'claimed' } & Claim)>
  /** The same without claiming the key. @returns undefined when the key is free */
  find(key: string, fingerprint: string, waitMsMax: number): Promise<Known | undefined>
}

export interface ClaimSettings {
  /** An owner that has not renewed its claim for this long is considered dead. */
  readonly leaseMs: number
}

export const LEASE_MS = 10_000
/** Polling interval while another request is in progress. */
const POLL_EVERY_MS = 25

/** @param bucket idempotency */
export function createClaims(bucket: KV, { leaseMs }: ClaimSettings): Claims {
  const polls = new Map<string, Promise<KvEntry | null>>()
  /** All requests that wait for a key share one read. */
  const pollSoon = (key: string): Promise<KvEntry | null> => {
    let poll = polls.get(key)
    if (poll === undefined) {
      poll = sleep(POLL_EVERY_MS)
        .then(() => bucket.get(key))
        .finally(() => polls.delete(key))
      polls.set(key, poll)
    }
    return poll
  }

  /** Polls until the key is in use, or `take` has claimed it. */
  const pollUntilKnown = async <T>(
    key: string,
    fingerprint: string,
    waitMsMax: number,
    take: (entry: KvEntry | null, record: OpenRecord | undefined) => Promise<T | 'lost'>,
  ): Promise<Known | T> => {
    const until = performance.now() + waitMsMax
    for (let entry = present(await bucket.get(key)); ; entry = present(await pollSoon(key))) {
      const record = entry?.json<KeyRecord>()
      if (record !== undefined && record.fingerprint !== fingerprint) return { kind: 'conflict' }
      if (record !== undefined && 'sealed' in record) return { kind: 'decided', sealed: record.sealed }
      if (entry === null || record === undefined || isAbandoned(entry, record, leaseMs)) {
        const taken = await take(entry, record)
        if (taken !== 'lost') return taken
      }
      if (performance.now() >= until) return { kind: 'busy' }
    }
  }

  return {
    claim: (key, fingerprint, principal, waitMsMax) =>
      pollUntilKnown(key, fingerprint, waitMsMax, async (entry, found) => {
        const seed = found?.seed ?? randomBytes(16).toString('hex')
        const first = found === undefined ? principal : found.principal
        const attempt = (found?.attempt ?? 0) + 1
        const record: OpenRecord = { fingerprint, seed, attempt, ...(first !== undefined && { principal: first }) }
        const text = JSON.stringify(record)
        try {
          const revision = await (entry === null ? bucket.create(key, text) : bucket.update(key, text, entry.revision))
          return { kind: 'claimed', principal: first, ...own(bucket, key, record, revision, leaseMs) } as const
        } catch (cause) {
          if (isLostRace(cause)) return 'lost'
          throw cause
        }
      }),
    find: (key, fingerprint, waitMsMax) => pollUntilKnown(key, fingerprint, waitMsMax, async () => undefined),
  }
}

const present = (entry: KvEntry | null): KvEntry | null => (entry?.operation === 'PUT' ? entry : null)

/** Compares the broker's clock, which dated the claim and its renewals, with ours. */
const isAbandoned = (entry: KvEntry, { isLeft }: OpenRecord, leaseMs: number): boolean =>
  isLeft === true || Date.now() - entry.created.getTime() > leaseMs

function own(
  bucket: KV,
  key: string,
  record: OpenRecord,
  claimedRevision: number,
  leaseMs: number,
): Omit<Claim, 'principal'> {
  let revision = claimedRevision
  let renewal: Promise<void> = Promise.resolve()
  const renew = async (): Promise<void> => {
    try {
      revision = await bucket.update(key, JSON.stringify(record), revision)
    } catch {
      // Whether the claim is still ours is checked when it ends.
    }
  }
  const renewing = setInterval(() => {
    renewal = renewal.then(renew)
  }, leaseMs / 3)

  /** @returns false when the record is no longer ours */
  const end = async (write: (revision: number) => Promise<unknown>): Promise<boolean> => {
    clearInterval(renewing)
    await renewal
    for (;;) {
      try {
        await write(revision)
        return true
      } catch (cause) {
        if (!isLostRace(cause)) throw cause
        // A renewal whose ack was lost has advanced the revision.
        const entry = present(await bucket.get(key))
        const found = entry?.json<KeyRecord>()
        const isOurs = found !== undefined && 'seed' in found && sameOwner(found, record)
        if (entry === null || !isOurs) return false
        revision = entry.revision
      }
    }
  }
  return {
    seed: Buffer.from(record.seed, 'hex'),
    isRepeat: record.attempt > 1,
    decide(sealed) {
      const decided: DecidedRecord = { fingerprint: record.fingerprint, sealed }
      return end((last) => bucket.update(key, JSON.stringify(decided), last))
    },
    async withdraw() {
      await end((last) => bucket.delete(key, { previousSeq: last }))
    },
    async leave() {
      await end((last) => bucket.update(key, JSON.stringify({ ...record, isLeft: true }), last))
    },
  }
}

const sameOwner = (one: OpenRecord, other: OpenRecord): boolean =>
  one.seed === other.seed && one.attempt === other.attempt
