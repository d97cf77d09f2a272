import type { PricedKind } from './export-records.js'

/**
 * Kinds of tokens with their own prices; each has its own row in a file by meter. The position in the list, from 1, is the
 * meter's number in staged groups.
 */
export const METERS = [
  'input',
  'output',
  'cache_read',
  'cache_write',
  'cache_write_1h',
  'reasoning',
  'audio_input',
  'audio_output',
  'audio_cache_read',
] as const
export type Meter = (typeof METERS)[number]
/** The meter number of a row that passes its cost through. */
export const NO_METER = 0

/** Minimum lifetime in seconds at which a cache write is billed at the one-hour rate. */
const LONG_CACHE_TTL_S = 3_600

/** A meter that occurs in the records, and the SQL expression that counts its tokens in a record. */
export interface CountedMeter {
  readonly meter: Meter
  readonly number: number
  readonly tokens: string
}

/**
 * How the tokens of a record are split into meters, in the same way as the price book splits them
 * (`attribution/valuation/cost/token-parts.ts`): the meters add up to input and output. Meters that do not occur are not
 * counted, which saves time.
 */
export function countedMeters(kinds: readonly PricedKind[]): readonly CountedMeter[] {
  const some = (fact: 'cached' | 'written' | 'reasoned' | 'heard' | 'spoken'): boolean =>
    kinds.some((kind) => kind[fact])
  const count = (column: string, occurs: boolean): string => (occurs ? `toInt64(ifNull(${column}, 0))` : '0')
  const less = (from: string, ...parts: readonly string[]): string =>
    [from, ...parts.filter((part) => part !== '0')].join(' - ')

  const [hasCache, hasWrites, hasAudio] = [some('cached'), some('written'), some('heard')]
  const cached = count('cached_input_tokens', hasCache)
  const written = count('cache_write_tokens', hasWrites)
  const reasoning = count('reasoning_tokens', some('reasoned'))
  const heard = count('audio_input_tokens', hasAudio)
  const spoken = count('audio_output_tokens', some('spoken'))
  const isLong = `ifNull(cache_write_ttl_seconds, 0) >= ${LONG_CACHE_TTL_S}`

  const uncached = less(count('input_tokens', true), cached, written)
  const heardUncached = hasAudio ? `least(${heard}, ${uncached})` : '0'
  const heardCached = hasAudio && hasCache ? `least(${heard} - ${heardUncached}, ${cached})` : '0'
  const tokensOf: Readonly<Record<Meter, string>> = {
    input: less(uncached, heardUncached),
    output: less(count('output_tokens', true), reasoning, spoken),
    cache_read: less(cached, heardCached),
    cache_write: hasWrites ? `if(${isLong}, 0, ${written})` : '0',
    cache_write_1h: hasWrites ? `if(${isLong}, ${written}, 0)` : '0',
    reasoning,
    audio_input: heardUncached,
    audio_output: spoken,
    audio_cache_read: heardCached,
  }
  return METERS.map((meter, index) => ({ meter, number: index + 1, tokens: tokensOf[meter] })).filter(
    ({ tokens }) => tokens !== '0',
  )
}
