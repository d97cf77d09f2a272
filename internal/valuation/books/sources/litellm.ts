/**
 * LiteLLM's map (github.com/BerriAI/litellm, MIT): `model_prices_and_context_window.json`. USD per token, per second,
 * page, query and search; a service tier and a threshold are parts of a member's name.
 */
import { z } from 'zod'
import type { BilledUnit } from '../../../text/call-words.js'
import type { Band, CliffTier, PricedTier, RatePart, RateSheet, Rates } from '../../cost/rate-sheet.js'
import { rateOf } from './exact-rate.js'
import { litellmName, litellmProvider } from './litellm-names.js'
import { type Literal, readLiteral } from './literal.js'
import { canBeStated, type ParsedSource, Skipped, type SourceBook, type SourceRow } from './source-book.js'

const PARTS: Readonly<Record<string, RatePart>> = {
  input_cost_per_token: 'input',
  output_cost_per_token: 'output',
  cache_read_input_token_cost: 'cache_read',
  cache_creation_input_token_cost: 'cache_write',
  cache_creation_input_token_cost_above_1hr: 'cache_write_1h',
  output_cost_per_reasoning_token: 'reasoning',
  input_cost_per_audio_token: 'audio_input',
  output_cost_per_audio_token: 'audio_output',
  cache_read_input_audio_token_cost: 'audio_cache_read',
  input_cost_per_image_token: 'image_input',
  output_cost_per_image_token: 'image_output',
  cache_read_input_image_token_cost: 'image_cache_read',
}
const TIERS: Readonly<Record<string, PricedTier>> = { batches: 'batch', flex: 'flex', priority: 'priority' }
/** A rate's name: the part, then a threshold, then a service tier. */
const RATE_NAME = /^(.+?)(?:_above_(\d{1,6})k_tokens)?(?:_(batches|flex|priority))?$/
/** By mode: what the units of a call without tokens are. */
const UNITS: Readonly<Record<string, readonly (readonly [member: string, unit: BilledUnit])[]>> = {
  audio_transcription: [['input_cost_per_second', 'seconds']],
  audio_speech: [['input_cost_per_character', 'characters']],
  image_generation: [['output_cost_per_image', 'images']],
  ocr: [['ocr_cost_per_page', 'pages']],
  rerank: [['input_cost_per_query', 'search_units']],
}
const MODES: Readonly<Record<string, string>> = {
  audio_transcription: 'transcription',
  audio_speech: 'speech',
  image_generation: 'image',
  image_edit: 'image',
}
/** Prices that hold at some times of the day only: a row with them would be right at the others. */
const TIMED = ['off_peak_pricing', 'windows']

const literal = z.custom<Literal>((value) => value !== undefined)
const row = z.looseObject({
  litellm_provider: z.string().max(128).optional(),
  mode: z.string().max(256).optional(),
  max_input_tokens: literal.optional(),
  search_context_cost_per_query: z.record(z.string(), literal).nullish(),
  tiered_pricing: z
    .array(z.looseObject({ range: z.array(z.string()).length(2) }))
    .max(32)
    .nullish(),
})
const mapFile = z.record(z.string().max(512), z.unknown())
const ROWS_MAX = 100_000

type MapRow = z.infer<typeof row>

/** @param providers ids of the providers in our book: rows of others price no call */
export function readLitellm(text: string, providers: ReadonlySet<string>): ParsedSource {
  let file: Literal
  try {
    file = readLiteral(text)
  } catch (cause) {
    return { kind: 'invalid', problem: cause instanceof Error ? cause.message : String(cause) }
  }
  const parsed = mapFile.safeParse(file)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return { kind: 'invalid', problem: `${issue?.path.join('.')}: ${issue?.message}` }
  }
  const entries = Object.entries(parsed.data)
  if (entries.length > ROWS_MAX) return { kind: 'invalid', problem: `more than ${ROWS_MAX} models` }
  const skipped = new Skipped()
  const rows = new Map<string, SourceRow>()
  for (const [key, each] of entries) {
    const listed = row.safeParse(each)
    const converted = listed.success ? rowOf(key, listed.data, providers, skipped) : skipped.add('invalid')
    if (converted === undefined) continue
    const id = keyOf(converted.provider, converted.model, converted.region)
    if (rows.has(id)) skipped.add('duplicate')
    else rows.set(id, converted)
  }
  return { kind: 'source', book: bookOf(rows, skipped) }
}

const keyOf = (provider: string, model: string, region: string | undefined): string =>
  `${provider}\n${model}\n${region ?? ''}`.toLowerCase()

const bookOf = (rows: ReadonlyMap<string, SourceRow>, skipped: Skipped): SourceBook => ({
  name: 'litellm',
  rows: [...rows.values()],
  find(provider, model, region) {
    const found = rows.get(keyOf(provider, model, region))
    return found && { row: found, isExact: true }
  },
  skipped: skipped.counts,
})

function rowOf(key: string, listed: MapRow, providers: ReadonlySet<string>, skipped: Skipped): SourceRow | undefined {
  const provider = litellmProvider(listed.litellm_provider ?? '')
  if (provider === undefined || !providers.has(provider)) return skipped.add('unknown_provider')
  const name = litellmName(key, provider)
  if (name === undefined) return skipped.add('no_token_name')
  if (!canBeStated(name.model)) return skipped.add('no_model_name')
  if (TIMED.some((member) => listed[member] != null)) return skipped.add('by_time_of_day')
  const price = sheetOf(listed)
  if (price === undefined) return skipped.add('invalid')
  const hasUnits = Object.keys(price.units ?? {}).length > 0
  if (isNothing(price.input) && isNothing(price.output) && !hasUnits) return skipped.add('free')
  const { mode = 'chat', max_input_tokens: context } = listed
  const multipliers = multipliersOf(listed)
  return {
    ...name,
    mode: MODES[mode] ?? mode,
    ...(typeof context === 'string' && { context }),
    periods: [{ price }],
    ...(Object.keys(multipliers).length > 0 && { multipliers }),
  }
}

const isNothing = (rate: string | undefined): boolean => rate === undefined || rate === '0'

/** Undefined when a rate is no decimal number. */
function sheetOf(listed: MapRow): RateSheet | undefined {
  const tables = new Map<number, Partial<Record<RatePart | PricedTier, string | Rates>>>([[0, {}]])
  for (const [member, value] of Object.entries(listed)) {
    const [, name = '', thousands = '0', suffix] = RATE_NAME.exec(member) ?? []
    const part = PARTS[name]
    // A cache write of 0 means that there is none, and a threshold of 0 is the usual price.
    if (part === undefined || value === null) continue
    const rate = typeof value === 'string' ? rateOf(value, 6) : undefined
    if (rate === undefined) return undefined
    if (rate === '0' && part.startsWith('cache_write')) continue
    const above = Number(thousands) * 1000
    const table = tables.get(above) ?? {}
    tables.set(above, table)
    if (suffix === undefined) table[part] = rate
    else {
      const tier = TIERS[suffix] as PricedTier
      table[tier] = { ...(table[tier] as Rates | undefined), [part]: rate }
    }
  }
  const base = tables.get(0) as RateSheet
  tables.delete(0)
  const cliffs = [...tables].map(([above, rates]) => ({ above, ...rates }) as CliffTier)
  const bands = bandsOf(listed)
  const fees = feesOf(listed)
  const units = unitsOf(listed)
  if (bands === undefined || fees === undefined || units === undefined) return undefined
  const [{ over: _over, up_to: _upTo, ...first } = { over: 0, up_to: 0 }] = bands
  return {
    ...first,
    ...base,
    ...(cliffs.length > 0 && { tiers: cliffs.sort((one, other) => one.above - other.above) }),
    ...(bands.length > 0 && { bands }),
    ...(Object.keys(fees).length > 0 && { fees }),
    ...(Object.keys(units).length > 0 && { units }),
  }
}

function bandsOf({ tiered_pricing }: MapRow): readonly Band[] | undefined {
  const bands: Band[] = []
  for (const { range = [], ...members } of tiered_pricing ?? []) {
    const [over = Number.NaN, upTo = Number.NaN] = range.map(Number)
    const rates: Partial<Record<RatePart, string>> = {}
    for (const [member, value] of Object.entries(members)) {
      const part = PARTS[member]
      if (part === undefined || value === null) continue
      const rate = typeof value === 'string' ? rateOf(value, 6) : undefined
      if (rate === undefined) return undefined
      rates[part] = rate
    }
    if (!Number.isSafeInteger(over) || !Number.isSafeInteger(upTo)) return undefined
    bands.push({ over, up_to: upTo, ...rates })
  }
  return bands
}

/** A search whose fee depends on its depth has no fee that a count of searches could be multiplied by. */
function feesOf(listed: MapRow): RateSheet['fees'] | undefined {
  const searches = new Set(Object.values(listed.search_context_cost_per_query ?? {}))
  const [search] = searches
  const webSearch = searches.size === 1 && typeof search === 'string' ? rateOf(search) : '0'
  const stored = listed['file_search_cost_per_1k_calls']
  const fileSearch = typeof stored === 'string' ? rateOf(stored, -3) : '0'
  if (webSearch === undefined || fileSearch === undefined) return undefined
  return {
    ...(webSearch !== '0' && { web_search: webSearch }),
    ...(fileSearch !== '0' && { file_search: fileSearch }),
  }
}

function unitsOf(listed: MapRow): RateSheet['units'] | undefined {
  const units: Partial<Record<BilledUnit, string>> = {}
  for (const [member, unit] of UNITS[listed.mode ?? ''] ?? []) {
    const value = listed[member]
    if (value == null) continue
    const rate = typeof value === 'string' ? rateOf(value) : undefined
    if (rate === undefined) return undefined
    if (rate !== '0') units[unit] = rate
  }
  return units
}

/** By place and speed: `us` and `eu` of OpenAI and Anthropic, every region but `global` of Vertex AI, `fast`. */
function multipliersOf(listed: MapRow): Readonly<Record<string, string>> {
  const entry = listed['provider_specific_entry']
  const specific = typeof entry === 'object' && entry !== null ? (entry as Readonly<Record<string, unknown>>) : {}
  const stated: Readonly<Record<string, unknown>> = {
    us: listed['regional_processing_uplift_multiplier_us'] ?? specific['us'],
    eu: listed['regional_processing_uplift_multiplier_eu'] ?? specific['eu'],
    regional: listed['regional_endpoint_uplift_multiplier'],
    fast: specific['fast'],
  }
  return Object.fromEntries(
    Object.entries(stated).flatMap(([name, value]) => {
      const factor = typeof value === 'string' ? rateOf(value) : undefined
      return factor === undefined || factor === '0' ? [] : [[name, factor]]
    }),
  )
}
