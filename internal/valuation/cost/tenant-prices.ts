/**
 * The prices and model names of a tenant. They take precedence over the price book and appear in the explanation.
 */
import { type CandidateName, type MatchStep, modelNames, statedProviderOf } from '../names/model-names.js'
import { comparableRegion, type PriceEntry } from './price-book.js'
import { isRate, isZero, RATE_PARTS, type RateSheet, rateTables } from './rate-sheet.js'

/** A negotiated price. Dates are RFC 3339 instants or dates (midnight UTC); `to` is exclusive. */
export interface TenantPriceOverride {
  readonly provider: string
  /** Model id, matched exactly, ignoring case. */
  readonly model: string
  readonly region?: string | undefined
  readonly from: string
  readonly to?: string | undefined
  /**
   * USD per 1,000,000 tokens, and fees in USD per call. Only listed tiers are priced: without batch rates, batch calls
   * are unpriced. Fees that are not listed are those of the price book.
   */
  readonly rates: RateSheet
}

/** The model behind a tenant's own name (an Azure deployment, an inference profile, a gateway group). */
export interface TenantModelName {
  readonly provider: string
  readonly model: string
  readonly servedBy: { readonly provider: string; readonly model: string }
}

export interface TenantPrices {
  /** Overrides for these names, best name first, then newest period first. The caller checks the time. */
  find(provider: string, model: string, region: string | undefined): readonly TenantPriceMatch[]
  /** The model behind a name of the tenant, or undefined. */
  rename(provider: string, model: string): { readonly provider: string; readonly model: string } | undefined
}

export interface TenantPriceMatch {
  readonly entry: PriceEntry
  readonly match: readonly MatchStep[]
}

export type TenantPricesResult =
  | { readonly kind: 'prices'; readonly prices: TenantPrices }
  | {
      readonly kind: 'invalid'
      readonly index: number
      readonly problem: 'period' | 'rate' | 'no_input_or_output_rate'
    }

/**
 * Indexes the tables of a tenant; call once per change, not per event. Reports the index of the first invalid override.
 */
export function tenantPrices(
  overrides: readonly TenantPriceOverride[],
  names: readonly TenantModelName[] = [],
): TenantPricesResult {
  const entries = new Map<string, PriceEntry[]>()
  for (const [index, override] of overrides.entries()) {
    const entry = tenantEntry(override)
    if (typeof entry === 'string') return { kind: 'invalid', index, problem: entry }
    const id = key(statedProviderOf(override.provider, override.model), entry.model)
    entries.set(id, [...(entries.get(id) ?? []), entry].sort(newestFirst))
  }
  const renamed = new Map(
    names.map(({ provider, model, servedBy }) => [key(statedProviderOf(provider, model), model), servedBy]),
  )

  return {
    kind: 'prices',
    prices: {
      find(provider, model, statedRegion) {
        if (entries.size === 0) return []
        const found = modelNames(provider, model)
        const region = found.region ?? comparableRegion(statedRegion)
        const names = [...found.candidates, ...found.opaque].filter(isLossless)
        return providersOf(provider, model, found.provider).flatMap((among) =>
          names.flatMap(({ name, steps }) =>
            (entries.get(key(among, name)) ?? [])
              .filter((entry) => entry.region === undefined || entry.region === region)
              .map((entry) => ({ entry, match: steps })),
          ),
        )
      },
      rename(provider, model) {
        if (renamed.size === 0) return undefined
        const among = providersOf(provider, model, modelNames(provider, model).provider)
        return among.map((one) => renamed.get(key(one, model))).find((servedBy) => servedBy !== undefined)
      },
    },
  }
}

/**
 * What is agreed for a gateway is for its calls alone; what is agreed for a provider also for those it gets through
 * one.
 */
function providersOf(statedProvider: string, model: string, inferred: string): readonly string[] {
  const stated = statedProviderOf(statedProvider, model)
  return stated === inferred ? [stated] : [stated, inferred]
}

function tenantEntry(override: TenantPriceOverride): PriceEntry | 'period' | 'rate' | 'no_input_or_output_rate' {
  const fromMs = Date.parse(override.from)
  const toMs = override.to === undefined ? Number.POSITIVE_INFINITY : Date.parse(override.to)
  if (!(fromMs < toMs)) return 'period'
  const { rates } = override
  if (rates.input === undefined || rates.output === undefined) return 'no_input_or_output_rate'
  if (Object.values({ ...rates.fees, ...rates.units }).some((rate) => !isRate(rate))) return 'rate'
  for (const each of rateTables(rates)) {
    for (const part of RATE_PARTS) {
      const rate = each[part]
      if (rate !== undefined && !(typeof rate === 'string' && isRate(rate))) return 'rate'
    }
  }
  return {
    source: 'tenant_price',
    provider: modelNames(override.provider, override.model).provider,
    model: override.model,
    region: override.region?.toLowerCase(),
    isEmbedding: isOutputFree(rates),
    isTierInclusive: false,
    periods: [{ fromMs, toMs, sheet: rates, isScheduled: false, windows: [] }],
    fees: {},
    units: {},
    residencyFactors: {},
    fastFactor: undefined,
    ofRelative: new Map(),
    rowFlags: [],
    otherBooks: undefined,
  }
}

/** Whether output is free for every request: then an event needs no output token count. */
function isOutputFree(rates: RateSheet): boolean {
  return rateTables(rates)
    .flatMap((each) => [each.output, each.reasoning, each.audio_output, each.image_output])
    .every((rate) => rate === undefined || isZero(rate))
}

/** A negotiated price applies only to its exact names: dropping a date or a profile would extend the contract. */
function isLossless({ steps }: CandidateName): boolean {
  return !steps.some((step) => LOSSY_STEPS.has(step))
}

const LOSSY_STEPS: ReadonlySet<MatchStep> = new Set(['profile_stripped', 'date_stripped', 'latest_stripped'])

/** A price for a region before one for all regions, then the latest start first. */
function newestFirst(left: PriceEntry, right: PriceEntry): number {
  const byRegion = Number(left.region === undefined) - Number(right.region === undefined)
  return byRegion || (right.periods[0]?.fromMs ?? 0) - (left.periods[0]?.fromMs ?? 0)
}

function key(provider: string, model: string): string {
  return `${provider}\n${model.trim().toLowerCase()}`
}
