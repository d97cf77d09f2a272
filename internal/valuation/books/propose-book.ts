import type { DatedPeriod, PriceBookFile, PriceHistory, PriceRow } from '../cost/price-book.js'
import { datedPrices, priceBook, startMs } from '../cost/price-book.js'
import { PRICED_TIERS, RATE_PARTS, type RateSheet } from '../cost/rate-sheet.js'
import { differences, type RateChange, type RowChange } from './book-difference.js'
import { rowName } from './book-file.js'
import { alignedTo, type FlatSheet, flattened, isPerUnit, unflattened } from './flat-sheet.js'
import { type Disagreement, type MergedRates, mergedRates, type Said } from './merge-rates.js'
import { completed, FIRST_DAY, historyOfRows, newestOf } from './row-prices.js'
import type { SourceBook, SourceName, SourcePeriod, SourceRow } from './sources/source-book.js'

/**
 * A new price book from the one in force and newer books of others. Pure.
 *
 * A price changes where every given book that has the model says so (`mergedRates`); models that only they have are
 * added; nothing is removed. A change is dated: from the day that a book gives for it, else from the day on which the
 * new book comes into force. Calls before that day keep their price, also when the book is put into force earlier.
 */
export interface ProposalDates {
  /** The day that the new book describes. */
  readonly asOf: string
  /** From which the new book is in force, and from which undated changes apply. */
  readonly effectiveFrom: string
  /** Prices that start later are announced ones. */
  readonly today: string
}

export interface ProposedBook {
  readonly file: PriceBookFile
  readonly changes: readonly ProposedChange[]
  /** Names of new rows. */
  readonly added: readonly string[]
  readonly disagreements: readonly RowDisagreement[]
  /** Rows with prices by time of day, which are not compared. */
  readonly byTimeOfDay: readonly string[]
  /** Rows whose new price cannot be held exactly: they stay as they are. */
  readonly inexact: readonly string[]
}

/** A change with its reason. */
export interface ProposedChange extends RowChange {
  /** Whether a book gives the day. */
  readonly isDatedBySource: boolean
  readonly sources: readonly SourceName[]
}

export interface RowDisagreement extends Disagreement {
  readonly name: string
}

export function proposedBook(
  before: PriceBookFile,
  sources: readonly SourceBook[],
  dates: ProposalDates,
): ProposedBook {
  const found: Found = { changes: [], added: [], disagreements: [], byTimeOfDay: [], inexact: [] }
  const periodsOf = datedPrices(before.history)
  const histories = new Map<string, PriceHistory>()
  const models = before.models.map((row) => {
    const next = revisedRow(row, periodsOf(row), sources, dates, found)
    if (next === undefined) return row
    if (next.history !== undefined) histories.set(rowName(row), next.history)
    return next.row
  })
  for (const { row, history } of newRows(before, sources, dates, found)) {
    models.push(row)
    if (history !== undefined) histories.set(rowName(row), history)
  }
  const kept = historyOfRows(before.history, (name) => !histories.has(name))
  const file = { ...before, as_of: dates.asOf, models, history: [...kept, ...histories.values()] }
  return { ...found, file }
}

/**
 * The book in force with what a newer release has besides: models that it lacks, and the stated rules of providers.
 * Otherwise an instance that once imported a book would never get them.
 */
export function uponRelease(inForce: PriceBookFile, release: PriceBookFile): PriceBookFile {
  if (release.as_of <= inForce.as_of) return inForce
  const known = new Set(inForce.models.map(rowName))
  const models = release.models.filter((row) => !known.has(rowName(row)))
  const names = new Set(models.map(rowName))
  return {
    ...inForce,
    providers: { ...inForce.providers, ...release.providers },
    models: [...inForce.models, ...models],
    history: [...inForce.history, ...historyOfRows(release.history, (name) => names.has(name))],
  }
}

/** The new book with the former rows and dated prices of some models: of those whose new price nobody would accept. */
export function withFormerRows(file: PriceBookFile, before: PriceBookFile, names: ReadonlySet<string>): PriceBookFile {
  const former = new Map(before.models.map((row) => [rowName(row), row]))
  const isFormer = (name: string): boolean => names.has(name) && former.has(name)
  return {
    ...file,
    models: file.models.map((row) => (names.has(rowName(row)) ? (former.get(rowName(row)) ?? row) : row)),
    history: [...historyOfRows(file.history, (name) => !isFormer(name)), ...historyOfRows(before.history, isFormer)],
  }
}

interface Found {
  readonly changes: ProposedChange[]
  readonly added: string[]
  readonly disagreements: RowDisagreement[]
  readonly byTimeOfDay: string[]
  readonly inexact: string[]
}

interface NextRow {
  readonly row: PriceRow
  /** The dated prices, if the row has any. */
  readonly history: PriceHistory | undefined
}

/** What a book says of a row today, and what it announces. */
interface Statement extends Said {
  readonly row: SourceRow
}

function statementsOn(
  row: PriceRow,
  ours: FlatSheet,
  sources: readonly SourceBook[],
  { today }: ProposalDates,
): readonly Statement[] {
  const thresholds = [...thresholdsIn(row)]
  const found = sources.flatMap((source) => {
    const match = source.find(row.provider, row.model, row.region)
    if (match === undefined) return []
    const rates = ratesOn(match.row, today, thresholds)
    thresholds.push(...thresholdsIn(unflattened(rates)))
    return [{ source: source.name, rates, row: match.row, isExact: match.isExact }]
  })
  // A family of names may have an older model with a price of its own: it confirms a price, and changes none.
  const isBacked = ({ rates, isExact }: (typeof found)[number], at: number): boolean =>
    isExact ||
    hasSameBase(rates, ours) ||
    found.some((other, index) => index !== at && other.isExact && hasSameBase(other.rates, rates))
  return found.filter(isBacked)
}

const hasSameBase = (one: FlatSheet, other: FlatSheet): boolean =>
  one.get('input') === other.get('input') && one.get('output') === other.get('output')

const thresholdsIn = (sheet: RateSheet): readonly number[] => (sheet.tiers ?? []).map(({ above }) => above)

function ratesOn(row: SourceRow, day: string, thresholds: readonly number[]): FlatSheet {
  const period = row.periods.findLast(({ from }) => (from ?? '') <= day) ?? row.periods[0]
  return ratesIn(period, thresholds)
}

/** A service tier without a price of input or output has no price, and would hide that of the usual input. */
function ratesIn(period: SourcePeriod | undefined, thresholds: readonly number[]): FlatSheet {
  const flat = new Map(flattened(alignedTo(period?.price ?? {}, thresholds)))
  for (const path of [...flat.keys()]) {
    const table = /^(.*?(?:batch|flex|priority))\./.exec(path)?.[1]
    if (table !== undefined && !(flat.has(`${table}.input`) && flat.has(`${table}.output`))) flat.delete(path)
  }
  return flat
}

function revisedRow(
  row: PriceRow,
  own: readonly DatedPeriod[] | undefined,
  sources: readonly SourceBook[],
  dates: ProposalDates,
  found: Found,
): NextRow | undefined {
  const name = rowName(row)
  const listed = own?.map((period) => completed(period, row))
  const inForce = newestOf(listed ?? [])
  const ours = flattened(inForce?.price ?? row)
  const said = statementsOn(row, ours, sources, dates)
  if (said.length === 0) return undefined
  if (own?.some(({ windows }) => windows !== undefined) === true) {
    found.byTimeOfDay.push(name)
    return undefined
  }
  const merged = mergedRates(ours, said)
  found.disagreements.push(...merged.disagreements.map((each) => ({ name, ...each })))
  const other = otherBooks(row, merged, said)
  const rates = differences(ours, merged.rates)
  const announced = merged.isUndecided
    ? []
    : announcedPeriods(merged.rates, said, listed ?? [], dates, thresholdsIn(row))
  if (rates.length === 0 && announced.length === 0)
    return other === undefined ? undefined : { row: withOther(row, other), history: undefined }

  const date = dateOf(rates, said, dates)
  const price = unflattened(merged.rates)
  const revised = withOther({ ...withoutRates(row), ...price }, other ?? row.other)
  const periods = periodsWith({ listed, price, row, date, announced, dates })
  const history = periods && historyOf(row, periods, said)
  if (!isHeldExactly(revised, history)) {
    found.inexact.push(name)
    return undefined
  }
  const [first] = announced
  found.changes.push({
    name,
    from: date === undefined ? undefined : (date.from ?? dates.effectiveFrom),
    isDatedBySource: date?.from !== undefined,
    rates,
    sources: said.map(({ source }) => source),
    ...(first !== undefined && { scheduledFrom: first.from }),
  })
  return { row: revised, history }
}

/** @returns undefined when only prices were added of what had none, and no book dates them */
function dateOf(
  rates: readonly RateChange[],
  said: readonly Statement[],
  { today }: ProposalDates,
): { readonly from: string | undefined } | undefined {
  const days = rates.map(({ price, after }) => (after === undefined ? undefined : startOf(price, after, said, today)))
  const given = days.filter((each) => each !== undefined)
  const isDated = given.length > 0 && rates.every(({ after }, at) => after === undefined || days[at] !== undefined)
  if (isDated) return { from: given.sort().at(-1) }
  const isAddition = rates.every(({ price, before }) => before === undefined && (isPerUnit(price) || isOfTier(price)))
  return isAddition ? undefined : { from: undefined }
}

const isOfTier = (path: string): boolean => PRICED_TIERS.some((tier) => path.includes(`${tier}.`))

/** The day since which a book has had this rate; undefined for one that it has always had. */
function startOf(path: string, rate: string, said: readonly Statement[], today: string): string | undefined {
  for (const { row } of said) {
    const past = row.periods.filter(({ from }) => (from ?? '') <= today)
    const differs = past.findLastIndex((period) => flattened(period.price).get(unaligned(path, period)) !== rate)
    const from = past[differs + 1]?.from
    if (from !== undefined) return from
  }
  return undefined
}

/** The path as the source writes its threshold. */
function unaligned(path: string, { price }: SourcePeriod): string {
  const above = /^>(\d+)\./.exec(path)?.[1]
  if (above === undefined) return path
  const own = price.tiers?.find((tier) => Math.abs(tier.above - Number(above)) <= 1)?.above ?? above
  return path.replace(/^>\d+/, `>${own}`)
}

interface Revision {
  readonly listed: readonly DatedPeriod[] | undefined
  readonly price: RateSheet
  readonly row: PriceRow
  readonly date: { readonly from: string | undefined } | undefined
  readonly announced: readonly DatedPeriod[]
  readonly dates: ProposalDates
}

function periodsWith({ listed, price, row, date, announced, dates }: Revision): readonly DatedPeriod[] | undefined {
  const former = listed?.filter(({ scheduled }) => scheduled !== true)
  const scheduled = [...(listed ?? []).filter((each) => each.scheduled === true), ...announced]
  const last = former?.at(-1)
  const old = former ?? [{ from: FIRST_DAY, price: unflattened(flattened(row)), complete: true }]
  let periods: readonly DatedPeriod[]
  if (date === undefined) {
    if (last === undefined && scheduled.length === 0) return undefined
    periods = [...old.slice(0, -1), { ...(old.at(-1) as DatedPeriod), price, complete: true }]
  } else {
    const earliest = last === undefined ? FIRST_DAY : last.from
    const day = [date.from, dates.effectiveFrom].find((each) => each !== undefined && startMs(each) > startMs(earliest))
    periods =
      day === undefined
        ? [...old.slice(0, -1), { ...(old.at(-1) as DatedPeriod), price, complete: true }]
        : [...old.slice(0, -1), endingBy(old.at(-1) as DatedPeriod, day), { from: day, price, complete: true }]
  }
  const from = startMs(periods.at(-1)?.from ?? FIRST_DAY)
  return [...periods, ...scheduled.filter((each) => startMs(each.from) > from)].sort(
    (one, other) => startMs(one.from) - startMs(other.from),
  )
}

const endingBy = (period: DatedPeriod, day: string): DatedPeriod =>
  period.to !== undefined && startMs(period.to) <= startMs(day) ? period : { ...period, to: day }

/** Prices that the books announce, on top of what they say today. Those that are listed already stay. */
function announcedPeriods(
  today: FlatSheet,
  said: readonly Statement[],
  listed: readonly DatedPeriod[],
  dates: ProposalDates,
  thresholds: readonly number[],
): readonly DatedPeriod[] {
  const days = new Set(said.flatMap(({ row }) => row.periods.flatMap(({ from }) => from ?? [])))
  const periods: DatedPeriod[] = []
  let rates = today
  for (const from of [...days].filter((day) => day > dates.today).sort()) {
    const known = listed.find((each) => each.from === from)
    const next = known === undefined ? announcedOn(from, rates, said, thresholds) : flattened(known.price)
    if (known === undefined && differences(rates, next).length > 0) {
      periods.push({ from, price: unflattened(next), complete: true, scheduled: true })
    }
    rates = next
  }
  return periods
}

function announcedOn(
  day: string,
  rates: FlatSheet,
  said: readonly Statement[],
  thresholds: readonly number[],
): FlatSheet {
  const announced = said.flatMap(({ source, row }): Said[] => {
    const period = row.periods.find(({ from }) => from === day)
    return period === undefined ? [] : [{ source, rates: ratesIn(period, thresholds) }]
  })
  return mergedRates(rates, announced).rates
}

/** Input and output as the books that disagree have them; the explanation of a cost shows them. */
function otherBooks(
  row: PriceRow,
  { disagreements, rates: merged }: MergedRates,
  said: readonly Statement[],
): PriceRow['other'] | undefined {
  const others = Object.fromEntries(
    Object.entries(row.other ?? {}).filter(([name]) => !said.some(({ source }) => source === name)),
  )
  for (const { source, rates } of said) {
    const apart = disagreements.filter(({ price, said: values }) => {
      const value = values[source]
      return RATE_PARTS.some((part) => part === price) && value !== undefined && value !== merged.get(price)
    })
    if (apart.length > 0) others[source] = Object.fromEntries(apart.map(({ price }) => [price, rates.get(price) ?? '']))
  }
  return JSON.stringify(others) === JSON.stringify(row.other ?? {}) ? undefined : others
}

function withOther(row: PriceRow, other: PriceRow['other']): PriceRow {
  const { other: _former, ...rest } = row
  return other === undefined || Object.keys(other).length === 0 ? rest : { ...rest, other }
}

const RATE_MEMBERS: ReadonlySet<string> = new Set([...RATE_PARTS, ...PRICED_TIERS, 'tiers', 'bands', 'fees', 'units'])

const withoutRates = (row: PriceRow): PriceRow =>
  Object.fromEntries(Object.entries(row).filter(([member]) => !RATE_MEMBERS.has(member))) as unknown as PriceRow

const historyOf = (
  { provider, model, region }: PriceRow,
  periods: readonly DatedPeriod[],
  said: readonly Pick<Statement, 'source'>[],
): PriceHistory & { readonly source: readonly string[] } => {
  return {
    provider,
    models: [model],
    ...(region !== undefined && { region }),
    source: said.map(({ source }) => source),
    periods,
  }
}

/** A factor can give a rate more decimals than a call's cost can have. */
function isHeldExactly(row: PriceRow, history: PriceHistory | undefined): boolean {
  try {
    const history_ = history === undefined ? [] : [history]
    priceBook({ ...EMPTY, providers: { [row.provider]: {} }, models: [row], history: history_ })
    return true
  } catch (cause) {
    if (cause instanceof RangeError) return false
    throw cause
  }
}

const EMPTY = { as_of: '', zero_priced: [], incomplete: [], quarantined: [] } as const

/** Models that only the other books have. */
function newRows(
  before: PriceBookFile,
  sources: readonly SourceBook[],
  dates: ProposalDates,
  found: Found,
): readonly NextRow[] {
  const known = new Set(before.models.map(rowName))
  const rows: NextRow[] = []
  for (const listed of sources.flatMap((source) => source.rows)) {
    const name = rowName(listed)
    if (known.has(name)) continue
    known.add(name)
    const next = newRow(listed, sources, dates, found)
    if (next !== undefined) rows.push(next)
  }
  return rows
}

function newRow(
  listed: SourceRow,
  sources: readonly SourceBook[],
  dates: ProposalDates,
  found: Found,
): NextRow | undefined {
  const { provider, model, region, mode, context } = listed
  const name = rowName(listed)
  const said = statementsOn({ provider, model, ...(region !== undefined && { region }) }, new Map(), sources, dates)
  const merged = mergedRates(new Map(), said)
  const { rates, disagreements, isUndecided } = merged
  found.disagreements.push(...disagreements.map((each) => ({ name, ...each })))
  if (isUndecided || rates.size === 0) return undefined
  const factors = Object.assign({}, ...said.map(({ row }) => row.multipliers))
  const bare: PriceRow & { readonly context?: number; readonly src: string } = {
    provider,
    model,
    ...(region !== undefined && { region }),
    mode: said.find(({ source }) => source === 'litellm')?.row.mode ?? mode ?? 'chat',
    ...(context !== undefined && Number.isSafeInteger(Number(context)) && { context: Number(context) }),
    ...unflattened(rates),
    ...(Object.keys(factors).length > 0 && { multipliers: factors }),
    src: `${said.map(({ source }) => source).join(', ')} (${dates.asOf})`,
  }
  const row = withOther(bare, otherBooks(bare, merged, said))
  const periods = datedPeriods(said, rates, dates)
  const history = periods.length > 1 ? historyOf(row, periods, said) : undefined
  if (!isHeldExactly(row, history)) {
    found.inexact.push(name)
    return undefined
  }
  found.added.push(name)
  return { row, history }
}

/** The dated prices of a new model, of which the one in force is what all books say. */
function datedPeriods(said: readonly Statement[], inForce: FlatSheet, dates: ProposalDates): readonly DatedPeriod[] {
  const dated = said.find(({ row }) => row.periods.length > 1)?.row.periods ?? []
  const past = dated.filter(({ from }) => (from ?? '') <= dates.today)
  const former = past.slice(0, -1).map((period, at): DatedPeriod => {
    const to = past[at + 1]?.from
    return {
      from: period.from ?? FIRST_DAY,
      ...(to !== undefined && { to }),
      price: unflattened(ratesIn(period, [])),
      complete: true,
    }
  })
  const current = { from: past.at(-1)?.from ?? FIRST_DAY, price: unflattened(inForce), complete: true }
  return [...former, current, ...announcedPeriods(inForce, said, [], dates, [])]
}
