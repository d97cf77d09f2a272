/**
 * genai-prices (github.com/pydantic/genai-prices, MIT): its published `prices/new_data/v2/data.json` or
 * `prices/data.json`, or `dist/index.js` of the npm package, of which only the literal of the prices is read. Prices
 * are USD per million tokens, per 1,000 searches and pages, and per hour of audio; the last dated price that has
 * started applies.
 */
import { z } from 'zod'
import type { BilledUnit } from '../../../text/call-words.js'
import {
  type BilledTool,
  type CliffTier,
  type Fees,
  type PricedTier,
  RATE_PARTS,
  type RatePart,
  type RateSheet,
  type Rates,
  stepsPerToken,
  type UnitRates,
} from '../../cost/rate-sheet.js'
import { rateOf } from './exact-rate.js'
import { type Clause, clause, fitOf, listedNames } from './genai-match.js'
import { type Literal, readLiteral } from './literal.js'
import {
  canBeStated,
  type ParsedSource,
  Skipped,
  type SourceBook,
  type SourceMatch,
  type SourcePeriod,
  type SourceRow,
} from './source-book.js'

const PARTS: Readonly<Record<string, RatePart>> = {
  input_mtok: 'input',
  output_mtok: 'output',
  cache_read_mtok: 'cache_read',
  cache_write_mtok: 'cache_write',
  cache_write_1h_mtok: 'cache_write_1h',
  output_reasoning_mtok: 'reasoning',
  input_audio_mtok: 'audio_input',
  output_audio_mtok: 'audio_output',
  cache_audio_read_mtok: 'audio_cache_read',
  input_image_mtok: 'image_input',
  output_image_mtok: 'image_output',
  cache_image_read_mtok: 'image_cache_read',
}
const TOOLS: Readonly<Record<string, BilledTool>> = {
  web_searches_kcount: 'web_search',
  storage_searches_kcount: 'file_search',
}
/** `requests_kcount` is left out: Perplexity has three fees, by the depth of the search, and it lists the highest. */
const UNITS: Readonly<Record<string, readonly [unit: BilledUnit, power: number, divisor: bigint]>> = {
  audio_hours: ['seconds', 0, 3600n],
  input_audio_hours: ['seconds', 0, 3600n],
  input_document_kpages: ['pages', -3, 1n],
  input_mchars: ['characters', -6, 1n],
}
/** Its providers by ours. Claude on Vertex AI is listed under Google; zhipuai sells in China at other prices. */
const PROVIDERS: Readonly<Record<string, string>> = {
  aws: 'bedrock',
  fireworks: 'fireworks_ai',
  google: 'gemini',
  moonshotai: 'moonshot',
  together: 'together_ai',
  voyageai: 'voyage',
  'x-ai': 'xai',
}
const TIER_OF: Readonly<Record<string, PricedTier>> = {
  'processing=batch': 'batch',
  'service_tier=flex': 'flex',
  'service_tier=priority': 'priority',
}
const FAST = 'speed=fast'

const day = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .refine((text) => !Number.isNaN(Date.parse(text)))
const amount = z.union([
  z.string(),
  z.looseObject({
    base: z.string(),
    tiers: z
      .array(z.looseObject({ start: z.string().regex(/^\d{1,12}(?:\.0*)?(?:e\d)?$/), price: z.string() }))
      .max(16),
  }),
])
const known = [...Object.keys(PARTS), ...Object.keys(TOOLS), ...Object.keys(UNITS)]
const prices = z.looseObject(Object.fromEntries(known.map((name) => [name, amount.nullish()])))
const constraint = z
  .looseObject({ start_date: day.nullish(), start_time: z.string().nullish(), end_time: z.string().nullish() })
  .nullish()
const conditional = z.looseObject({ constraint, prices })
const variant = z.looseObject({ when: z.record(z.string(), z.string()), prices, constraint })
const model = z.looseObject({
  id: z.string().min(1).max(256),
  match: clause,
  context_window: z.string().max(20).nullish(),
  prices: z.union([z.array(conditional).min(1).max(64), prices]),
  price_variants: z.array(variant).max(64).nullish(),
})
const providersFile = z
  .array(z.looseObject({ id: z.string().min(1).max(128), models: z.array(z.unknown()).max(20_000) }))
  .min(1)
  .max(1_000)

type Prices = z.infer<typeof prices>
type Model = z.infer<typeof model>

/** @param providers ids of the providers in our book: rows of others price no call */
export function readGenaiPrices(text: string, providers: ReadonlySet<string>): ParsedSource {
  let file: Literal
  try {
    const start = /^\s*[[{]/.test(text) ? undefined : text.search(/\[\s*\{\s*id:\s*["']/)
    if (start !== undefined && start < 0)
      return { kind: 'invalid', problem: 'neither JSON nor a module with a list of providers' }
    file = readLiteral(text, start)
  } catch (cause) {
    return { kind: 'invalid', problem: cause instanceof Error ? cause.message : String(cause) }
  }
  const parsed = providersFile.safeParse(file)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return { kind: 'invalid', problem: `${issue?.path.join('.')}: ${issue?.message}` }
  }
  const skipped = new Skipped()
  const models = new Map<string, ConvertedModel[]>()
  for (const { id, models: listed } of parsed.data) {
    for (const stated of listed) {
      const { data: each } = model.safeParse(stated)
      if (each === undefined) {
        skipped.add('invalid')
        continue
      }
      const provider = providerOf(id, each.id)
      if (!providers.has(provider)) {
        skipped.add('unknown_provider')
        continue
      }
      const ofProvider = models.get(provider) ?? []
      ofProvider.push({ provider, model: each, row: rowOf(provider, each, skipped) })
      models.set(provider, ofProvider)
    }
  }
  return { kind: 'source', book: bookOf(models, skipped) }
}

const providerOf = (id: string, modelId: string): string =>
  id === 'google' && modelId.startsWith('claude') ? 'vertex_ai' : (PROVIDERS[id] ?? id)

interface ConvertedModel {
  readonly provider: string
  readonly model: Model
  /** Undefined where the model has no price that our book can hold: it still takes its names. */
  readonly row: SourceRow | undefined
}

function bookOf(models: ReadonlyMap<string, readonly ConvertedModel[]>, skipped: Skipped): SourceBook {
  const match = (provider: string, name: string): (SourceMatch & { readonly model: Model }) | undefined => {
    const sought = name.toLowerCase()
    for (const { model, row } of models.get(provider) ?? []) {
      const fit = fitOf(model.match as Clause, sought)
      const isExact = fit === 'exact' || model.id.toLowerCase() === sought
      if (fit !== undefined) return row && { row: { ...row, model: name }, model, isExact }
    }
    return undefined
  }
  const rows = [...models.values()].flat().flatMap(({ provider, model, row }) => {
    if (row === undefined) return []
    const names = new Map([model.id, ...listedNames(model.match as Clause)].map((name) => [name.toLowerCase(), name]))
    return [...names.values()]
      .filter((name) => match(provider, name)?.model === model)
      .filter((name) => canBeStated(name) || skipped.add('no_model_name'))
      .map((name): SourceRow => ({ ...row, model: name }))
  })
  return {
    name: 'genai-prices',
    rows,
    // It knows one price per provider.
    find: (provider, name, region) => (region === undefined ? match(provider, name) : undefined),
    skipped: skipped.counts,
  }
}

function rowOf(provider: string, listed: Model, skipped: Skipped): SourceRow | undefined {
  const standard = Array.isArray(listed.prices) ? listed.prices : [{ prices: listed.prices as Prices }]
  const all = [...standard, ...(listed.price_variants ?? [])]
  if (all.some((each) => each.constraint?.start_time != null)) return skipped.add('by_time_of_day')
  const days = [...new Set(all.map((each) => each.constraint?.start_date).filter((from) => from != null))].sort()
  const periods: SourcePeriod[] = []
  for (const from of [undefined, ...days]) {
    const price = sheetAt(listed, from ?? '')
    if (price === undefined) return skipped.add('invalid')
    periods.push({ ...(from !== undefined && { from }), price: withoutStorage(price) })
  }
  const newest = periods.at(-1)?.price
  const isFree = isNothing(newest?.input) && isNothing(newest?.output) && Object.keys(newest?.units ?? {}).length === 0
  if (isFree) return skipped.add('free')
  const fast = fastFactor(listed)
  return {
    provider,
    model: listed.id,
    mode: modeOf(newest),
    ...(listed.context_window != null && { context: listed.context_window }),
    periods,
    ...(fast !== undefined && { multipliers: { fast } }),
  }
}

/** Of Gemini on OpenRouter it lists the storage of a cache write, without the input that it costs besides. */
function withoutStorage({ cache_write: write, ...price }: RateSheet): RateSheet {
  const [cost, input] = [write ?? '0', price.input ?? '0'].map((rate) => stepsPerToken(rate, []) ?? 0n)
  const isStorage = cost !== undefined && input !== undefined && cost > 0n && cost < input
  const tiers = price.tiers?.map(({ cache_write: _, ...tier }) => tier)
  if (isStorage) return { ...price, ...(tiers && { tiers }) }
  return { ...price, ...(write !== undefined && { cache_write: write }) }
}

const isNothing = (rate: string | undefined): boolean => rate === undefined || rate === '0'

function modeOf(sheet: RateSheet | undefined): string {
  if (sheet?.input !== undefined) return isNothing(sheet.output) ? 'embedding' : 'chat'
  if (sheet?.units?.pages !== undefined) return 'ocr'
  return sheet?.units?.characters !== undefined ? 'speech' : 'transcription'
}

/** All prices in force on a day; undefined when one is no decimal number. @param on '' is before every dated price */
function sheetAt({ prices: listed, price_variants }: Model, on: string): RateSheet | undefined {
  const hasStarted = (each: { constraint?: z.infer<typeof constraint> }): boolean =>
    (each.constraint?.start_date ?? '') <= on
  const standard = Array.isArray(listed)
    ? ((listed.findLast(hasStarted) ?? listed[0])?.prices as Prices)
    : (listed as Prices)
  const table = ratesIn(standard)
  const tiers = new Map<PricedTier, RatesByInput>()
  for (const [when, tier] of Object.entries(TIER_OF)) {
    const variants = (price_variants ?? []).filter((each) => hasStarted(each) && conditionOf(each.when) === when)
    if (variants.length === 0) continue
    // The first variant that has a price decides; what none has costs as usual.
    const overrides = Object.assign({}, ...variants.map((each) => withoutNulls(each.prices)).reverse())
    const rates = ratesIn({ ...standard, ...overrides })
    if (rates === undefined) return undefined
    tiers.set(tier, rates)
  }
  const fees = unitsIn(standard, TOOLS)
  const units = unitsIn(standard, UNITS)
  if (table === undefined || fees === undefined || units === undefined) return undefined
  const cliffs = cliffsOf(table, tiers)
  return {
    ...table.base,
    ...Object.fromEntries([...tiers].map(([tier, { base }]) => [tier, base])),
    ...(cliffs.length > 0 && { tiers: cliffs }),
    ...(Object.keys(fees).length > 0 && { fees: fees as Fees }),
    ...(Object.keys(units).length > 0 && { units: units as UnitRates }),
  }
}

const conditionOf = (when: Readonly<Record<string, string>>): string =>
  Object.entries(when)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')

const withoutNulls = (listed: Prices): Prices =>
  Object.fromEntries(Object.entries(listed).filter(([, price]) => price != null)) as Prices

interface RatesByInput {
  readonly base: Rates
  /** By the input above which they apply: the rates that differ from `base`. */
  readonly above: ReadonlyMap<number, Rates>
}

function ratesIn(listed: Prices): RatesByInput | undefined {
  const base: Partial<Record<RatePart, string>> = {}
  const above = new Map<number, Partial<Record<RatePart, string>>>()
  const starts = new Set<number>()
  for (const name of Object.keys(PARTS)) {
    const price = listed[name] as z.infer<typeof amount> | null | undefined
    if (typeof price === 'object') for (const { start } of price?.tiers ?? []) starts.add(Number(start))
  }
  for (const [name, part] of Object.entries(PARTS)) {
    const price = listed[name] as z.infer<typeof amount> | null | undefined
    if (price == null) continue
    const rate = rateOf(typeof price === 'string' ? price : price.base)
    if (rate === undefined) return undefined
    base[part] = rate
    for (const start of typeof price === 'string' ? [] : starts) {
      const tier = (price as Exclude<typeof price, string>).tiers
        .filter((each) => Number(each.start) <= start)
        .sort((one, other) => Number(one.start) - Number(other.start))
        .at(-1)
      if (tier === undefined) continue
      const beyond = rateOf(tier.price)
      if (beyond === undefined) return undefined
      above.set(start, { ...above.get(start), [part]: beyond })
    }
  }
  return { base, above }
}

/** A service tier beyond a threshold lists all of its rates: none of them comes from another table. */
function cliffsOf(table: RatesByInput, tiers: ReadonlyMap<PricedTier, RatesByInput>): CliffTier[] {
  const starts = new Set([table, ...tiers.values()].flatMap(({ above }) => [...above.keys()]))
  return [...starts]
    .sort((one, other) => one - other)
    .map((start) => {
      const ofTiers = [...tiers].flatMap(([tier, { base, above }]) =>
        above.has(start) ? [[tier, { ...base, ...above.get(start) }] as const] : [],
      )
      return { above: start, ...table.above.get(start), ...Object.fromEntries(ofTiers) }
    })
}

function unitsIn(listed: Prices, names: typeof TOOLS | typeof UNITS): Readonly<Record<string, string>> | undefined {
  const found: Record<string, string> = {}
  for (const [name, meaning] of Object.entries(names)) {
    const price = listed[name] as z.infer<typeof amount> | null | undefined
    if (typeof price !== 'string') continue
    const [unit, power, divisor] = typeof meaning === 'string' ? ([meaning, -3, 1n] as const) : meaning
    const rate = rateOf(price, power, divisor)
    if (rate === undefined) return undefined
    if (rate !== '0') found[unit] = rate
  }
  return found
}

/** The whole factor by which a fast call costs more, where it is the same for all tokens. */
function fastFactor({ prices: listed, price_variants }: Model): string | undefined {
  const fast = price_variants?.find(({ when }) => conditionOf(when) === FAST)
  if (fast === undefined) return undefined
  const usual = ratesIn((Array.isArray(listed) ? listed.at(-1)?.prices : listed) as Prices)?.base
  const rates = ratesIn(fast.prices)?.base
  const steps = (rate: string | undefined): bigint => (rate === undefined ? 0n : (stepsPerToken(rate, []) ?? 0n))
  const base = steps(usual?.input)
  const factor = base === 0n ? 0n : steps(rates?.input) / base
  const isSame = RATE_PARTS.every(
    (part) => rates?.[part] === undefined || steps(rates[part]) === steps(usual?.[part]) * factor,
  )
  return factor > 0n && isSame ? factor.toString() : undefined
}
