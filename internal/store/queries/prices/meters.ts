import type { FieldName } from '../../../records/record-fields.js'
import { BILLED_UNITS, type BilledUnit } from '../../../text/call-words.js'
import { METERED_COLUMNS, type MeteredColumn, type PricedKind } from './priced-kinds.js'

/**
 * Kinds of tokens, calls of tools and other units with their own prices; each has its own row in a file by meter. The
 * position in the list, from 1, is the meter's number in staged groups.
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
  'image_input',
  'image_output',
  'image_cache_read',
  'web_search',
  'file_search',
  'code_execution',
  ...BILLED_UNITS,
] as const
export type Meter = (typeof METERS)[number]
/** The first of the meters that count calls of a tool; those before it count tokens. */
export const FIRST_TOOL_METER = METERS.indexOf('web_search') + 1
/**
 * The first of the meters of other units. They are counted in millionths, as they are priced, and their staged price is
 * that of a millionth.
 */
export const FIRST_UNIT_METER = METERS.indexOf('seconds') + 1
/** The meter number of a row that passes its cost through. */
export const NO_METER = 0

/** Minimum lifetime in seconds at which a cache write is billed at the one-hour rate. */
const LONG_CACHE_TTL_S = 3_600

/** A meter that occurs in the records, and the SQL expression that counts it in a record: tokens, calls, millionths. */
export interface CountedMeter {
  readonly meter: Meter
  readonly number: number
  readonly units: string
}

/**
 * How the tokens of a record are split into meters, in the same way as the price book splits them
 * (`internal/valuation/cost/token-parts.ts`): the meters add up to input and output. Meters that do not occur are not
 * counted, which saves time.
 */
export function countedMeters(kinds: readonly Pick<PricedKind, 'occurring'>[]): readonly CountedMeter[] {
  const occurring = new Set<MeteredColumn | BilledUnit>(kinds.flatMap((kind) => kind.occurring))
  const count = (column: MeteredColumn): string => (occurring.has(column) ? counted(column) : '0')

  const cached = count('cached_input_tokens')
  const written = count('cache_write_tokens')
  const reasoning = count('reasoning_tokens')
  const audioOutput = count('audio_output_tokens')
  const imageOutput = count('image_output_tokens')

  const uncached = less(counted('input_tokens'), cached, written)
  const audio = modality(count('audio_input_tokens'), count('cached_audio_input_tokens'), uncached, cached)
  const image = modality(
    count('image_input_tokens'),
    count('cached_image_input_tokens'),
    less(uncached, audio.uncached),
    less(cached, audio.cached),
  )
  const writes = writesByLifetime(written)
  const unitsOf: Readonly<Record<Meter, string>> = {
    input: less(uncached, audio.uncached, image.uncached),
    output: less(counted('output_tokens'), reasoning, audioOutput, imageOutput),
    cache_read: less(cached, audio.cached, image.cached),
    cache_write: writes.short,
    cache_write_1h: writes.long,
    reasoning,
    audio_input: audio.uncached,
    audio_output: audioOutput,
    audio_cache_read: audio.cached,
    image_input: image.uncached,
    image_output: imageOutput,
    image_cache_read: image.cached,
    web_search: count('web_search_calls'),
    file_search: count('file_search_calls'),
    code_execution: count('code_execution_calls'),
    ...(Object.fromEntries(
      BILLED_UNITS.map((unit) => [unit, occurring.has(unit) ? millionthsSql(unit) : '0']),
    ) as Readonly<Record<BilledUnit, string>>),
  }
  return METERS.map((meter, index) => ({ meter, number: index + 1, units: unitsOf[meter] })).filter(
    ({ units }) => units !== '0',
  )
}

/** How much of a unit a record states, rounded half up, as the price rules do (`billed-units.ts` there). */
const millionthsSql = (unit: BilledUnit): string =>
  `toInt64((toDecimal128OrZero(billed_units['${unit}'], 18) + toDecimal128('0.0000005', 18)) * 1000000)`

const counted = (column: FieldName): string => `toInt64(ifNull(${column}, 0))`

function less(from: string, ...parts: readonly string[]): string {
  const present = parts.filter((part) => part !== '0')
  return present.length === 0 ? from : `(${[from, ...present].join(' - ')})`
}

/** Tokens of audio or images: as many as possible of those not stated as cached are counted as uncached. */
function modality(
  tokens: string,
  statedCached: string,
  uncached: string,
  cached: string,
): { uncached: string; cached: string } {
  if (tokens === '0') return { uncached: '0', cached: '0' }
  const first = `least(${less(tokens, statedCached)}, ${uncached})`
  return { uncached: first, cached: cached === '0' ? '0' : `least(${tokens} - ${first}, ${cached})` }
}

/** The two counters, and the rest of the writes by the lifetime that the event states for them. */
function writesByLifetime(written: string): { short: string; long: string } {
  if (written === '0') return { short: '0', long: '0' }
  const short = counted('cache_write_5m_tokens')
  const long = counted('cache_write_1h_tokens')
  const isLong = `ifNull(cache_write_ttl_seconds, 0) >= ${LONG_CACHE_TTL_S}`
  const rest = less(written, short, long)
  return { short: `(${short} + if(${isLong}, 0, ${rest}))`, long: `(${long} + if(${isLong}, ${rest}, 0))` }
}

/** Every meter: of records of which nothing is known before they are read. */
export const ALL_METERS: readonly CountedMeter[] = countedMeters([{ occurring: [...METERED_COLUMNS, ...BILLED_UNITS] }])
