import { type Band, type CliffTier, PRICED_TIERS, RATE_PARTS, type RateSheet, type Rates } from '../cost/rate-sheet.js'
import { canonicalRate } from './sources/exact-rate.js'

/**
 * A price list as one table of names and decimals, so that two lists are compared price by price: `input`,
 * `batch.input`, `>200000.input`, `0-32000.input`, `fees.web_search`, `units.pages`.
 */
export type FlatSheet = ReadonlyMap<string, string>

export function flattened(sheet: RateSheet): FlatSheet {
  const flat = new Map<string, string>()
  addTables(flat, '', sheet)
  for (const { above, ...rates } of sheet.tiers ?? []) addTables(flat, `>${above}.`, rates)
  for (const { over, up_to, ...rates } of sheet.bands ?? []) addTables(flat, `${over}-${up_to}.`, rates)
  for (const group of ['fees', 'units'] as const) {
    for (const [name, rate] of Object.entries(sheet[group] ?? {})) flat.set(`${group}.${name}`, canonicalRate(rate))
  }
  return flat
}

function addTables(flat: Map<string, string>, prefix: string, rates: RateSheet): void {
  for (const part of RATE_PARTS) {
    const rate = rates[part]
    if (rate !== undefined) flat.set(`${prefix}${part}`, canonicalRate(rate))
  }
  for (const tier of PRICED_TIERS) if (rates[tier] !== undefined) addTables(flat, `${prefix}${tier}.`, rates[tier])
}

export function unflattened(flat: FlatSheet): RateSheet {
  const tiers = [...thresholdsOf(flat)].filter(isCliff).map((range): CliffTier => {
    return { above: Number(range.slice(1)), ...tablesOf(flat, `${range}.`) }
  })
  const bands = [...thresholdsOf(flat)]
    .filter((range) => !isCliff(range))
    .map((range): Band => {
      const [over, up_to] = range.split('-').map(Number) as [number, number]
      return { over, up_to, ...tablesOf(flat, `${range}.`) }
    })
  const [fees, units] = [membersOf(flat, 'fees.'), membersOf(flat, 'units.')]
  return {
    ...tablesOf(flat, ''),
    ...(tiers.length > 0 && { tiers: tiers.sort((one, other) => one.above - other.above) }),
    ...(bands.length > 0 && { bands: bands.sort((one, other) => one.over - other.over) }),
    ...(fees !== undefined && { fees }),
    ...(units !== undefined && { units }),
  }
}

const isCliff = (range: string): boolean => range.startsWith('>')

function tablesOf(flat: FlatSheet, prefix: string): Rates {
  const tiers = PRICED_TIERS.flatMap((tier) => {
    const rates = ratesOf(flat, `${prefix}${tier}.`)
    return rates === undefined ? [] : [[tier, rates] as const]
  })
  return { ...ratesOf(flat, prefix), ...Object.fromEntries(tiers) }
}

function ratesOf(flat: FlatSheet, prefix: string): Rates | undefined {
  const rates = RATE_PARTS.flatMap((part) => {
    const rate = flat.get(`${prefix}${part}`)
    return rate === undefined ? [] : [[part, rate] as const]
  })
  return rates.length === 0 ? undefined : Object.fromEntries(rates)
}

function membersOf(flat: FlatSheet, prefix: string): Readonly<Record<string, string>> | undefined {
  const members = [...flat].filter(([path]) => path.startsWith(prefix))
  return members.length === 0
    ? undefined
    : Object.fromEntries(members.map(([path, rate]) => [path.slice(prefix.length), rate]))
}

/** The inputs at which the price changes: `>200000`, `0-32000`. */
export const thresholdsOf = (flat: FlatSheet): ReadonlySet<string> =>
  new Set([...flat.keys()].map(thresholdOf).filter((range) => range !== undefined))

/** The threshold that a path belongs to. */
export const thresholdOf = (path: string): string | undefined => /^(>\d+|\d+-\d+)\./.exec(path)?.[1]

/** Whether it is the price of a tool or a unit: it does not depend on those of the tokens. */
export const isPerUnit = (path: string): boolean => path.startsWith('fees.') || path.startsWith('units.')

/**
 * The sheet with the thresholds of another where they are one token apart: `more than 272,000` and `from 272,000`
 * are one published threshold.
 */
export function alignedTo(sheet: RateSheet, thresholds: readonly number[]): RateSheet {
  if (sheet.tiers === undefined) return sheet
  const tiers = sheet.tiers.map((tier) => {
    return { ...tier, above: thresholds.find((above) => Math.abs(above - tier.above) <= 1) ?? tier.above }
  })
  return { ...sheet, tiers }
}
