/**
 * The price book: published, dated prices of AI models, indexed once at start. Pure except for `loadPriceBook`.
 *
 * A lookup takes the provider, the model and the region of an event and finds at most one entry, by whole names.
 * A model found only under another provider does not match: the operator of the model determines the price.
 */
import { readFileSync } from 'node:fs'
import type { MissingPriceReason } from '../../records/bases.js'
import { type MatchStep, type ModelNames, modelNames } from '../names/model-names.js'
import {
  completedSheet,
  isSamePrice,
  type Known,
  type KnownRule,
  type ProviderRule,
  type RelativeRow,
  relatives,
  ruleFor,
} from './assumed-rates.js'
import {
  type Fees,
  isRate,
  RATE_PARTS,
  type RateOrigin,
  type RateSheet,
  rateTables,
  stepsPerToken,
  type UnitRates,
} from './rate-sheet.js'
import { type TextPrice, textPrice } from './text-prices.js'

/** `prices.data.json`. Rates are USD per 1,000,000 tokens, fees USD per call, decimal strings. */
export interface PriceBookFile {
  readonly as_of: string
  readonly providers: Readonly<
    Record<string, { readonly tier_rule?: string; readonly rules?: readonly ProviderRule[] }>
  >
  readonly models: readonly PriceRow[]
  readonly history: readonly PriceHistory[]
  readonly zero_priced: readonly NamedRow[]
  readonly incomplete: readonly NamedRow[]
  readonly quarantined: readonly NamedRow[]
}

interface NamedRow {
  readonly provider: string
  readonly model: string
}

interface PlacedRow extends NamedRow {
  readonly region?: string
}

export type PriceRow = PlacedRow &
  RateSheet & {
    readonly mode?: string
    readonly residency_multiplier?: Readonly<Record<string, string>>
    readonly multipliers?: Readonly<Record<string, string>>
    readonly flags?: readonly string[]
    readonly other?: Readonly<Record<string, Readonly<Record<string, string>>>>
  }

/** The dated prices of rows: of those without a region, or of those in one. */
export interface PriceHistory {
  readonly provider: string
  readonly models: readonly string[]
  readonly region?: string
  readonly periods: readonly DatedPeriod[]
}

export interface DatedPeriod {
  /** A day (YYYY-MM-DD, from midnight UTC) or an instant (YYYY-MM-DDTHH:MM:SSZ). */
  readonly from: string
  /** Exclusive, likewise. */
  readonly to?: string
  readonly price: RateSheet
  /** Whether `price` lists all rates, so that the row adds none. */
  readonly complete?: boolean
  readonly scheduled?: boolean
  readonly windows?: readonly DatedWindow[]
}

interface DatedWindow {
  /** UTC, HH:MM; `from` is in the window, `to` is not. */
  readonly from: string
  readonly to: string
  /** ISO weekdays, Monday is 1. */
  readonly days: readonly number[]
  readonly price: RateSheet
}

/** Prices of one model over time. */
export interface PriceEntry {
  readonly source: 'price_book' | 'tenant_price'
  readonly provider: string
  readonly model: string
  readonly region: string | undefined
  readonly isEmbedding: boolean
  /** Whether the provider applies the tier from the threshold itself, and not only above it. */
  readonly isTierInclusive: boolean
  /** Oldest first, without overlaps. A price without dates is one period without bounds. */
  readonly periods: readonly PricePeriod[]
  /** Fees of tools, of a period that states none of its own. */
  readonly fees: Fees
  /** Prices of units besides tokens, of a period that states none of its own. */
  readonly units: UnitRates
  /** Factor on all tokens by where the provider processes them (`eu`, `us`), `regional` for every region but global. */
  readonly residencyFactors: Readonly<Record<string, string>>
  /** Factor on all tokens of a call that was served at the speed `fast`; undefined where none is listed. */
  readonly fastFactor: string | undefined
  /** Of the fees, units and factors those that the row lacks, by name. */
  readonly ofRelative: ReadonlyMap<string, RateOrigin>
  /** Doubts about the row, as stated in the book. */
  readonly rowFlags: readonly string[]
  /** Prices of other price books that disagree. */
  readonly otherBooks: PriceRow['other']
}

export interface PricePeriod {
  /** Milliseconds since the epoch, UTC; -Infinity when the price is undated. */
  readonly fromMs: number
  /** Exclusive; Infinity when the period has no end. */
  readonly toMs: number
  readonly sheet: RateSheet
  /** Announced in advance and not confirmed since. */
  readonly isScheduled: boolean
  readonly windows: readonly PriceWindow[]
}

export interface PriceWindow {
  readonly fromMinute: number
  readonly toMinute: number
  readonly days: readonly number[]
  readonly sheet: RateSheet
}

/** Why the book has no entry. A closed list. */
const LOOKUP_FAILURES = [
  'unknown_provider',
  'unknown_model',
  'opaque_profile',
  'zero_priced',
  'incomplete_price',
  'quarantined_price',
] as const satisfies readonly MissingPriceReason[]
export type LookupFailure = (typeof LOOKUP_FAILURES)[number]

export type PriceLookup =
  | {
      readonly kind: 'entry'
      readonly entry: PriceEntry
      readonly match: readonly MatchStep[]
      /** Region from the event or the model name, in lower case. */
      readonly region: string | undefined
    }
  | { readonly kind: 'none'; readonly reason: LookupFailure }

export interface PriceBook {
  readonly asOf: string
  /** Id of an imported book; undefined for the built-in one. */
  readonly id: string | undefined
  /** Not cached; `priceInvocation` caches the results. */
  find(provider: string, model: string, region: string | undefined): PriceLookup
  /** The models that generate text, with their newest list prices; not cached. */
  textPrices(): readonly TextPrice[]
}

/**
 * Reads the built-in book from this directory. The only I/O of the cost rules; call it once, at start. A price is
 * completed and checked when it is first asked for: all 3,600 took half a second of each start, and tests check each.
 */
export function loadPriceBook(): PriceBook {
  const file = loadPriceBookFile()
  return bookOf(file, entriesOf(file))
}

export function loadPriceBookFile(): PriceBookFile {
  // The file is part of the product, and tests check every rate of it.
  return JSON.parse(readFileSync(new URL('./prices.data.json', import.meta.url), 'utf8')) as PriceBookFile
}

/**
 * Builds the index, and completes every price.
 *
 * @param id id of an imported book
 * @throws RangeError on a rate that cannot be held exactly: such a book must not go into service
 */
export function priceBook(file: PriceBookFile, id?: string): PriceBook {
  const entries = entriesOf(file)
  for (const { anywhere, byRegion } of entries.values()) {
    anywhere?.()
    for (const entry of byRegion.values()) entry()
  }
  return bookOf(file, entries, id)
}

function entriesOf(file: PriceBookFile): ReadonlyMap<string, EntriesOfModel> {
  const entries = new Map<string, EntriesOfModel>()
  const historyOf = datedPrices(file.history)
  const relativesOf = relatives(file.models)
  for (const row of file.models) {
    const { tier_rule, rules = [] } = file.providers[row.provider] ?? {}
    const entry = once(() =>
      bookEntry(row, {
        history: historyOf(row),
        isTierInclusive: tier_rule === 'at_or_above',
        rule: ruleFor(rules, row.model),
        relatives: relativesOf(row).map((each) => ({ ...each, history: historyOf(each.row) })),
      }),
    )
    const id = key(row.provider, row.model)
    const ofModel: EntriesOfModel = entries.get(id) ?? { byRegion: new Map() }
    if (row.region === undefined) ofModel.anywhere = entry
    else ofModel.byRegion.set(row.region.toLowerCase(), entry)
    entries.set(id, ofModel)
  }
  return entries
}

function bookOf(file: PriceBookFile, entries: ReadonlyMap<string, EntriesOfModel>, id?: string): PriceBook {
  const regionalProviders = new Set(
    file.models.flatMap(({ provider, region }) => (region === undefined ? [] : provider)),
  )
  const knownProviders = new Set(Object.keys(file.providers))
  const historyOf = datedPrices(file.history)
  const withoutPrice = new Map<string, LookupFailure>()
  const lists = [
    [file.zero_priced, 'zero_priced'],
    [file.incomplete, 'incomplete_price'],
    [file.quarantined, 'quarantined_price'],
  ] as const
  for (const [rows, reason] of lists) {
    for (const { provider, model } of rows) {
      withoutPrice.set(key(provider, model), reason)
      knownProviders.add(provider)
    }
  }

  return {
    asOf: file.as_of,
    id,
    textPrices: () => file.models.flatMap((row) => textPrice(row, historyOf(row)) ?? []),
    find(provider, model, statedRegion) {
      const names = modelNames(provider, model)
      const [asSent] = names.candidates
      if (names.isFree && asSent !== undefined) {
        const match: readonly MatchStep[] = [...asSent.steps, 'free_variant']
        return { kind: 'entry', entry: freeEntry(asSent.name), match, region: undefined }
      }
      if (!knownProviders.has(names.provider)) return { kind: 'none', reason: 'unknown_provider' }
      if (names.isOpaque) return { kind: 'none', reason: 'opaque_profile' }
      const region = names.region ?? comparableRegion(statedRegion)
      for (const { name, steps } of names.candidates) {
        const id = key(names.provider, name)
        const ofModel = entries.get(id)
        const regional = region === undefined ? undefined : ofModel?.byRegion.get(region)
        if (regional !== undefined) return { kind: 'entry', entry: regional(), match: steps, region }
        if (ofModel?.anywhere !== undefined) {
          const step = regionStep(names, region, ofModel, regionalProviders)
          const match: readonly MatchStep[] = step === undefined ? steps : [...steps, step]
          return { kind: 'entry', entry: ofModel.anywhere(), match, region }
        }
        const failure = withoutPrice.get(id)
        if (failure !== undefined) return { kind: 'none', reason: failure }
      }
      return { kind: 'none', reason: 'unknown_model' }
    },
  }
}

const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** The dated prices of each row that has any. */
export function datedPrices(history: readonly PriceHistory[]): (row: PlacedRow) => readonly DatedPeriod[] | undefined {
  const periodsOf = new Map(
    history.flatMap(({ provider, models, region, periods }) =>
      models.map((model) => [key(provider, model, region), periods] as const),
    ),
  )
  return ({ provider, model, region }) => periodsOf.get(key(provider, model, region))
}

/** What the row for all regions assumes of where the call ran. */
function regionStep(
  { provider, profile }: ModelNames,
  region: string | undefined,
  ofModel: EntriesOfModel,
  regionalProviders: ReadonlySet<string>,
): MatchStep | undefined {
  // Azure: the kind of the deployment decides (global, data zone, regional); the row is of a global one.
  if (region === undefined)
    return provider.startsWith('azure') && ofModel.byRegion.size > 0 ? 'region_unstated' : undefined
  // A profile such as `us.` is the scope of its own row; in other regions the price may be higher than in this row.
  return regionalProviders.has(provider) && profile === undefined ? 'region_default' : undefined
}

interface EntriesOfModel {
  anywhere?: () => PriceEntry
  readonly byRegion: Map<string, () => PriceEntry>
}

interface Surroundings {
  readonly history?: readonly DatedPeriod[] | undefined
  readonly isTierInclusive: boolean
  readonly rule: KnownRule
  readonly relatives: readonly (RelativeRow<PriceRow> & { readonly history: readonly DatedPeriod[] | undefined })[]
}

function bookEntry(row: PriceRow, { history, isTierInclusive, rule, relatives }: Surroundings): PriceEntry {
  const { residencyFactors, speedFactors, fees, units, ofRelative } = factsOfRow(row, relatives)
  const fastFactor = speedFactors[FAST]
  const factors = combinations(Object.values(residencyFactors), fastFactor)
  const known: Known = {
    rule,
    relatives: relatives.flatMap(({ from, row: other, history: periods }) =>
      sheetsOf(other, periods).map((sheet) => ({ from, model: other.model, sheet })),
    ),
    isExact: (rate) => isRate(rate) && factors.every((each) => stepsPerToken(rate, each) !== undefined),
  }
  const periods = (history ?? [undefined]).map((period) => datedPeriod(period, row, known))
  for (const { sheet, windows } of periods) {
    for (const each of [sheet, ...windows.map((window) => window.sheet)]) {
      assertExact(each, known, `${row.provider}/${row.model}`)
    }
  }
  return {
    source: 'price_book',
    provider: row.provider,
    model: row.model,
    region: row.region,
    isEmbedding: row.mode === 'embedding',
    isTierInclusive,
    periods,
    fees,
    units,
    residencyFactors,
    fastFactor,
    ofRelative,
    rowFlags: (row.flags ?? []).filter((flag) => flag !== 'cache_read_missing'),
    otherBooks: row.other,
  }
}

/** The fees, prices of units and factors of a row; what it lacks of them is that of a relative of the same price. */
function factsOfRow(row: PriceRow, relatives: Surroundings['relatives']) {
  const same = relatives.filter((relative) => isSamePrice(relative.row, row))
  const ofRelative = new Map<string, RateOrigin>()
  const first = (select: (row: PriceRow) => Readonly<Record<string, string>>, prefix = ''): Record<string, string> => {
    const found = { ...select(row) }
    for (const { from, row: other } of same) {
      for (const [name, value] of Object.entries(select(other))) {
        if (Object.hasOwn(found, name)) continue
        found[name] = value
        ofRelative.set(`${prefix}${name}`, { from, by: other.model })
      }
    }
    return found
  }
  const ofSpeed = ([name]: readonly [string, string]): boolean => name === FAST
  const factors = (each: PriceRow) => Object.entries({ ...each.residency_multiplier, ...each.multipliers })
  return {
    fees: first(({ fees = {} }) => fees) as Fees,
    units: first(({ units = {} }) => units) as UnitRates,
    residencyFactors: first((each) => Object.fromEntries(factors(each).filter((one) => !ofSpeed(one))), 'residency_'),
    speedFactors: first((each) => Object.fromEntries(factors(each).filter(ofSpeed)), 'speed_'),
    ofRelative,
  }
}

/** All prices of a row: its own, and those of its periods, the newest first. */
const sheetsOf = (row: PriceRow, history: readonly DatedPeriod[] = []): readonly RateSheet[] => [
  row,
  ...history.map((period) => sheetOfPeriod(period, row)).reverse(),
]

/**
 * A variant that OpenRouter serves for nothing, whichever the model: openrouter.ai/docs, model variants. A known price
 * of
 * 0, unlike the `zero_priced` rows; the row without the suffix is the paid variant.
 */
const freeEntry = (model: string): PriceEntry =>
  bookEntry({ provider: 'openrouter', model, ...FREE_RATES }, { isTierInclusive: false, rule: {}, relatives: [] })
const FREE_RATES: RateSheet = { input: '0', output: '0', cache_read: '0', cache_write: '0' }

function datedPeriod(period: DatedPeriod | undefined, row: PriceRow, known: Known): PricePeriod {
  const { from, to, scheduled, windows = [] } = period ?? {}
  return {
    fromMs: from === undefined ? Number.NEGATIVE_INFINITY : startMs(from),
    toMs: to === undefined ? Number.POSITIVE_INFINITY : startMs(to),
    sheet: completedSheet(period === undefined ? row : sheetOfPeriod(period, row), known),
    isScheduled: scheduled === true,
    windows: windows.map(({ from, to, days, price }) => ({
      fromMinute: minuteOfDay(from),
      toMinute: minuteOfDay(to),
      days,
      sheet: completedSheet(price, known),
    })),
  }
}

/** A blank region is none. */
export const comparableRegion = (stated: string | undefined): string | undefined =>
  stated?.trim().toLowerCase() || undefined

/** Of a day, which begins at midnight UTC, or of an instant. NaN of what is neither. */
export const startMs = (dayOrInstant: string): number =>
  Date.parse(dayOrInstant.includes('T') ? dayOrInstant : `${dayOrInstant}T00:00:00Z`)

/**
 * A period lists the rates that changed. If its input and output rates equal those of the row, it is the same price
 * list, and the row supplies the rates that the period omits (batch, flex, audio). Thresholds are never inherited:
 * removing one is a change. A period that is `complete` takes nothing from the row.
 */
export function sheetOfPeriod({ price, complete }: DatedPeriod, row: PriceRow): RateSheet {
  if (complete === true || price.input !== row.input || price.output !== row.output) return price
  const { tiers: _tiers, bands: _bands, ...rates } = row
  if (price.tiers === undefined || row.tiers === undefined) return { ...rates, ...price }
  // The period defines the cliff; the row has the rates of the service tiers beyond it.
  const tiers = price.tiers.map((tier, at) => ({ ...row.tiers?.[at], ...tier }))
  return { ...rates, ...price, tiers }
}

/** Among the multipliers of a row the one that is no place. */
const FAST = 'fast'

/** The factors that a call can have at once: at most one of a region, and that of the speed. */
function combinations(ofRegions: readonly string[], fast: string | undefined): readonly (readonly string[])[] {
  const alone: readonly (readonly string[])[] = [[], ...ofRegions.map((factor) => [factor])]
  return fast === undefined ? alone : [...alone, ...alone.map((factors) => [...factors, fast])]
}

function assertExact(sheet: RateSheet, { isExact }: Known, name: string): void {
  for (const [tool, fee] of Object.entries(sheet.fees ?? {})) {
    if (!isRate(fee)) throw new RangeError(`price book: ${name} has a fee that cannot be held exactly: ${tool} ${fee}`)
  }
  for (const [unit, rate] of Object.entries(sheet.units ?? {})) {
    if (!isRate(rate))
      throw new RangeError(`price book: ${name} has a price that cannot be held exactly: ${unit} ${rate}`)
  }
  for (const rates of rateTables(sheet)) {
    for (const part of RATE_PARTS) {
      const rate = rates[part]
      if (rate === undefined) continue
      if (!isExact(rate))
        throw new RangeError(`price book: ${name} has a rate that cannot be held exactly: ${part} ${rate}`)
    }
  }
}

function minuteOfDay(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5))
}

function key(provider: string, model: string, region = ''): string {
  return `${provider}\n${model.toLowerCase()}\n${region.toLowerCase()}`
}
