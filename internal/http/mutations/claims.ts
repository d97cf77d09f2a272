import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KV, KvEntry } from '@nats-io/kv'
import { isLostRace } from '../../broker/errors.js'

/**
 * What is kept under an Idempotency-Key for 24 hours. While somebody works on it: who, by a seed of his own. Once
 * decided: the sealed answer.
 *
 * The seed outlives its owner: what a mutation makes takes its ids from it, so that the next attempt of a mutation
 * whose owner died finds what that one had made, and makes nothing twice.
 */
type KeyRecord = OpenRecord | DecidedRecord

interface OpenRecord {
  /** Hex; of method, path and body. */
  readonly fingerprint: string
  /** Hex, 16 random bytes. */
  readonly seed: string
  /** From 1. The same seed with another attempt is another owner. */
  readonly attempt: number
  /** Its owner has given up: the next attempt need not wait for the lease. */
  readonly isLeft?: true
}

interface DecidedRecord {
  readonly fingerprint: string
  readonly sealed: string
}

/** What a key stands for already. */
export type Known =
  | { readonly kind: 'decided'; readonly sealed: string }
  | { readonly kind: 'conflict' }
  /** Another request works on it, for longer than one may wait. */
  | { readonly kind: 'busy' }

/** The right to carry a mutation out. Ends with exactly one of the three. */
export interface Claim {
  readonly seed: Uint8Array
  /** Whether an earlier attempt may have had its effect, or a part of it. */
  readonly isRepeat: boolean
  /** @returns false when another attempt has taken over: its answer counts, whatever this one did */
  decide(sealed: string): Promise<boolean>
  /** Nothing has happened: the key is free again, also for another body. */
  withdraw(): Promise<void>
  /** Something may have happened: the next attempt goes on with the same seed, without waiting for the lease. */
  leave(): Promise<void>
}

export interface Claims {
  /**
   * Claims a key, unless it stands for something already. Waits for another request that works on it.
   *
   * @param key of the record
   * @param waitMsMax for another request to finish
   * @throws Error when the broker is away
   */
  claim(key: string, fingerprint: string, waitMsMax: number): Promise<Known | ({ readonly kind: 'claimed' } & Claim)>
  /** The same without claiming it. @returns undefined when nobody holds the key */
  find(key: string, fingerprint: string, waitMsMax: number): Promise<Known | undefined>
}

export interface ClaimSettings {
  /** An owner that did not renew its claim for so long is taken for dead. */
  readonly leaseMs: number
}

export const LEASE_MS = 10_000
/** Between two looks at a record on which somebody works. */
const LOOK_EVERY_MS = 25

/** @param bucket idempotency */
export function createClaims(bucket: KV, { leaseMs }: ClaimSettings): Claims {
  const looks = new Map<string, Promise<KvEntry | null>>()
  /** All who wait for a key share one look. */
  const lookSoon = (key: string): Promise<KvEntry | null> => {
    let look = looks.get(key)
    if (look === undefined) {
      look = sleep(LOOK_EVERY_MS)
        .then(() => bucket.get(key))
        .finally(() => looks.delete(key))
      looks.set(key, look)
    }
    return look
  }

  /** Looks until the key stands for something, or `take` has taken it. */
  const look = async <T>(
    key: string,
    fingerprint: string,
    waitMsMax: number,
    take: (entry: KvEntry | null, record: OpenRecord | undefined) => Promise<T | 'lost'>,
  ): Promise<Known | T> => {
    const until = performance.now() + waitMsMax
    for (let entry = present(await bucket.get(key)); ; entry = present(await lookSoon(key))) {
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
    claim: (key, fingerprint, waitMsMax) =>
      look(key, fingerprint, waitMsMax, async (entry, found) => {
        const seed = found?.seed ?? randomBytes(16).toString('hex')
        const record: OpenRecord = { fingerprint, seed, attempt: (found?.attempt ?? 0) + 1 }
        const text = JSON.stringify(record)
        try {
          const revision = await (entry === null ? bucket.create(key, text) : bucket.update(key, text, entry.revision))
          return { kind: 'claimed', ...own(bucket, key, record, revision, leaseMs) } as const
        } catch (cause) {
          if (isLostRace(cause)) return 'lost'
          throw cause
        }
      }),
    find: (key, fingerprint, waitMsMax) => look(key, fingerprint, waitMsMax, async () => undefined),
  }
}

const present = (entry: KvEntry | null): KvEntry | null => (entry?.operation === 'PUT' ? entry : null)

/** By the broker's clock, which dated the claim and its renewals, against ours. */
const isAbandoned = (entry: KvEntry, { isLeft }: OpenRecord, leaseMs: number): boolean =>
  isLeft === true || Date.now() - entry.created.getTime() > leaseMs

function own(bucket: KV, key: string, record: OpenRecord, claimedRevision: number, leaseMs: number): Claim {
  let revision = claimedRevision
  let renewal: Promise<void> = Promise.resolve()
  const renew = async (): Promise<void> => {
    try {
      revision = await bucket.update(key, JSON.stringify(record), revision)
    } catch {
      // Whether it is still ours shows when it is to be ended.
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
        // A renewal whose acknowledgement was lost has moved the revision on.
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
