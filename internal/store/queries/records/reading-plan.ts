import { type FilterField, SORT_FIELDS } from '../../../filters/filter-fields.js'
import type { Condition, Sort } from '../../../filters/parse.js'
import { BY_LABELS, LABEL_FIELDS, tableSortedBy } from '../../tables/sorted-copies.js'
import { NEIGHBOURS, type RecordSample, roughly, type SampledRecord, sampledValue, valueIn } from './record-sample.js'

/**
 * Chooses the table for a page of records by a sample: a pure rule that reads nothing.
 *
 * In a table sorted like the page, records are read until the page is full, which is fast where many match. In a table
 * sorted by a filter's field, the filter's records are read and then sorted, which is fast where few match. Where
 * neither is fast, the granules' indexes may be: then the engine is asked for an estimate.
 */
export interface ReadingPlan {
  readonly table: string
  /** Whether all granules' indexes are evaluated first: 5 to 20 ms for ten million records. */
  readonly byGranules: boolean
}

/** The last record of the previous page: its sort value as text (times in milliseconds), and its id. */
export interface After {
  readonly value: string
  readonly idHex: string
}

export interface PlannedQuestion {
  readonly conditions: readonly Condition[]
  readonly sort: Sort
  /** The sort value after which the page begins. */
  readonly afterValue: string | undefined
  readonly limit: number
}

/**
 * Processor time of the engine in µs, measured on ten million records: per row that is compared with the filter; per
 * row in a granule with a match, of which sort value, id and validity are read too; per row that is found in another
 * order and sorted; per granule's index; and per granule's index that is checked for several values.
 */
const US_PER_ROW = 0.015
const US_PER_ROW_BESIDE_MATCH = 0.3
const US_PER_SORTED_ROW = 0.28
const US_PER_GRANULE = 1.2
const US_PER_GRANULE_OF_VALUES = 2.5
const GRANULE_ROWS = 2_048
/** A higher estimate is worth asking the engine. */
const KNOWN_TO_BE_CHEAP_US = 40_000
/** If the first match is this many times farther away than with evenly spread matches, that is no coincidence. */
const FAR = 5
/** With fewer matches in the sample, their distribution is unknown. */
const MATCHES_MIN = 8
/** If more of the sample's values contain a text, all that do may be more than the engine looks up in an index. */
const VALUES_MAX = 250
/** For this many pages or more, a sample's estimate is not wrong by a whole page. */
export const LONG_PAGES = 8
/** More conditions are not compared with the sample: each takes nearly a millisecond of the gateway's own time. */
const CONDITIONS_MAX = 8
/** Rows that a table sorted by a filter's field reads in vain: the ends of the matching range, in every part. */
const ENDS_ROWS = 30_000

/** Which records of a sample meet which of a question's conditions. */
export interface SampleMatches {
  readonly sample: RecordSample
  readonly marksOf: ReadonlyMap<Condition, Marks>
}

/** Compares conditions with a sample, once per page. @returns undefined where nothing is known */
export function matchSample(
  conditions: readonly Condition[],
  sample: RecordSample | undefined,
): SampleMatches | undefined {
  if (sample === undefined || conditions.length > CONDITIONS_MAX) return undefined
  return { sample, marksOf: new Map(conditions.map((condition) => [condition, marksFor(sample, condition)])) }
}

/** @returns undefined when no plan is known to be cheap, or nothing is known */
export function planReading(question: PlannedQuestion, sampled: SampleMatches | undefined): ReadingPlan | undefined {
  const { conditions, sort } = question
  const bySort = tableSortedBy(sort.field)
  if (sampled === undefined) return undefined
  const { sample, marksOf } = sampled
  const meeting = (some: readonly Condition[]): Marks =>
    intersect(
      sample,
      some.map((one) => marksOf.get(one)),
    )
  const found = { sample, matching: meeting(conditions), meeting }
  const inOrder = costInOrder(question, found)
  const plans = [
    { table: bySort, byGranules: false, us: inOrder.us },
    { table: bySort, byGranules: true, us: inOrder.byGranulesUs },
    ...ordersOf(question)
      .filter(({ known }) => !known.some((condition) => matchesManyValues(condition, found)))
      .flatMap(({ table, known }) => {
        const sorting = costOfSorting(question, known, found)
        return [
          { table, byGranules: false, us: sorting.us },
          { table, byGranules: true, us: sorting.byGranulesUs },
        ]
      }),
  ].sort((one, other) => one.us - other.us)
  const [best] = plans
  return best !== undefined && best.us <= KNOWN_TO_BE_CHEAP_US ? best : undefined
}

/** The conditions, the most selective first: rows that they exclude are not compared with the others. */
export function mostSelectiveFirst(
  conditions: readonly Condition[],
  sampled: SampleMatches | undefined,
): readonly Condition[] {
  if (sampled === undefined) return conditions
  const counts = new Map([...sampled.marksOf].map(([condition, marks]) => [condition, countOf(marks)]))
  return conditions.toSorted((one, other) => (counts.get(one) ?? 0) - (counts.get(other) ?? 0))
}

/** How many matching records have the sort value of a page's last record and come after it. */
export function recordsLeftOfValue(
  { value, idHex }: After,
  { field, isDescending }: Sort,
  sampled: SampleMatches | undefined,
): number {
  if (sampled === undefined) return 0
  const { sample, marksOf } = sampled
  const valueSampled = sampledValue(field, value)
  const marks = intersect(sample, [...marksOf.values()])
  const isBehind = ({ id }: SampledRecord): boolean => (isDescending ? id < idHex : id > idHex)
  const left = sample.records.filter(
    (record, i) => marks[i] === 1 && record[field] === valueSampled && isBehind(record),
  )
  return left.length * sample.rowsOfEach
}

/**
 * The `event_time`, in milliseconds, at which a page in its order almost always ends: most parts of the table, being of
 * other months, lie beyond it.
 */
export function likelyEnd(
  { sort, afterValue, limit }: PlannedQuestion,
  sampled: SampleMatches | undefined,
): number | undefined {
  if (sampled === undefined || sort.field !== 'event_time') return undefined
  const { sample, marksOf } = sampled
  const marks = intersect(sample, [...marksOf.values()])
  const isAhead = comesAfter(sort, afterValue)
  const times = sample.records
    .filter((record, i) => marks[i] === 1 && isAhead(record))
    .map(({ event_time }) => Number(event_time))
    .sort((one, other) => (sort.isDescending ? other - one : one - other))
  return times[Math.max(MATCHES_MIN, Math.ceil((LONG_PAGES * limit) / sample.rowsOfEach)) - 1]
}

/** Tables with another order than the sort's, whose primary key finds some of the conditions. */
export function ordersOf({ conditions, sort }: Pick<PlannedQuestion, 'conditions' | 'sort'>) {
  return [
    ...SORT_FIELDS.filter((by) => by !== sort.field).map((by) => ({
      table: tableSortedBy(by),
      known: conditions.filter(({ field }) => field === by),
    })),
    { table: BY_LABELS, known: conditions.filter(({ field }) => isLabel(field)) },
  ].filter(({ known }) => known.length > 0)
}

const isLabel = (field: FilterField): boolean => (LABEL_FIELDS as readonly FilterField[]).includes(field)

/** 1 or 0 for each record of the sample. */
type Marks = Uint8Array

interface Found {
  readonly sample: RecordSample
  /** The records that meet all conditions, wherever the page begins. */
  readonly matching: Marks
  /** The records that meet all of the given conditions; all records when none are given. */
  readonly meeting: (conditions: readonly Condition[]) => Marks
}

const marksFor = ({ records }: RecordSample, condition: Condition): Marks => {
  const meets = roughly(condition)
  const marks = new Uint8Array(records.length)
  records.forEach((record, i) => {
    if (meets(record)) marks[i] = 1
  })
  return marks
}

function intersect({ records }: RecordSample, all: readonly (Marks | undefined)[]): Marks {
  const marks = new Uint8Array(records.length).fill(1)
  for (const marksOfOne of all)
    for (let i = 0; i < marks.length; i++) marks[i] = (marks[i] ?? 0) & (marksOfOne?.[i] ?? 0)
  return marks
}

const countOf = (marks: Marks): number => marks.reduce((sum, mark) => sum + mark, 0)

function costInOrder({ conditions, sort, afterValue, limit }: PlannedQuestion, { sample, matching, meeting }: Found) {
  const { records, rowsOfEach } = sample
  // Rows that the primary key excludes are not read. It excludes rows by `ne` too, but rarely many.
  const ofSort = conditions.filter(({ field, operator }) => field === sort.field && operator !== 'ne')
  const isAhead = comesAfter(sort, afterValue)
  const isInRange = meeting(ofSort)
  const keys: (string | number)[] = []
  const marks: boolean[] = []
  records.forEach((record, i) => {
    if (isInRange[i] !== 1 || !isAhead(record)) return
    keys.push(record[sort.field])
    marks.push(matching[i] === 1)
  })
  const all = (keys.length + 1) * rowsOfEach
  const matches = keys.filter((_, i) => marks[i])
  if (matches.length === 0) return { us: all * US_PER_ROW, byGranulesUs: Number.POSITIVE_INFINITY }

  const density = matches.length / keys.length
  const evenly = Math.min(all, limit / density)
  const first = matches.reduce((one, other) => (isBefore(other, one, sort) ? other : one))
  const before = keys.filter((key) => isBefore(key, first, sort)).length
  const isApart = before > FAR / density
  const inVain = (isApart ? before : 0) + rowsInGaps(marks, density)
  const read = matches.length < MATCHES_MIN && conditions.length > ofSort.length ? all : evenly + inVain * rowsOfEach
  const besideUs = evenly * (1 - Math.exp(-density * GRANULE_ROWS)) * US_PER_ROW_BESIDE_MATCH
  return { us: read * US_PER_ROW + besideUs, byGranulesUs: costOfGranules(conditions, all) + besideUs }
}

/** The cost of evaluating the granules' indexes over a number of rows. No index can exclude by `ne`. */
function costOfGranules(conditions: readonly Condition[], rows: number): number {
  if (conditions.every(({ operator }) => operator === 'ne')) return Number.POSITIVE_INFINITY
  const isOfValues = conditions.some(({ operator }) => operator === 'in' || operator === 'contains')
  return ((isOfValues ? US_PER_GRANULE_OF_VALUES : US_PER_GRANULE) * rows) / GRANULE_ROWS
}

/**
 * A part of a table covers a span of time. A part without any match is read to its end, whatever other parts hold.
 *
 * @param marks which records match, in the order of their time
 * @returns records within spans that are so long that some should match, but none does
 */
function rowsInGaps(marks: readonly boolean[], density: number): number {
  const least = (FAR + Math.log(Math.max(1, density * marks.length))) / density
  let rows = 0
  let since = 0
  for (const isMatch of marks) {
    since += 1
    if (!isMatch) continue
    if (since > least) rows += since
    since = 0
  }
  return since > least ? rows + since : rows
}

const matchesManyValues = (condition: Condition, { sample, meeting }: Found): boolean => {
  if (condition.operator !== 'contains') return false
  const marks = meeting([condition])
  const values = sample.records.filter((_, i) => marks[i] === 1).map((record) => valueIn(record, condition.field))
  return new Set(values).size > VALUES_MAX
}

const isBefore = (one: string | number, other: string | number, { isDescending }: Sort): boolean =>
  isDescending ? one > other : one < other

function comesAfter(sort: Sort, afterValue: string | undefined): (record: SampledRecord) => boolean {
  if (afterValue === undefined) return () => true
  const after = sampledValue(sort.field, afterValue)
  return (record) => !isBefore(record[sort.field], after, sort)
}

function costOfSorting(question: PlannedQuestion, known: readonly Condition[], { sample, matching, meeting }: Found) {
  const isAhead = comesAfter(question.sort, question.afterValue)
  const ahead = sample.records.filter((record, i) => matching[i] === 1 && isAhead(record)).length
  const found = countOf(meeting(known))
  const read = rowsWithin(known, sample) ?? found * sample.rowsOfEach
  const sorted = found === 0 ? read : (read * ahead) / found
  const rows = read + ENDS_ROWS
  const sortingUs = sorted * US_PER_SORTED_ROW
  const rest = question.conditions.filter((condition) => !known.includes(condition) && condition.operator !== 'ne')
  const density = found === 0 ? 1 : countOf(meeting([...known, ...rest])) / found
  const left = rows * (1 - Math.exp(-density * GRANULE_ROWS))
  return { us: rows * US_PER_ROW + sortingUs, byGranulesUs: costOfGranules(rest, rows) + left * US_PER_ROW + sortingUs }
}

/**
 * Records of a span of time. A sample is taken from places that are hours apart, so a short span contains all
 * neighbours of one place or of none; but how many records are between two places is known.
 *
 * @returns undefined unless all conditions are bounds of one time
 */
function rowsWithin(conditions: readonly Condition[], { records, rowsOfEach }: RecordSample): number | undefined {
  const [field] = new Set(conditions.map((condition) => condition.field))
  const isSpan = conditions.every((one) => one.field === field && /^[gl]t/.test(one.operator))
  if ((field !== 'event_time' && field !== 'materialized_at') || !isSpan) return undefined
  const times = records.map((record) => Number(record[field])).sort((one, other) => one - other)
  const places = times.filter((_, i) => i % NEIGHBOURS === 0)
  const rank = (ms: number): number => {
    const i = places.findIndex((place) => place > ms)
    if (i <= 0) return i === 0 ? 0 : places.length
    const [from = 0, to = 0] = [places[i - 1], places[i]]
    return i - 1 + (ms - from) / (to - from)
  }
  const bounds = (up: boolean): number[] =>
    conditions.filter(({ operator }) => operator.startsWith('l') === up).map(({ values }) => Number(values[0]))
  const ahead = rank(Math.min(...bounds(true), Number.POSITIVE_INFINITY))
  const behind = rank(Math.max(...bounds(false), Number.NEGATIVE_INFINITY))
  return Math.max(0, ahead - behind) * NEIGHBOURS * rowsOfEach
}
