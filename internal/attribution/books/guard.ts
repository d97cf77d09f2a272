import type { PriceBookFile, PriceRow } from '../cost/price-book.js'
import { type Rates, stepsPerToken } from '../cost/rate-sheet.js'
import { rowName } from './book-file.js'

/**
 * What keeps a wrong row of a new book from pricing calls (energy.md 6.6: rows a hundred thousand times too high, input
 * and output swapped, cached tokens dearer than plain ones have all been published). Only rows that are new, or other
 * than in the book before, are looked at: the rest has been in service.
 */
export type Doubt =
  /** Above 1000 USD per million tokens: a mistake of units. Never taken. */
  | 'implausible_magnitude'
  /** Without a rate for input or output. Never taken. */
  | 'incomplete'
  | 'cache_read_above_input'
  | 'output_below_input'
  | 'zero_on_one_side'
  | 'jump'

export interface DoubtfulRow {
  /** `provider/model`, or `provider/model@region`. */
  readonly name: string
  readonly doubts: readonly Doubt[]
}

export interface BookReview {
  /** The book that may count. */
  readonly file: PriceBookFile
  readonly added: number
  readonly changed: number
  readonly removed: number
  /** Left out: calls of them are unpriced. */
  readonly quarantined: readonly DoubtfulRow[]
  /** Held for a person: they keep the price they had, or none. */
  readonly held: readonly DoubtfulRow[]
}

const NEVER_TAKEN: ReadonlySet<Doubt> = new Set(['implausible_magnitude', 'incomplete'])
const USD_PER_MILLION_MAX = steps('1000')
const JUMP = 5n

/** @param accepted names of rows that a person has looked at: what holds them back counts no more */
export function reviewBook(file: PriceBookFile, before: PriceBookFile, accepted: ReadonlySet<string>): BookReview {
  const known = new Map(before.models.map((row) => [rowName(row), row]))
  const names = new Set(file.models.map(rowName))
  const quarantined: DoubtfulRow[] = []
  const held: DoubtfulRow[] = []
  const models: PriceRow[] = []
  let [added, changed] = [0, 0]
  for (const row of file.models) {
    const name = rowName(row)
    const old = known.get(name)
    if (old !== undefined && isSame(row, old)) {
      models.push(row)
      continue
    }
    const doubts = doubtsOf(row, old)
    if (doubts.some((doubt) => NEVER_TAKEN.has(doubt))) quarantined.push({ name, doubts })
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
  return {
    file: { ...file, models, quarantined: [...file.quarantined, ...unpriced] },
    added,
    changed,
    removed: [...known.keys()].filter((name) => !names.has(name)).length,
    quarantined,
    held,
  }
}

const isSame = (one: PriceRow, other: PriceRow): boolean =>
  JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))

/** Members in the order of their names; what a row says does not depend on how it is written. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(members.map(([member, inner]) => [member, sorted(inner)]))
}

function doubtsOf(row: PriceRow, old: PriceRow | undefined): Doubt[] {
  const sheets: Rates[] = [row, ...(row.tiers ?? []), ...(row.bands ?? [])].flatMap((each) =>
    [each, each.batch, each.flex, each.priority].filter((rates) => rates !== undefined),
  )
  const isEmbedding = row.mode === 'embedding'
  const doubts: Doubt[] = []
  if (sheets.some((rates) => ratesIn(rates).some((rate) => steps(rate) > USD_PER_MILLION_MAX))) {
    doubts.push('implausible_magnitude')
  }
  if (row.input === undefined || (row.output === undefined && !isEmbedding)) doubts.push('incomplete')
  if (sheets.some(({ input, cache_read }) => isAbove(cache_read, input))) doubts.push('cache_read_above_input')
  if (!isEmbedding && sheets.some(({ input, output }) => isAbove(input, output))) doubts.push('output_below_input')
  const isZero = (rate: string | undefined): boolean => rate !== undefined && steps(rate) === 0n
  if (!isEmbedding && isZero(row.input) !== isZero(row.output)) doubts.push('zero_on_one_side')
  if (old !== undefined && (['input', 'output'] as const).some((part) => isJump(old[part], row[part]))) {
    doubts.push('jump')
  }
  return doubts
}

const ratesIn = (rates: Rates): string[] =>
  Object.values(rates).filter((rate) => typeof rate === 'string' && /^\d/.test(rate))

const isAbove = (one: string | undefined, other: string | undefined): boolean =>
  one !== undefined && other !== undefined && steps(one) > steps(other)

/** By more than five times, up or down. */
function isJump(before: string | undefined, after: string | undefined): boolean {
  if (before === undefined || after === undefined) return false
  const [was, is] = [steps(before), steps(after)]
  return is > was * JUMP || was > is * JUMP
}

/** A rate that is checked already. */
function steps(rate: string): bigint {
  return stepsPerToken(rate, []) ?? 0n
}
