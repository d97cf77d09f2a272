/**
 * Rates that a row of the price book lacks although they are known: by a rule that its provider states, else from the
 * row of its undated alias or of its dated snapshots, if they have the same price. Pure. Every rate that comes about so
 * says it: a cost that uses it is an assumption on the card.
 */
import { isPlausibleBeside, isWithinBounds } from './rate-bounds.js'
import {
  type AssumedRates,
  type Band,
  CACHED_PARTS,
  type CachedPart,
  type CliffTier,
  PRICED_TIERS,
  type PricedTier,
  RATE_PARTS,
  type RateOrigin,
  type RatePart,
  type RateSheet,
  type Rates,
  type RateTable,
  ratesOf,
  stepsPerToken,
  timesFactor,
  UNCACHED,
} from './rate-sheet.js'

/** Factors that a provider states for its models in general, not per model. Decimal strings. */
export interface ProviderRule {
  /** In lower case, whole or with a `*` at the end. */
  readonly models: readonly string[]
  /** Parts of names, in lower case, of models that the rule does not mean. */
  readonly not?: readonly string[]
  /** Where the provider states it. */
  readonly source: string
  /** Of the input rate. */
  readonly cache_read?: string
  readonly cache_write?: string
  readonly cache_write_1h?: string
  /** Of the rates of the standard tier. Cached tokens and cache writes have no discount, unless one is stated. */
  readonly batch?: string
  readonly flex?: string
  readonly priority?: string
  /** Of the rates for cached tokens and cache writes of the standard tier. */
  readonly batch_cache?: string
  readonly flex_cache?: string
}

export const RULE_TIERS = ['batch', 'flex', 'priority'] as const satisfies readonly PricedTier[]
export const RULE_CACHES = ['batch_cache', 'flex_cache'] as const
export const RULE_PARTS = ['cache_read', 'cache_write', 'cache_write_1h'] as const satisfies readonly RatePart[]

/** A price of the same model under its other name: of the alias, or of a snapshot. */
export interface Relative {
  readonly from: 'alias' | 'snapshot'
  readonly model: string
  readonly sheet: RateSheet
}

/** What the rules of a provider state for one model. */
export type KnownRule = Readonly<
  Partial<Record<(typeof RULE_PARTS | typeof RULE_TIERS | typeof RULE_CACHES)[number], StatedFactor>>
>
interface StatedFactor {
  readonly times: string
  readonly source: string
}

/** Of each factor that of the first rule that names the model and states it. */
export function ruleFor(rules: readonly ProviderRule[], model: string): KnownRule {
  const name = model.toLowerCase()
  const isMeant = (pattern: string): boolean =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
  const found: Partial<Record<keyof KnownRule, StatedFactor>> = {}
  for (const rule of rules) {
    if (!rule.models.some(isMeant) || rule.not?.some((part) => name.includes(part)) === true) continue
    for (const of of [...RULE_PARTS, ...RULE_TIERS, ...RULE_CACHES]) {
      const times = rule[of]
      if (times !== undefined) found[of] ??= { times, source: rule.source }
    }
  }
  return found
}

/** A day, or MMDD or YYMM, at the end or before the version of a Bedrock id. */
const DATE = /[-@](?:20\d{2}-\d{2}-\d{2}|20\d{6}|\d{4})(?=$|-v\d)/
const FLOATING = /-latest$/

/** A model's name without the date of a snapshot: the family of the model. */
const undated = (model: string): string => model.toLowerCase().replace(DATE, '').replace(FLOATING, '')

export interface RelativeRow<R> {
  readonly from: Relative['from']
  readonly row: R
}

interface NamedRow {
  readonly provider: string
  readonly model: string
  readonly region?: string
}

/**
 * The rows of a model's other names at the same provider and in the same region: the alias of a snapshot, then all
 * other snapshots, those with the last date first. Four digits count as a date, too: only rows of the same price pass
 * rates on, so that a name that merely looks like a snapshot's takes none.
 */
export function relatives<R extends NamedRow>(rows: readonly R[]): (row: R) => readonly RelativeRow<R>[] {
  const families = new Map<string, R[]>()
  const familyOf = ({ provider, model, region = '' }: R): string => `${provider}\n${region}\n${undated(model)}`
  for (const row of rows) families.set(familyOf(row), [...(families.get(familyOf(row)) ?? []), row])
  const isDated = ({ model }: R): boolean => DATE.test(model.toLowerCase())
  return (row) => {
    const family = families.get(familyOf(row)) ?? []
    const aliases = isDated(row) ? family.filter((other) => !isDated(other)) : []
    const snapshots = family.filter((other) => isDated(other) && other !== row)
    return [
      ...aliases.map((alias) => ({ from: 'alias', row: alias }) as const),
      ...snapshots
        .sort((one, other) => (one.model < other.model ? 1 : -1))
        .map((snapshot) => ({ from: 'snapshot', row: snapshot }) as const),
    ]
  }
}

export interface Known {
  readonly rule: KnownRule
  readonly relatives: readonly Relative[]
  /** Whether the rate times all factors of the row can be held exactly. */
  readonly isExact: (rate: string) => boolean
}

/**
 * The sheet with the rates that are known from elsewhere, in this order: the rule, the relatives. A listed rate always
 * stays, and of a relative only what it lists counts.
 */
export function completedSheet(sheet: RateSheet, known: Known): RateSheet {
  if (sheet.input === undefined) return sheet
  const relatives = known.relatives.filter((relative) => isSamePrice(relative.sheet, sheet))
  const from = { ...known, relatives }
  const base = withParts({ ...sheet, assumed: {} }, from)
  return withCliffs(
    withTiers(base, base, from, (of) => of),
    from,
  )
}

export const isSamePrice = (one: Rates, other: Rates): boolean =>
  one.input === other.input && one.output === other.output

/** Completes the rates of the standard tier. */
function withParts<T extends RateTable>(table: T, known: Known): T {
  const ruled = filledByRule(table, ratesByRule(table.input, known.rule), known)
  return known.relatives.reduce((each, { sheet, ...of }) => filled(each, sheet, relativeOf(of), known), ruled)
}

function ratesByRule(input: string | undefined, rule: KnownRule): Rates {
  const rates: Partial<Record<RatePart, string>> = {}
  for (const part of RULE_PARTS) {
    const stated = rule[part]
    const rate = input === undefined || stated === undefined ? undefined : timesFactor(input, stated.times)
    if (rate !== undefined) rates[part] = rate
  }
  return rates
}

/** Each part with the source of its own factor. */
const filledByRule = <T extends RateTable>(table: T, byRule: Rates, known: Known): T =>
  RULE_PARTS.reduce((each, part) => filled(each, { [part]: byRule[part] }, originOf(known.rule[part]), known), table)

/** Completes the tables of the other tiers, beside rates of the standard tier. */
function withTiers<T extends TierTables>(
  table: T,
  standard: Rates,
  known: Known,
  tableOf: (sheet: RateSheet) => TierTables | undefined,
): T {
  const completed: Partial<Record<PricedTier, RateTable>> = {}
  for (const tier of PRICED_TIERS) {
    const listed = table[tier]
    let found: RateTable = { ...listed, assumed: {} }
    const stated = isRuleTier(tier) ? known.rule[tier] : undefined
    const isPlausible = stated !== undefined && isWithinBounds(tier, stated.times, '1')
    const byRule = isPlausible ? scaled(standard, stated.times, ofCache(tier, stated.times, known.rule)) : undefined
    // Rates that are listed otherwise than by the rule are not of the rule: nothing beside them follows from it.
    if (byRule !== undefined && (listed?.input === undefined || listed.input === byRule.input)) {
      found = filled(found, byRule, originOf(stated), known)
    }
    for (const { sheet, ...of } of known.relatives) {
      const other = tableOf(sheet)?.[tier]
      if (other === undefined || (found.input !== undefined && !isSamePrice(found, other))) continue
      found = filled(found, other, relativeOf(of), known)
    }
    if (found.input !== undefined) completed[tier] = found
  }
  return { ...table, ...completed }
}

type TierTables = Readonly<Partial<Record<PricedTier, RateTable>>>

/**
 * Completes the tables beyond each cliff. A sheet without cliffs has those of a relative, unless another relative of the
 * same price has none: a cliff that was removed, of which an earlier period of the alias knows, must not come back.
 */
function withCliffs(sheet: RateSheet, known: Known): RateSheet {
  const hasCliffs = (of: RateSheet): boolean => (of.tiers ?? of.bands) !== undefined
  const isCertain = known.relatives.every((each) => hasCliffs(each.sheet))
  const owner = hasCliffs(sheet) || !isCertain ? undefined : known.relatives[0]
  const { tiers, bands } = owner?.sheet ?? sheet
  const byRule = ratesByRule(sheet.input, known.rule)
  // What follows the rule below the threshold follows it beyond, of the input rate there.
  const ruledParts = RULE_PARTS.filter((part) => byRule[part] !== undefined && byRule[part] === sheet[part])
  const complete = <T extends CliffTier | Band>(cliffs: readonly T[]): readonly T[] =>
    cliffs.map((listed) => {
      const own: T = { ...listed, assumed: owner === undefined ? {} : assumedAll(listed, relativeOf(owner)) }
      const beyond = ratesByRule(listed.input, known.rule)
      const ruled = Object.fromEntries(ruledParts.map((part) => [part, beyond[part]]))
      const ruledTable = filledByRule(own, ruled, known)
      const beside = (other: RateSheet): CliffTier | Band | undefined =>
        [...(other.tiers ?? []), ...(other.bands ?? [])].find((cliff) => isSameCliff(cliff, listed))
      const table = known.relatives.reduce(
        (each, { sheet: other, ...of }) => filled(each, beside(other) ?? {}, relativeOf(of), known),
        ruledTable,
      )
      const standard = ratesOf({ ...sheet, tiers: [{ ...table, above: 0 }] }, 'standard', 0)
      return withTiers(table, standard.kind === 'rates' ? standard.rates : {}, known, beside)
    })
  return { ...sheet, ...(tiers && { tiers: complete(tiers) }), ...(bands && { bands: complete(bands) }) }
}

const isSameCliff = (one: CliffTier | Band, other: CliffTier | Band): boolean =>
  isSamePrice(one, other) &&
  ('above' in one ? 'above' in other && one.above === other.above : 'over' in other && one.over === other.over)

const isRuleTier = (tier: PricedTier): tier is (typeof RULE_TIERS)[number] =>
  (RULE_TIERS as readonly PricedTier[]).includes(tier)

const originOf = (stated: StatedFactor | undefined): RateOrigin => ({
  from: 'provider_rule',
  by: stated?.source ?? '',
})
const relativeOf = ({ from, model }: Omit<Relative, 'sheet'>): RateOrigin => ({ from, by: model })

const assumedAll = (rates: Rates, origin: RateOrigin): AssumedRates =>
  Object.fromEntries(RATE_PARTS.filter((part) => rates[part] !== undefined).map((part) => [part, origin]))

/** A discount is that of the cache only where its provider states it; a surcharge is that of all tokens. */
function ofCache(tier: PricedTier, factor: string, rule: KnownRule): string {
  const stated = tier === 'batch' ? rule.batch_cache : tier === 'flex' ? rule.flex_cache : undefined
  return stated?.times ?? (isWithinBounds('priority', factor, '1') ? factor : '1')
}

const CACHE_PARTS: ReadonlySet<RatePart> = new Set([...CACHED_PARTS, 'cache_write', 'cache_write_1h'])

/**
 * All rates times a factor, cached tokens at most at that of uncached ones; undefined when one of them cannot be held
 * exactly.
 */
function scaled(rates: Rates, factor: string, cacheFactor: string): Rates | undefined {
  const products = RATE_PARTS.flatMap((part) => {
    const rate = rates[part]
    return rate === undefined ? [] : [[part, timesFactor(rate, CACHE_PARTS.has(part) ? cacheFactor : factor)] as const]
  })
  if (products.some(([, product]) => product === undefined)) return undefined
  const found: Rates = Object.fromEntries(products)
  const capped = CACHED_PARTS.filter((part) => isAbove(found[part], uncachedIn(found, part)))
  return { ...found, ...Object.fromEntries(capped.map((part) => [part, uncachedIn(found, part)])) }
}

const uncachedIn = (rates: Rates, part: CachedPart): string | undefined => rates[UNCACHED[part]] ?? rates.input

const isAbove = (rate: string | undefined, other: string | undefined): boolean =>
  rate !== undefined && other !== undefined && (stepsPerToken(rate, []) ?? 0n) > (stepsPerToken(other, []) ?? 0n)

/** The table with the rates that it lacks and that are plausible beside its own. */
function filled<T extends RateTable>(
  table: T,
  from: Readonly<Partial<Record<RatePart, string | undefined>>>,
  origin: RateOrigin,
  { isExact }: Known,
): T {
  const added: Partial<Record<RatePart, string>> = {}
  for (const part of RATE_PARTS) {
    const rate = from[part]
    if (table[part] !== undefined || rate === undefined || !isExact(rate)) continue
    if (isPlausibleBeside({ ...from, ...table } as Rates, part, rate)) added[part] = rate
  }
  return { ...table, ...added, assumed: { ...table.assumed, ...assumedAll(added, origin) } }
}
