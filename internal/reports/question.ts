import { FILTER_FIELDS, type Field, withTags } from '../filters/filter-fields.js'
import { type Condition, digestOf, isFilterName, parseFilters } from '../filters/parse.js'
import { DIMENSION_NAMES, DIMENSIONS, type GroupField } from '../filters/report-dimensions.js'
import { CURSOR_LIFETIME_MS } from '../http/resource/pages.js'
import type { Problem } from '../problems/problem-catalogue.js'
import { type Dimension, isTagField, keyOfTagField, type TagField, tagFieldOf } from '../records/dimensions.js'
import type { ReportSort } from '../store/queries/reports/answer.js'
import { EXTRA_FIGURES } from '../store/queries/reports/figures.js'
import { INTERVALS, type Interval } from '../store/queries/reports/intervals.js'
import { isPlainText } from '../text/plain-text.js'
import { badParameter, namedOnce, readPairs } from '../text/query-string.js'
import { parseInstant } from '../units/instant.js'
import { DAY_MS, readZone } from '../units/time-zone.js'
import type { ReportKind } from './compared.js'
import {
  DAYS_MAX,
  defaultPeriod,
  defaultStart,
  isEdge,
  type Period,
  previousPeriod,
  readEdge,
} from './report-period.js'
import { type Refusal, readSort } from './sort.js'

/** Figures that a report has only if it is asked for them. */
export type Extra = keyof typeof EXTRA_FIGURES

export interface ReportQuestion {
  readonly kind: ReportKind
  readonly groupBy: readonly GroupField[]
  readonly interval: Interval | undefined
  readonly zone: string
  readonly period: Period
  /** The period with which this one is compared, before or after it; undefined: none. */
  readonly previous: Period | undefined
  /** In the order of the query. */
  readonly filters: readonly Condition<GroupField>[]
  /** The filters select calls without a cost: the others cost the total. Default: false. */
  readonly selectsFreeCalls?: true
  readonly sort: ReportSort
  readonly isAllocating: boolean
  /** Figures besides those of every report. */
  readonly extras: readonly Extra[]
  /** The model at whose prices the calls are priced anew; undefined: none. */
  readonly repriceAs: { readonly provider: string; readonly model: string } | undefined
  /** The instant as of which the caller asks for the figures; undefined: the newest. */
  readonly asOfMs: number | undefined
  readonly limit: string | undefined
  readonly cursor: string | undefined
  /** Identifies everything that affects the result, so that a cursor can be bound to it. */
  readonly digest: string
}

export type ReadReport =
  | { readonly ok: true; readonly question: ReportQuestion }
  | { readonly ok: false; readonly problem: Problem }

const PARAMETERS = [
  'group_by',
  'interval',
  'time_zone',
  'from',
  'to',
  'as_of',
  'sort',
  'compare',
  'compare_from',
  'compare_to',
  'limit',
  'cursor',
] as const
const OF_USAGE = ['allocate', 'include_notional', 'include_cost_parts', 'reprice_as'] as const

/** The fields that reports are filtered by. */
export const REPORT_FIELDS = {
  ...DIMENSIONS,
  event_time: { ...FILTER_FIELDS.event_time, operators: ['gte', 'lt'] },
} as const satisfies Readonly<Record<string, Field>>
type ReportField = keyof typeof REPORT_FIELDS | TagField

/**
 * Parses the query string of a report, strictly.
 *
 * @param declared the tag keys that the tenant has declared
 * @param atMs when a period ends that has no stated end: of a later page, the instant of the first one
 */
export function readReport(
  kind: ReportKind,
  text: string,
  nowMs: number,
  declared: readonly Pick<Dimension, 'key'>[] = [],
  atMs = nowMs,
): ReadReport {
  const read = readPairs(text)
  if (!read.ok) return read
  const parsed = parseFilters(
    read.pairs.filter(([name]) => isFilterName(name)),
    withTags(REPORT_FIELDS, declared),
  )
  if (!parsed.ok) return refused(parsed.fault.pointer, parsed.fault.detail)
  const named = namedOnce(
    read.pairs.filter(([name]) => !isFilterName(name)),
    kind === 'usage' ? [...PARAMETERS, ...OF_USAGE] : PARAMETERS,
  )
  if (!named.ok) return named
  const values: { readonly [name in (typeof PARAMETERS)[number] | (typeof OF_USAGE)[number]]?: string } = named.values

  const groupBy = readGroups(values.group_by, declared)
  if ('pointer' in groupBy) return refused(groupBy.pointer, groupBy.detail)
  const interval = INTERVALS.find((known) => known === values.interval)
  if (values.interval !== undefined && interval === undefined) {
    return refused('/interval', `interval must be one of ${INTERVALS.join(', ')}.`)
  }
  const zone = readZone(values.time_zone ?? 'UTC')
  if (zone === undefined) return refused('/time_zone', 'time_zone must be a name from the tz database.')
  const figures = readFigures(values)
  if ('pointer' in figures) return refused(figures.pointer, figures.detail)
  const asOfMs = values.as_of === undefined ? undefined : parseInstant(values.as_of)
  if (values.as_of !== undefined && !isReadable(asOfMs, nowMs)) return refused('/as_of', AS_OF)
  const period = readPeriod(values, parsed.value, zone, atMs)
  if ('pointer' in period) return refused(period.pointer, period.detail)
  const previous = readCompared(values, period, interval, zone)
  if (previous !== undefined && 'pointer' in previous) return refused(previous.pointer, previous.detail)
  const sort = readSort(kind, values.sort, groupBy, interval, previous !== undefined)
  if ('pointer' in sort) return refused(sort.pointer, sort.detail)

  // Their order decides which of them are dropped first.
  const filters = parsed.value.filter(isOfDimension)
  const asked = [...filters.map((filter) => digestOf([filter])), digestOf(parsed.value)]
  const digest = [
    groupBy,
    interval,
    zone,
    values.from,
    values.to,
    values.as_of,
    values.sort,
    figures.isAllocating,
    previous !== undefined,
    ...[values.compare_from, values.compare_to].filter((edge) => edge !== undefined),
    ...figures.extras,
    ...(values.reprice_as === undefined ? [] : [values.reprice_as]),
    ...asked,
  ].join(' ')
  return {
    ok: true,
    question: {
      kind,
      groupBy,
      interval,
      zone,
      period,
      previous,
      filters,
      sort,
      ...figures,
      asOfMs,
      limit: values.limit,
      cursor: values.cursor,
      digest,
    },
  }
}

function readGroups(
  text: string | undefined,
  declared: readonly Pick<Dimension, 'key'>[],
): readonly GroupField[] | Refusal {
  const groups = text === undefined ? [] : text.split(',').map(foldedField)
  const fields = withTags(DIMENSIONS, declared)
  if (new Set(groups).size === groups.length && groups.every((name) => Object.hasOwn(fields, name))) {
    return groups as GroupField[]
  }
  const known = [...DIMENSION_NAMES, ...declared.map(({ key }) => tagFieldOf(key))].join(', ')
  return { pointer: '/group_by', detail: `group_by must be a comma-separated list of ${known}, without repetition.` }
}

/** What rows have besides the figures of every report. */
function readFigures(
  values: { readonly [name in (typeof OF_USAGE)[number]]?: string },
): Pick<ReportQuestion, 'isAllocating' | 'extras' | 'repriceAs'> | Refusal {
  for (const name of ['allocate', 'include_notional', 'include_cost_parts'] as const) {
    if (!isFlag(values[name])) return { pointer: `/${name}`, detail: `${name} must be true or false.` }
  }
  const repriceAs = values.reprice_as === undefined ? undefined : readModel(values.reprice_as)
  if (repriceAs === null) return { pointer: '/reprice_as', detail: 'reprice_as must be <provider>/<model>.' }
  const isAllocating = values.allocate === 'true'
  const isAsked: Readonly<Record<Extra, boolean>> = {
    notional: values.include_notional === 'true',
    unspread: isAllocating,
    cost_parts: values.include_cost_parts === 'true',
    repriced: repriceAs !== undefined,
  }
  if (isAllocating && (isAsked.cost_parts || isAsked.repriced)) return { pointer: '/allocate', detail: UNSPREAD }
  const extras = (Object.keys(EXTRA_FIGURES) as Extra[]).filter((name) => isAsked[name])
  return { isAllocating, extras, repriceAs }
}

/** `openai/gpt-4o`; a model's name may have slashes of its own. Null for anything else. */
function readModel(text: string): ReportQuestion['repriceAs'] | null {
  const [, provider, model] = /^([^/]{1,128})\/(.{1,256})$/.exec(text) ?? []
  return provider === undefined || model === undefined || !isPlainText(text) ? null : { provider, model }
}

const isFlag = (text: string | undefined): boolean => text === undefined || text === 'true' || text === 'false'

/** Versions that were closed earlier may have been removed since. */
const AS_OF_AGE_MS_MAX = CURSOR_LIFETIME_MS
const isReadable = (ms: number | undefined, nowMs: number): boolean =>
  ms !== undefined && ms <= nowMs && ms > nowMs - AS_OF_AGE_MS_MAX

const foldedField = (name: string): string => (isTagField(name) ? tagFieldOf(keyOfTagField(name)) : name)

const isOfDimension = (condition: Condition<ReportField>): condition is Condition<GroupField> =>
  condition.field !== 'event_time'

/** The intersection of `from`, `to` and the filters on event_time. */
function readPeriod(
  { from, to }: { readonly from?: string; readonly to?: string },
  conditions: readonly Condition<ReportField>[],
  zone: string,
  nowMs: number,
): Period | Refusal {
  const defaults = defaultPeriod(zone, nowMs)
  const edges = { from: [] as number[], to: [] as number[] }
  for (const [name, text] of [['from', from] as const, ['to', to] as const]) {
    if (text === undefined) continue
    const ms = readEdge(text, zone)
    if (ms === undefined) return { pointer: `/${name}`, detail: EDGE }
    edges[name].push(ms)
  }
  for (const { field, operator, values } of conditions) {
    if (field !== 'event_time') continue
    const ms = Number(values[0])
    if (!isEdge(ms)) return { pointer: `/filter/event_time/${operator}`, detail: TIME_FILTER }
    edges[operator === 'gte' ? 'from' : 'to'].push(ms)
  }
  const toMs = edges.to.length === 0 ? defaults.toMs : Math.min(...edges.to)
  const begins = edges.to.length === 0 ? defaults.fromMs : defaultStart(zone, toMs)
  const fromMs = edges.from.length === 0 ? begins : Math.max(...edges.from)
  if (fromMs >= toMs) return { pointer: '/from', detail: 'from must be before to.' }
  if (toMs - fromMs > DAYS_MAX * DAY_MS) return { pointer: '/from', detail: TOO_LONG }
  return { fromMs, toMs }
}

/** The period before, or the one that is stated in its place. */
function readCompared(
  { compare, compare_from: from, compare_to: to }: { readonly [name in (typeof PARAMETERS)[number]]?: string },
  period: Period,
  interval: Interval | undefined,
  zone: string,
): Period | Refusal | undefined {
  if (compare !== undefined && compare !== 'previous') {
    return { pointer: '/compare', detail: 'compare must be previous.' }
  }
  if (from === undefined && to === undefined) {
    if (compare === undefined) return undefined
    return previousPeriod(period, interval, zone) ?? { pointer: '/compare', detail: CUT }
  }
  if (compare !== undefined || from === undefined || to === undefined || interval !== undefined) {
    return { pointer: '/compare_from', detail: BOTH }
  }
  const [fromMs, toMs] = [readEdge(from, zone), readEdge(to, zone)]
  if (fromMs === undefined || toMs === undefined) {
    return {
      pointer: fromMs === undefined ? '/compare_from' : '/compare_to',
      detail: `compare_from and compare_to: ${EDGE}`,
    }
  }
  if (fromMs >= toMs) return { pointer: '/compare_from', detail: 'compare_from must be before compare_to.' }
  if (toMs - fromMs > DAYS_MAX * DAY_MS) return { pointer: '/compare_from', detail: TOO_LONG }
  if (fromMs < period.toMs && toMs > period.fromMs) return { pointer: '/compare_from', detail: OVERLAP }
  return { fromMs, toMs }
}

const TOO_LONG = `The period must not exceed ${DAYS_MAX} days.`
const BOTH = 'compare_from and compare_to must be stated together, without compare and without interval.'
// The change would be that of the calls in which they differ, however few people these are of.
const OVERLAP = 'The periods that are compared must not overlap.'
const AS_OF = 'as_of must be the as_of of a report that was answered within the last hour.'
const UNSPREAD = 'allocate spreads neither the parts of costs nor costs at the prices of another model.'
const CUT = 'With compare=previous and an interval, from and to must be where an interval starts, in the time zone.'
const EDGE =
  'from and to must be days (YYYY-MM-DD, in the time zone), or RFC 3339 times on a quarter hour, from 1970 to 2105.'
const TIME_FILTER =
  'Reports support only filter[event_time][gte] and filter[event_time][lt], on a quarter hour, from 1970 to 2105.'

const refused = (pointer: string, detail: string) => ({ ok: false, problem: badParameter(pointer, detail) }) as const
