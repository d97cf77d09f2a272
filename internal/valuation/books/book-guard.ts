import { BILLED_UNITS } from '../../text/call-words.js'
import { type DatedPeriod, datedPrices, type PriceBookFile, type PriceRow } from '../cost/price-book.js'
import { factorsOutOfBounds, ratesOutOfBounds } from '../cost/rate-bounds.js'
import { BILLED_TOOLS, RATE_PARTS, type RateSheet, type Rates, rateTables, stepsPerToken } from '../cost/rate-sheet.js'
import { rowName } from './book-file.js'
import { historyOfRows } from './row-prices.js'

/**
 * Keeps wrong rows of a new price book from pricing calls (published books have had rows 100,000 times too
 * high, input and output swapped, and cached tokens more expensive than uncached ones). Only new and changed rows are
 * checked: the others are in service already. A row is checked together with the dated prices of its model, because
 * dated prices take precedence over the row.
 */
export type Doubt =
  /** Above 1000 USD per million tokens, 1 USD per call of a tool, or 100 USD per other unit. Always quarantined. */
  | 'implausible_magnitude'
  /** No rate for input or output, and no price of another unit. Always quarantined. */
  | 'incomplete'
  | 'cache_read_above_input'
  | 'output_below_input'
  | 'zero_on_one_side'
  /** Of another class than cache reads: too far from the rate that it derives from, or a factor far from 1. */
  | 'rate_out_of_bounds'
  | 'jump'

export interface DoubtfulRow {
  /** `provider/model`, or `provider/model@region`. */
  readonly name: string
  readonly doubts: readonly Doubt[]
}

export interface BookReview {
  /** The book to put into service. */
  readonly file: PriceBookFile
  readonly added: number
  readonly changed: number
  readonly removed: number
  /** Excluded rows: their calls are unpriced. */
  readonly quarantined: readonly DoubtfulRow[]
  /** Rows held for manual review: they keep their previous price, if any. */
  readonly held: readonly DoubtfulRow[]
}

const ALWAYS_QUARANTINED: ReadonlySet<Doubt> = new Set(['implausible_magnitude', 'incomplete'])
const USD_PER_MILLION_MAX = steps('1000')
const USD_PER_CALL_MAX = steps('1')
const USD_PER_UNIT_MAX = steps('100')
const JUMP = 5n

/** @param accepted names of rows accepted in manual review: their doubts no longer hold them */
export function reviewBook(file: PriceBookFile, before: PriceBookFile, accepted: ReadonlySet<string>): BookReview {
  const known = new Map(before.models.map((row) => [rowName(row), row]))
  const [dated, datedBefore] = [datedPrices(file.history), datedPrices(before.history)]
  const names = new Set(file.models.map(rowName))
  const quarantined: DoubtfulRow[] = []
  const held: DoubtfulRow[] = []
  const models: PriceRow[] = []
  let [added, changed] = [0, 0]
  for (const row of file.models) {
    const name = rowName(row)
    const old = known.get(name)
    const [periods, oldPeriods] = [dated(row), datedBefore(row)]
    const isSameRow = old !== undefined && isSame(row, old)
    if (isSameRow && isSame(periods, oldPeriods)) {
      models.push(row)
      continue
    }
    const doubts = [
      ...new Set([
        ...(isSameRow ? [] : [...doubtsOf(row, old, row), ...factorDoubts(row)]),
        ...datedDoubts(row, periods, old, oldPeriods),
      ]),
    ]
    if (doubts.some((doubt) => ALWAYS_QUARANTINED.has(doubt))) quarantined.push({ name, doubts })
    else if (doubts.length > 0 && !accepted.has(name)) {
      held.push({ name, doubts })
      if (old !== undefined) models.push(old)
    } else {
      models.push(row)
      if (old === undefined) added += 1
      else changed += 1
    }
  }
  const leftOut = new Set([...quarantined, ...held.filter(({ name }) => !known.has(name))].map(({ name }) => name))
  const unpriced = file.models
    .filter((row) => leftOut.has(rowName(row)))
    .map(({ provider, model }) => ({ provider, model, reason: 'held back by the guard of book updates' }))
  const rejected = new Set([...quarantined, ...held].map(({ name }) => name))
  const history = [
    ...historyOfRows(file.history, (name) => !rejected.has(name)),
    ...historyOfRows(before.history, (name) => rejected.has(name) && !leftOut.has(name)),
  ]
  return {
    file: { ...file, models, history, quarantined: [...file.quarantined, ...unpriced] },
    added,
    changed,
    removed: [...known.keys()].filter((name) => !names.has(name)).length,
    quarantined,
    held,
  }
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))

/** Sorts object members by name, so that a comparison does not depend on their order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(members.map(([member, inner]) => [member, sorted(inner)]))
}

/**
 * Doubts about new and changed dated prices of a model. Each period, and each window of a period, is compared with the
 * previous version of itself, or else with the period before it.
 */
function datedDoubts(
  row: PriceRow,
  periods: readonly DatedPeriod[] | undefined,
  old: PriceRow | undefined,
  oldPeriods: readonly DatedPeriod[] | undefined,
): Doubt[] {
  // Without dated prices, the row applies at all times.
  if (periods === undefined) return hasJumped(row, oldPeriods?.at(-1)?.price) ? ['jump'] : []
  return periods.flatMap((period, at) => {
    const was = oldPeriods?.find(({ from }) => from === period.from)
    if (was !== undefined && isSame([was.price, was.windows], [period.price, period.windows])) return []
    const before = was ?? periods[at - 1]
    const windows = (period.windows ?? []).flatMap(({ price, ...hours }) => {
      const sameHours = before?.windows?.find(({ price: _, ...others }) => isSame(hours, others))
      return doubtsOf(price, sameHours?.price ?? period.price, row)
    })
    return [...doubtsOf(period.price, before?.price ?? (oldPeriods === undefined ? old : undefined), row), ...windows]
  })
}

function doubtsOf(sheet: RateSheet, old: RateSheet | undefined, { mode }: PriceRow): Doubt[] {
  const sheets = rateTables(sheet)
  const isEmbedding = mode === 'embedding'
  const doubts: Doubt[] = []
  const isFeeTooHigh = Object.values(sheet.fees ?? {}).some((fee) => steps(fee) > USD_PER_CALL_MAX)
  const isUnitTooHigh = Object.values(sheet.units ?? {}).some((rate) => steps(rate) > USD_PER_UNIT_MAX)
  if (
    isFeeTooHigh ||
    isUnitTooHigh ||
    sheets.some((rates) => ratesIn(rates).some((rate) => steps(rate) > USD_PER_MILLION_MAX))
  ) {
    doubts.push('implausible_magnitude')
  }
  const isByUnits = sheet.units !== undefined && sheet.input === undefined && sheet.output === undefined
  if (!isByUnits && (sheet.input === undefined || (sheet.output === undefined && !isEmbedding))) {
    doubts.push('incomplete')
  }
  const outOfBounds = ratesOutOfBounds(sheet).map((rate) => rate.class)
  if (outOfBounds.includes('cache_read')) doubts.push('cache_read_above_input')
  if (!isEmbedding && sheets.some(({ input, output }) => isAbove(input, output))) doubts.push('output_below_input')
  const isZero = (rate: string | undefined): boolean => rate !== undefined && steps(rate) === 0n
  if (!isEmbedding && isZero(sheet.input) !== isZero(sheet.output)) doubts.push('zero_on_one_side')
  if (outOfBounds.some((of) => of !== 'cache_read')) doubts.push('rate_out_of_bounds')
  if (hasJumped(sheet, old)) doubts.push('jump')
  return doubts
}

const factorDoubts = ({ multipliers, residency_multiplier }: PriceRow): Doubt[] =>
  factorsOutOfBounds({ ...multipliers, ...residency_multiplier }).length > 0 ? ['rate_out_of_bounds'] : []

const hasJumped = (sheet: RateSheet, old: RateSheet | undefined): boolean =>
  (['input', 'output'] as const).some((part) => isJump(old?.[part], sheet[part])) ||
  BILLED_TOOLS.some((tool) => isJump(old?.fees?.[tool], sheet.fees?.[tool])) ||
  BILLED_UNITS.some((unit) => isJump(old?.units?.[unit], sheet.units?.[unit]))

const ratesIn = (rates: Rates): string[] => RATE_PARTS.map((part) => rates[part]).filter((rate) => rate !== undefined)

const isAbove = (one: string | undefined, other: string | undefined): boolean =>
  one !== undefined && other !== undefined && steps(one) > steps(other)

/** Whether a rate changes by more than a factor of five, up or down. */
function isJump(before: string | undefined, after: string | undefined): boolean {
  if (before === undefined || after === undefined) return false
  const [was, is] = [steps(before), steps(after)]
  return is > was * JUMP || was > is * JUMP
}

/** @param rate a rate that is already validated */
function steps(rate: string): bigint {
  return stepsPerToken(rate, []) ?? 0n
}
