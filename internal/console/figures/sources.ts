import type { Source } from 'attribution-service/sdk/api'

/** In place of the senders beyond those that are counted separately, whatever their credentials. */
const OTHERS = 'other'

/** The way that calls come, and the program that sends them, where it says which: clients of the API do not. */
export function wayShown({ intake, sender }: Pick<Source, 'intake' | 'sender'>): string {
  const way = intake === 'api' ? 'the API' : intake
  if (sender === null) return way
  return `${way}: ${sender === OTHERS ? 'other senders' : sender}`
}

/** Of what has no credential of its own. */
export const nobodysKeyShown = ({ sender }: Pick<Source, 'sender'>): string =>
  sender === OTHERS ? 'several' : 'people’s sign-ins'

/** Whose calls are waited for: those of one credential, or of all that send alike. */
export interface Awaited {
  readonly credential: string | undefined
  readonly intake: string
  readonly sender?: RegExp | undefined
}

/** What came since the page looked first, of those that are waited for and of nobody else. */
export type Light =
  | { readonly kind: 'waiting'; readonly last: Opened | undefined }
  /** A call, whose record follows. */
  | { readonly kind: 'arrived' }
  /** Something that became no call, and why, the most frequent first. */
  | { readonly kind: 'no_call'; readonly why: readonly Why[] }
  | { readonly kind: 'seen'; readonly call: Opened }

/** The record of a call, and when the call was received. */
interface Opened {
  readonly id: string
  readonly atMs: number
}

interface Why {
  readonly reason: string
  readonly count: number
}

/** All times are the service's: the clock of the browser does not count. */
export function lightOf(before: readonly Source[], now: readonly Source[], awaited: Awaited): Light {
  const [then, since] = [before, now].map((rows) => rows.filter((row) => isAwaited(row, awaited))) as [
    Source[],
    Source[],
  ]
  const known = lastRecord(then)
  const last = lastRecord(since)
  if (last !== undefined && last.atMs > (known?.atMs ?? 0)) return { kind: 'seen', call: last }
  if (latest(since, 'last_call_at') > latest(then, 'last_call_at')) return { kind: 'arrived' }
  if (latest(since, 'last_received_at') > latest(then, 'last_received_at')) {
    return { kind: 'no_call', why: grown(then, since) }
  }
  return { kind: 'waiting', last }
}

const isAwaited = ({ credential, intake, sender }: Source, awaited: Awaited): boolean =>
  awaited.credential === undefined
    ? intake === awaited.intake && (awaited.sender?.test(sender ?? '') ?? true)
    : credential === awaited.credential

const lastRecord = (rows: readonly Source[]): Opened | undefined =>
  rows
    .flatMap(({ last_record: last }) => (last === null ? [] : { id: last.id, atMs: Date.parse(last.received_at) }))
    .sort((one, other) => other.atMs - one.atMs)[0]

const latest = (rows: readonly Source[], which: 'last_call_at' | 'last_received_at'): number =>
  Math.max(0, ...rows.map((row) => Date.parse(row[which] ?? '') || 0))

/** Of calls that were received before. */
const REPEATED = 'repeated'

function grown(then: readonly Source[], since: readonly Source[]): readonly Why[] {
  const more = new Map<string, number>()
  const add = (rows: readonly Source[], sign: 1 | -1): void => {
    for (const { merged, ...row } of rows) {
      const reasons = [row.rejected, row.passed_over, row.refused_requests].flatMap((each) => each.reasons)
      for (const { reason, count } of [...reasons, { reason: REPEATED, count: merged }]) {
        more.set(reason, (more.get(reason) ?? 0) + sign * count)
      }
    }
  }
  add(since, 1)
  add(then, -1)
  return [...more]
    .flatMap(([reason, count]) => (count > 0 ? { reason, count } : []))
    .sort((one, other) => other.count - one.count)
}

/** Of a key, which may have several senders. */
interface KeyArrivals {
  readonly calls: number
  readonly lastCallAtMs: number | undefined
}

export function arrivalsByKey(sources: readonly Source[]): ReadonlyMap<string, KeyArrivals> {
  const ids = new Set(sources.flatMap(({ credential }) => credential ?? []))
  return new Map(
    [...ids].map((id) => {
      const own = sources.filter(({ credential }) => credential === id)
      const calls = own.reduce((sum, each) => sum + each.calls, 0)
      return [id, { calls, lastCallAtMs: latest(own, 'last_call_at') || undefined }]
    }),
  )
}
