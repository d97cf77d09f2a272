import { type CanonicalValue, canonicalJson } from '../../text/canonical-json.js'

/** An audit record as far as its chain goes; its other members are hashed with it. */
interface Chained {
  readonly sequence: number
  readonly hash: string
}

/** What can be said of records of an audit log that are at hand. */
export type ChainState =
  /** Nothing: some are left out, or there is only one. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'whole'; readonly first: number; readonly last: number }
  /** The record does not have the hash that it must have after the one before. */
  | { readonly kind: 'broken'; readonly sequence: number }

/**
 * Whether each record has the hash that follows from the one before it. The oldest is taken as it is: only the whole
 * log, with its signatures, proves that.
 *
 * @param records newest first, as the API lists them
 */
export async function chainOf(records: readonly Chained[]): Promise<ChainState> {
  const [newest, oldest] = [records[0], records.at(-1)]
  const isRun = records.every(({ sequence }, at) => at === 0 || records[at - 1]?.sequence === sequence + 1)
  if (newest === undefined || oldest === undefined || records.length < 2 || !isRun) return { kind: 'unknown' }
  for (const [at, record] of records.entries()) {
    const before = records[at + 1]
    if (before !== undefined && (await hashAfter(before.hash, record)) !== record.hash) {
      return { kind: 'broken', sequence: record.sequence }
    }
  }
  return { kind: 'whole', first: oldest.sequence, last: newest.sequence }
}

/** SHA-256 of the previous hash and of the record's canonical JSON without its own. */
async function hashAfter(previous: string, { hash: _, ...record }: Chained): Promise<string | undefined> {
  try {
    const bytes = new Uint8Array(previous.match(/../g)?.map((pair) => Number.parseInt(pair, 16)) ?? [])
    const text = new TextEncoder().encode(canonicalJson(record as unknown as CanonicalValue))
    const digest = await crypto.subtle.digest('SHA-256', new Uint8Array([...bytes, ...text]))
    return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
  } catch (cause) {
    // No canonical form: an altered record.
    if (cause instanceof TypeError) return undefined
    throw cause
  }
}
