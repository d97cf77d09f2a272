import { createHmac, timingSafeEqual } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import { isLostRace } from '../broker/errors.js'
import { canonicalJson } from '../text/canonical-json.js'
import type { ChainHead } from './chain.js'

/**
 * Signed heads of audit logs, stored apart from the records: without them, somebody could remove records at a log's
 * end, or compute the whole chain again, without a trace.
 */
export interface SignedHead extends ChainHead {
  /** Of the record, RFC 3339. */
  readonly created_at: string
  /** The first record of the day, for the head at the end of a day. */
  readonly from?: number
  /** 64 hex digits: HMAC-SHA-256 with the instance's key for audit logs, over the bucket key and the other fields. */
  readonly signature: string
}

/** The head at the end of a day, which has `from`. */
export type SignedDay = SignedHead & { readonly from: number }

export type ReadHead =
  | { readonly kind: 'signed'; readonly head: SignedHead }
  | { readonly kind: 'missing' }
  /** Not signed with the instance's key. */
  | { readonly kind: 'forged' }

export interface Heads {
  /** The last record of a log. @param log its name */
  read(log: string): Promise<ReadHead>
  /** The stored heads of days, and the days whose signature is invalid. */
  readDays(log: string): Promise<{ readonly days: readonly SignedDay[]; readonly forged: readonly string[] }>
  /**
   * Advances the head of a log and of its day. A head before the stored one changes nothing.
   *
   * @param from the first record that this head adds
   */
  keep(log: string, head: ChainHead & { readonly created_at: string }, from: number, nowMs: number): Promise<void>
}

/**
 * @param heads the bucket audit_heads
 * @param days the bucket audit_days
 * @param key the instance's secret for audit logs, 32 bytes
 */
export function signedHeads(heads: KV, days: KV, key: Uint8Array): Heads {
  const sign = (name: string, { signature: _, ...head }: Omit<SignedHead, 'signature'> & { signature?: string }) =>
    createHmac('sha256', key)
      .update(canonicalJson({ name, ...head }))
      .digest()
  const isOurs = (name: string, head: SignedHead): boolean => {
    try {
      const signature = Buffer.from(head.signature, 'hex')
      const ours = sign(name, head)
      return signature.length === ours.length && timingSafeEqual(signature, ours)
    } catch {
      return false // not a head
    }
  }
  /** Part of the signature, so that a day's head cannot be used as the log's. */
  const nameOf = (bucket: 'head' | 'day', name: string): string => `${bucket}.${name}`

  const put = async (
    bucket: KV,
    kind: 'head' | 'day',
    name: string,
    next: (known: SignedHead | undefined) => Omit<SignedHead, 'signature'> | undefined,
  ): Promise<void> => {
    for (;;) {
      const entry = await bucket.get(name)
      const known = entry?.operation === 'PUT' ? entry.json<SignedHead>() : undefined
      const head = next(known !== undefined && isOurs(nameOf(kind, name), known) ? known : undefined)
      if (head === undefined) return
      const text = JSON.stringify({ ...head, signature: sign(nameOf(kind, name), head).toString('hex') })
      try {
        if (entry === null || known === undefined) await bucket.create(name, text)
        else await bucket.update(name, text, entry.revision)
        return
      } catch (cause) {
        if (!isLostRace(cause)) throw cause
      }
    }
  }

  return {
    async read(log) {
      const entry = await heads.get(log)
      if (entry?.operation !== 'PUT') return { kind: 'missing' }
      const head = entry.json<SignedHead>()
      return isOurs(nameOf('head', log), head) ? { kind: 'signed', head } : { kind: 'forged' }
    },

    async readDays(log) {
      const read: { days: SignedDay[]; forged: string[] } = { days: [], forged: [] }
      const names: string[] = []
      for await (const name of await days.keys(`${log}.*`)) names.push(name)
      for (const name of names.sort()) {
        const entry = await days.get(name)
        if (entry?.operation !== 'PUT') continue
        const day = entry.json<SignedDay>()
        if (isOurs(nameOf('day', name), day)) read.days.push(day)
        else read.forged.push(name.slice(log.length + 1))
      }
      return read
    },

    async keep(log, { sequence, hash, created_at }, from, nowMs) {
      const head = { sequence, hash, created_at }
      const isBehind = (known: SignedHead | undefined): boolean => known !== undefined && known.sequence >= sequence
      await put(heads, 'head', log, (known) => (isBehind(known) ? undefined : head))
      const day = `${log}.${new Date(nowMs).toISOString().slice(0, 10)}`
      await put(days, 'day', day, (known) => (isBehind(known) ? undefined : { ...head, from: known?.from ?? from }))
    },
  }
}
