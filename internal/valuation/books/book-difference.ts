import { datedPrices, type PriceBookFile, type PriceHistory, type PriceRow } from '../cost/price-book.js'
import { rowName } from './book-file.js'
import { type FlatSheet, flattened } from './flat-sheet.js'
import { completed, FIRST_DAY, newestOf } from './row-prices.js'

/** How a price book differs from another, price by price: what a person reads before it comes into force. Pure. */

export interface RateChange {
  readonly price: string
  readonly before: string | undefined
  readonly after: string | undefined
}

export interface RowChange {
  /** `provider/model`, or `provider/model@region`. */
  readonly name: string
  /** The day from which the newest price applies within the book; undefined for all days. */
  readonly from: string | undefined
  readonly rates: readonly RateChange[]
  /** The day of the next announced price. */
  readonly scheduledFrom?: string
}

/** How a provider's stated rules differ: they price what the rows lack. */
export interface RulesChange {
  readonly provider: string
  /** By factor and models, such as `batch of gpt-*`. */
  readonly rates: readonly RateChange[]
}

export interface BookDifference {
  /** In the order of the book. */
  readonly changes: readonly RowChange[]
  /** Names of rows. */
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly rules: readonly RulesChange[]
}

export function differences(before: FlatSheet, after: FlatSheet): readonly RateChange[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((price) => ({ price, before: before.get(price), after: after.get(price) }))
    .filter((each) => each.before !== each.after)
}

export function bookDifference(before: PriceBookFile, after: PriceBookFile): BookDifference {
  const known = new Map(before.models.map((row) => [rowName(row), row]))
  const [former, next] = [pricesIn(before), pricesIn(after)]
  const changes = after.models.flatMap((row): RowChange[] => {
    const name = rowName(row)
    const old = known.get(name)
    if (old === undefined) return []
    const [was, is] = [former(old), next(row)]
    const rates = differences(was.rates, is.rates)
    const scheduledFrom = is.scheduled.find((day) => !was.scheduled.includes(day))
    if (rates.length === 0 && scheduledFrom === undefined) return []
    const from = rates.length === 0 || is.from === was.from ? undefined : is.from
    return [{ name, from, rates, ...(scheduledFrom !== undefined && { scheduledFrom }) }]
  })
  const names = new Set(after.models.map(rowName))
  return {
    changes,
    added: [...names].filter((name) => !known.has(name)),
    removed: [...known.keys()].filter((name) => !names.has(name)),
    rules: rulesChanges(before, after),
  }
}

const rulesChanges = (before: PriceBookFile, after: PriceBookFile): readonly RulesChange[] =>
  Object.keys({ ...before.providers, ...after.providers }).flatMap((provider) => {
    const rates = differences(rulesOf(before, provider), rulesOf(after, provider))
    return rates.length === 0 ? [] : [{ provider, rates }]
  })

/** Of two rules for the same models the first counts. */
function rulesOf({ providers }: PriceBookFile, provider: string): FlatSheet {
  const { tier_rule: threshold, rules = [] } = providers[provider] ?? {}
  const stated = rules.flatMap(({ models, not = [], source: _, ...factors }) => {
    const names = `${models.join(', ')}${not.length === 0 ? '' : ` without ${not.join(', ')}`}`
    return Object.entries(factors).map(([factor, times]) => [`${factor} of ${names}`, times] as const)
  })
  return new Map([...stated.reverse(), ...(threshold === undefined ? [] : [['threshold', threshold] as const])])
}

/** By where and how fast a provider serves a model. */
const factorsOf = ({ multipliers, residency_multiplier: residency }: PriceRow): FlatSheet =>
  new Map(Object.entries({ ...residency, ...multipliers }).map(([name, factor]) => [`factor.${name}`, factor]))

interface RowPrices {
  readonly rates: FlatSheet
  readonly from: string | undefined
  readonly scheduled: readonly string[]
}

function pricesIn(file: PriceBookFile): (row: PriceRow) => RowPrices {
  const periodsOf = datedPrices(file.history)
  return (row) => {
    const own = periodsOf(row) ?? []
    const newest = newestOf(own)
    return {
      rates: new Map([...flattened(newest === undefined ? row : completed(newest, row).price), ...factorsOf(row)]),
      from: newest?.from,
      scheduled: own.filter((each) => each.scheduled === true).map(({ from }) => from),
    }
  }
}

/**
 * The book as if the changes of a day had always been in force: by it, calls of the last weeks show what the changes
 * are worth, although none of these calls will be priced so.
 */
export function inForceThroughout(file: PriceBookFile, day: string): PriceBookFile {
  const history = file.history.map(({ periods, ...each }): PriceHistory => {
    const at = periods.findIndex(({ from }) => from === day)
    const [first, ...later] = at < 0 ? [] : periods.slice(at)
    return first === undefined ? { ...each, periods } : { ...each, periods: [{ ...first, from: FIRST_DAY }, ...later] }
  })
  return { ...file, history }
}
