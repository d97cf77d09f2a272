import type { Choice } from '../cohorts/rows.js'
import { containsText } from '../filters/contains.js'
import { type Condition, digestOf, isFilterName, parseFilters } from '../filters/parse.js'
import type { Problem } from '../problems/catalogue.js'
import { type Interval, REPORT_DIMENSIONS, type ReportDimension } from '../store/queries/reports/usage.js'
import { badParameter, namedOnce, readPairs } from '../text/query-string.js'
import { DAY_MS, readZone } from '../units/time-zone.js'
import { DAYS_MAX, defaultPeriod, defaultStart, isEdge, type Period, readEdge } from './period.js'

export interface ReportQuestion {
  readonly groupBy: readonly ReportDimension[]
  readonly interval: Interval | undefined
  readonly zone: string
  readonly period: Period
  readonly filters: readonly ReportFilter[]
  readonly isAllocating: boolean
  readonly limit: string | undefined
  readonly cursor: string | undefined
  /** Identifies everything that affects the result, so that a cursor can be bound to it. */
  readonly digest: string
}

/** All filters on one dimension, combined. */
export interface ReportFilter extends Choice {
  readonly name: ReportDimension
}

export type ReadReport =
  | { readonly ok: true; readonly question: ReportQuestion }
  | { readonly ok: false; readonly problem: Problem }

const PARAMETERS = ['group_by', 'interval', 'time_zone', 'from', 'to', 'allocate', 'limit', 'cursor'] as const
export type ReportParameter = (typeof PARAMETERS)[number]

/**
 * Parses the query string of a report, strictly.
 *
 * @param accepted parameters of the report, in addition to filters
 * @param groups dimensions it may be grouped by
 * @param intervals intervals it may be split into
 */
export function readReport(
  text: string,
  nowMs: number,
  accepted: readonly ReportParameter[],
  groups: readonly ReportDimension[],
  intervals: readonly Interval[],
): ReadReport {
  const read = readPairs(text)
  if (!read.ok) return read
  const parsed = parseFilters(read.pairs.filter(([name]) => isFilterName(name)))
  if (!parsed.ok) return refused(parsed.fault.pointer, parsed.fault.detail)
  const named = namedOnce(
    read.pairs.filter(([name]) => !isFilterName(name)),
    accepted,
  )
  if (!named.ok) return named
  const values: { readonly [name in ReportParameter]?: string } = named.values

  const groupBy = values.group_by === undefined ? [] : values.group_by.split(',')
  if (new Set(groupBy).size < groupBy.length || !groupBy.every((name) => groups.some((known) => known === name))) {
    return refused('/group_by', `group_by must be a comma-separated list of ${groups.join(', ')}, without repetition.`)
  }
  const interval = intervals.find((known) => known === values.interval)
  if (values.interval !== undefined && interval === undefined) {
    return refused('/interval', `interval must be one of ${intervals.join(', ')}.`)
  }
  const zone = readZone(values.time_zone ?? 'UTC')
  if (zone === undefined) return refused('/time_zone', 'time_zone must be a name from the tz database.')
  if (values.allocate !== undefined && values.allocate !== 'true' && values.allocate !== 'false') {
    return refused('/allocate', 'allocate must be true or false.')
  }
  const period = readPeriod(values, parsed.value, zone, nowMs)
  if ('pointer' in period) return refused(period.pointer, period.detail)
  const filters = readFilters(parsed.value)
  if ('pointer' in filters) return refused(filters.pointer, filters.detail)

  const isAllocating = values.allocate === 'true'
  const digest = [groupBy, interval, zone, values.from, values.to, isAllocating, digestOf(parsed.value)].join(' ')
  return {
    ok: true,
    question: {
      groupBy: groupBy as ReportDimension[],
      interval,
      zone,
      period,
      filters,
      isAllocating,
      limit: values.limit,
      cursor: values.cursor,
      digest,
    },
  }
}

interface Refusal {
  readonly pointer: string
  readonly detail: string
}

/** The intersection of `from`, `to` and the filters on event_time. */
function readPeriod(
  { from, to }: { readonly from?: string; readonly to?: string },
  conditions: readonly Condition[],
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
    if ((operator !== 'gte' && operator !== 'lt') || !isEdge(ms)) {
      return { pointer: `/filter/event_time/${operator}`, detail: TIME_FILTER }
    }
    edges[operator === 'gte' ? 'from' : 'to'].push(ms)
  }
  const toMs = edges.to.length === 0 ? defaults.toMs : Math.min(...edges.to)
  const begins = edges.to.length === 0 ? defaults.fromMs : defaultStart(zone, toMs)
  const fromMs = edges.from.length === 0 ? begins : Math.max(...edges.from)
  if (fromMs >= toMs) return { pointer: '/from', detail: 'from must be before to.' }
  if (toMs - fromMs > DAYS_MAX * DAY_MS)
    return { pointer: '/from', detail: `The period must not exceed ${DAYS_MAX} days.` }
  return { fromMs, toMs }
}

const EDGE =
  'from and to must be days (YYYY-MM-DD, in the time zone), or RFC 3339 times in UTC on a quarter hour, from 1970 to 2105.'
const TIME_FILTER =
  'Reports support only filter[event_time][gte] and filter[event_time][lt], on a quarter hour, from 1970 to 2105.'

function readFilters(conditions: readonly Condition[]): ReportFilter[] | Refusal {
  const byName = new Map<ReportDimension, Condition[]>()
  for (const condition of conditions) {
    if (condition.field === 'event_time') continue
    const name = REPORT_DIMENSIONS.find((known) => known === condition.field)
    if (name === undefined) {
      const known = [...REPORT_DIMENSIONS, 'event_time'].join(', ')
      return {
        pointer: `/filter/${condition.field}`,
        detail: `Reports can be filtered only by ${known}.`,
      }
    }
    byName.set(name, [...(byName.get(name) ?? []), condition])
  }
  return REPORT_DIMENSIONS.flatMap((name, i) => {
    const own = byName.get(name)
    if (own === undefined) return []
    return [{ name, dimension: i + 1, holds: (value: string) => own.every((condition) => isMet(condition, value)) }]
  })
}

/** Dimensions are strings; the filter grammar allows only these operators for strings. */
function isMet({ operator, values }: Condition, value: string): boolean {
  if (operator === 'contains') return containsText(value, values[0] ?? '')
  return values.includes(value) === (operator !== 'ne')
}

const refused = (pointer: string, detail: string) => ({ ok: false, problem: badParameter(pointer, detail) }) as const
