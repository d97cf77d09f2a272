import type { FieldName } from '../../../records/record-fields.js'
import { BILLED_UNITS } from '../../../text/call-words.js'
import { ALL_METERS, type CountedMeter, countedMeters, FIRST_UNIT_METER, type Meter } from '../prices/meters.js'
import type { PricedKind } from '../prices/priced-kinds.js'
import type { FigureName } from './figures.js'

/** Figures whose SQL depends on prices: the parts of a cost, and the cost by the prices of another model. */

/** USD per token, call of a tool, or unit. */
export type UsdPerUnit = Readonly<Record<Meter, string>>

/** The parts of the dollars that a price made, with the meters of each. */
export const COST_PARTS = {
  input: ['input', 'audio_input', 'image_input'],
  cached_input: ['cache_read', 'audio_cache_read', 'image_cache_read'],
  cache_write: ['cache_write', 'cache_write_1h'],
  output: ['output', 'reasoning', 'audio_output', 'image_output'],
  fees: ['web_search', 'file_search', 'code_execution', ...BILLED_UNITS],
} as const satisfies Readonly<Record<string, readonly Meter[]>>
export type CostPart = keyof typeof COST_PARTS
export const COST_PART_NAMES = Object.keys(COST_PARTS) as [CostPart, ...CostPart[]]

/** The SQL of some figures, in place of that of `figures.ts`. */
export interface PricedFigures {
  /** Names that the figures use, for `WITH`. */
  readonly names: readonly string[]
  readonly sql: Readonly<Partial<Record<FigureName, string>>>
}

/** Records of one kind have the same prices. */
export interface KindPrices extends Pick<PricedKind, 'hash' | 'occurring'> {
  readonly usdPerUnit: UsdPerUnit
}

/** The dollars of each part of the cost of records of these kinds; those of all others are in none. */
export function costPartFigures(kinds: readonly KindPrices[]): PricedFigures {
  if (kinds.length === 0) return NO_PRICED_FIGURES
  const numbers = kinds.map((_, i) => `toUInt32(${i + 1})`).join(', ')
  const hashes = kinds.map(({ hash }) => `toUInt64(${BigInt(hash)})`).join(', ')
  const number = `transform(cityHash64(cost_details), [${hashes}], [${numbers}], toUInt32(0))`
  const meters = countedMeters(kinds)
  const prices = kinds.map(({ usdPerUnit }) => usdPerUnit)
  const figures = COST_PART_NAMES.map((part) => {
    const named: readonly Meter[] = COST_PARTS[part]
    const amounts = meters
      .filter(({ meter }) => named.includes(meter))
      .map((each) => amountSql(each, prices, 'priced_as + 1'))
    return [`${part}_part_cost_usd`, `sum(${[ZERO, ...amounts].join(' + ')})`] as const
  })
  return { names: [`${number} AS priced_as`], sql: Object.fromEntries(figures) }
}
const NO_PRICED_FIGURES: PricedFigures = { names: [], sql: {} }
const ZERO = "toDecimal128('0', 18)"

/** Prices of requests whose input has more tokens than so many. */
export interface PriceBand {
  readonly overTokens: number
  readonly usdPerUnit: UsdPerUnit
}

const tokens = (...columns: readonly FieldName[]): string =>
  columns.map((column) => `toInt64(ifNull(${column}, 0))`).join(' + ')
/** Parts and their totals: where the parts are more, the price rules price nothing (`token-parts.ts` there). */
const IS_CONSISTENT = [
  [tokens('cached_input_tokens', 'cache_write_tokens'), tokens('input_tokens')],
  [tokens('audio_input_tokens', 'image_input_tokens'), tokens('input_tokens')],
  [tokens('reasoning_tokens', 'audio_output_tokens', 'image_output_tokens'), tokens('output_tokens')],
  [tokens('cache_write_5m_tokens', 'cache_write_1h_tokens'), tokens('cache_write_tokens')],
  [tokens('cached_audio_input_tokens', 'cached_image_input_tokens'), tokens('cached_input_tokens')],
  [tokens('cached_audio_input_tokens'), tokens('audio_input_tokens')],
  [tokens('cached_image_input_tokens'), tokens('image_input_tokens')],
].map(([parts, total]) => `${parts} <= ${total}`)
/** Whether counters are enough to price a call anew: its tokens are known, and it is billed by nothing else. */
const IS_COUNTED = [
  'input_tokens IS NOT NULL AND output_tokens IS NOT NULL AND empty(billed_units)',
  ...IS_CONSISTENT,
].join(' AND ')
/** Nobody is billed for these calls, whatever the model. */
const IS_FREE = "cost_basis IN ('local_cache', 'notional')"

/** What calls would have cost by other prices. @param bands ascending; the first is over -1 */
export function repricedFigures(bands: readonly PriceBand[]): PricedFigures {
  const over = bands.map(({ overTokens }) => `toInt64(${overTokens})`).join(', ')
  const band = `arrayCount(over -> toInt64(ifNull(input_tokens, 0)) > over, [${over}])`
  const prices = bands.map(({ usdPerUnit }) => usdPerUnit)
  const amounts = ALL_METERS.filter(({ meter }) => prices.some((usd) => !/^0(\.0*)?$/.test(usd[meter]))).map((each) =>
    amountSql(each, prices, 'repriced_band + 1'),
  )
  return {
    names: [`${band} AS repriced_band`],
    sql: {
      repriced_cost_usd: `sumIf(${[ZERO, ...amounts].join(' + ')}, ${IS_COUNTED} AND NOT ${IS_FREE})`,
      repriced_from_cost_usd: `sumIf(cost_usd, ${IS_COUNTED})`,
      repriced_calls: `toInt64(countIf(${IS_COUNTED}))`,
    },
  }
}

/** Units of a meter times a price out of several, by number from 2; 1 is no price. */
function amountSql({ meter, number, units }: CountedMeter, prices: readonly UsdPerUnit[], at: string): string {
  const usd = `['0', ${prices.map((each) => `'${each[meter]}'`).join(', ')}]`
  // The price of another unit has at most 12 decimals: that of a millionth is exact.
  const exact =
    number >= FIRST_UNIT_METER ? "toDecimal128(usd, 12) * toDecimal128('0.000001', 6)" : 'toDecimal128(usd, 18)'
  return `toDecimal128(${units}, 0) * arrayMap(usd -> ${exact}, ${usd})[${at}]`
}
