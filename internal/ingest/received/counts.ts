import { OTHER_SENDERS, type Sender } from './sender.js'
import { FIELD_NAMES_MAX, type Tally } from './tally.js'

/** Where something came from. */
export interface Source extends Sender {
  /** Id of the credential; '' for those of people, which count together. */
  readonly principal: string
  /** `otlp`, `litellm`, ...; '' for the API. */
  readonly intake: string
}

export interface Counted {
  count: number
  lastAtMs: number
}

/** Reasons of one kind that are counted separately. */
const REASONS_MAX = 24
const OTHER_REASONS = 'other'

/** The stored form of `Counts`. Counts by reason are pairs of count and last time. */
export interface StoredCounts {
  readonly accepted?: number
  readonly duplicates?: number
  readonly passed_over?: StoredReasons
  readonly rejected?: StoredReasons
  readonly lacking?: StoredReasons
  readonly refused_requests?: StoredReasons
  readonly field_names?: readonly string[]
  readonly last_at_ms?: number
  readonly last_call_at_ms?: number
}
type StoredReasons = Readonly<Record<string, readonly [count: number, lastAtMs: number]>>

/** What came from one source within some time. */
export class Counts {
  accepted = 0
  duplicates = 0
  readonly passedOver = new Reasons()
  readonly rejected = new Reasons()
  readonly lacking = new Reasons()
  /** Requests that were refused whole: what they held is not known. */
  readonly refusedRequests = new Reasons()
  readonly fieldNames = new Set<string>()
  /** Of anything; 0: none yet. */
  lastAtMs = 0
  /** Of a new call. */
  lastCallAtMs = 0

  accept(isDuplicate: boolean, atMs: number, count = 1): void {
    if (isDuplicate) this.duplicates += count
    else {
      this.accepted += count
      this.lastCallAtMs = Math.max(this.lastCallAtMs, atMs)
    }
    this.lastAtMs = Math.max(this.lastAtMs, atMs)
  }

  reject(reason: string, atMs: number): void {
    this.rejected.add(reason, 1, atMs)
    this.lastAtMs = Math.max(this.lastAtMs, atMs)
  }

  refuseRequest(code: string, atMs: number): void {
    this.refusedRequests.add(code, 1, atMs)
    this.lastAtMs = Math.max(this.lastAtMs, atMs)
  }

  addTally({ accepted, duplicates, passedOver, rejected, lacking, fieldNames }: Tally, atMs: number): void {
    if (accepted > 0) this.accept(false, atMs, accepted)
    this.duplicates += duplicates
    for (const [reason, count] of passedOver) this.passedOver.add(reason, count, atMs)
    for (const [reason, count] of rejected) this.rejected.add(reason, count, atMs)
    for (const [reason, count] of lacking) this.lacking.add(reason, count, atMs)
    this.addFieldNames(fieldNames)
    this.lastAtMs = Math.max(this.lastAtMs, atMs)
  }

  add(other: Counts): void {
    this.accepted += other.accepted
    this.duplicates += other.duplicates
    for (const part of REASON_PARTS) this[part].addAll(other[part])
    this.addFieldNames(other.fieldNames)
    this.lastAtMs = Math.max(this.lastAtMs, other.lastAtMs)
    this.lastCallAtMs = Math.max(this.lastCallAtMs, other.lastCallAtMs)
  }

  /** All that came, each thing once. */
  get received(): number {
    return this.accepted + this.duplicates + this.passedOver.total + this.rejected.total
  }

  private addFieldNames(names: Iterable<string>): void {
    for (const name of names) if (this.fieldNames.size < FIELD_NAMES_MAX) this.fieldNames.add(name)
  }
}

const REASON_PARTS = ['passedOver', 'rejected', 'lacking', 'refusedRequests'] as const

/** Counts by reason, bounded. */
class Reasons {
  private readonly counted = new Map<string, Counted>()

  add(reason: string, count: number, atMs: number): void {
    const isOther = this.counted.size >= REASONS_MAX && !this.counted.has(reason)
    const name = isOther ? OTHER_REASONS : reason
    const known = this.counted.get(name)
    if (known === undefined) this.counted.set(name, { count, lastAtMs: atMs })
    else {
      known.count += count
      known.lastAtMs = Math.max(known.lastAtMs, atMs)
    }
  }

  addAll(other: Reasons): void {
    for (const [reason, { count, lastAtMs }] of other.counted) this.add(reason, count, lastAtMs)
  }

  get total(): number {
    let sum = 0
    for (const { count } of this.counted.values()) sum += count
    return sum
  }

  entries(): Iterable<readonly [reason: string, counted: Readonly<Counted>]> {
    return this.counted
  }
}

/** Sources of a tenant that are counted separately; its further ones count together, by intake. */
export const SOURCES_MAX = 200

/** Counts of a tenant's sources: a tenant that invents senders cannot make it grow. */
export class CountsBySource {
  private readonly known = new Map<string, { readonly source: Source; readonly counts: Counts }>()

  of(source: Source): Counts {
    const key = keyOf(source)
    const known = this.known.get(key)
    if (known !== undefined) return known.counts
    if (this.known.size >= SOURCES_MAX && !isOthers(source)) return this.of(othersOf(source))
    const counts = new Counts()
    this.known.set(key, { source, counts })
    return counts
  }

  addAll(other: CountsBySource): void {
    for (const { source, counts } of other.all()) this.of(source).add(counts)
  }

  get isEmpty(): boolean {
    return this.known.size === 0
  }

  all(): Iterable<{ readonly source: Source; readonly counts: Counts }> {
    return this.known.values()
  }
}

const keyOf = ({ principal, intake, name, version, service }: Source): string =>
  `${principal}\n${intake}\n${name}\n${version}\n${service}`

const othersOf = ({ intake, layer }: Source): Source => ({
  principal: '',
  intake,
  name: OTHER_SENDERS,
  version: '',
  service: '',
  layer,
})

const isOthers = ({ principal, name, version, service }: Source): boolean =>
  principal === '' && name === OTHER_SENDERS && version === '' && service === ''

/** The stored form of `CountsBySource`, which JSON has. */
export type StoredSources = readonly (Source & StoredCounts)[]

export const storedForm = (sources: CountsBySource): StoredSources =>
  [...sources.all()].map(({ source, counts }) => ({
    ...source,
    accepted: counts.accepted,
    duplicates: counts.duplicates,
    passed_over: storedReasons(counts.passedOver),
    rejected: storedReasons(counts.rejected),
    lacking: storedReasons(counts.lacking),
    refused_requests: storedReasons(counts.refusedRequests),
    field_names: [...counts.fieldNames],
    last_at_ms: counts.lastAtMs,
    last_call_at_ms: counts.lastCallAtMs,
  }))

const storedReasons = (reasons: Reasons): StoredReasons =>
  Object.fromEntries([...reasons.entries()].map(([reason, { count, lastAtMs }]) => [reason, [count, lastAtMs]]))

export function addStored(stored: StoredSources, to: CountsBySource): void {
  for (const { principal, intake, name, version, service, layer, ...each } of stored) {
    const counts = to.of({ principal, intake, name, version, service, layer })
    counts.add(countsOf(each))
  }
}

function countsOf(stored: StoredCounts): Counts {
  const counts = new Counts()
  counts.accepted = stored.accepted ?? 0
  counts.duplicates = stored.duplicates ?? 0
  counts.lastAtMs = stored.last_at_ms ?? 0
  counts.lastCallAtMs = stored.last_call_at_ms ?? 0
  for (const name of stored.field_names ?? []) counts.fieldNames.add(name)
  const parts = [
    [counts.passedOver, stored.passed_over],
    [counts.rejected, stored.rejected],
    [counts.lacking, stored.lacking],
    [counts.refusedRequests, stored.refused_requests],
  ] as const
  for (const [reasons, entries = {}] of parts) {
    for (const [reason, [count, lastAtMs]] of Object.entries(entries)) reasons.add(reason, count, lastAtMs)
  }
  return counts
}
