import type { Condition } from '../../../filters/parse.js'
import { NOT_DECLARED, type TagField } from '../../../records/dimensions.js'
import { asOfSnapshotWithin, BEGUN_BY_SNAPSHOT } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import type { Bindings } from '../records/conditions.js'
import { dimensionCondition, dimensionSql, type GroupField } from './dimensions.js'
import { type FigureName, figureColumn, figureSql } from './figures.js'
import { type Interval, intervalStart } from './intervals.js'

/** The calls that a report covers. */
export interface ReportScope {
  readonly tenantId: string
  /** Records are read as of this instant. */
  readonly snapshotMs: number
  /** Whether versions of records in the period were closed by then. */
  readonly hasClosed: boolean
  /** Milliseconds since the epoch; the end is exclusive. */
  readonly fromMs: number
  readonly toMs: number
  readonly filters: readonly Condition<GroupField>[]
  /** Hashes of identities that are not people, as 32 hex digits. */
  readonly notPeople: readonly string[]
  /** Declared tags whose values name people. */
  readonly personalTags: readonly TagField[]
}

/** How a report groups the calls. */
export interface Grouping {
  readonly groupBy: readonly GroupField[]
  readonly interval: Interval | undefined
  readonly zone: string
}

/** Columns of the table of groups. */
export const START = 'start'
export const PEOPLE = 'people'
export const labelColumn = (index: number): string => `g${index}`

/**
 * The query of the groups of a report: `START` (without an interval a constant), a column per label, `PEOPLE` (state of
 * `uniqExact`) and the figures. The parameters `tenant` and `snapshot` are those of `snapshotParams`.
 *
 * @param only a further condition over records
 */
export function groupsSql(
  scope: ReportScope,
  { groupBy, interval, zone }: Grouping,
  figures: readonly FigureName[],
  bindings: Bindings,
  only = 'true',
): string {
  const { hasClosed, fromMs, toMs, filters } = scope
  const period = `event_time >= fromUnixTimestamp64Milli(${bindings.bind(fromMs, 'Int64')})
    AND event_time < fromUnixTimestamp64Milli(${bindings.bind(toMs, 'Int64')})`
  const conditions = [
    'tenant_id = {tenant:String}',
    period,
    hasClosed ? asOfSnapshotWithin(period) : BEGUN_BY_SNAPSHOT,
    ...filters.map((filter) => dimensionCondition(filter, bindings)),
    only,
  ]
  const start = intervalStart(interval, "toDateTime(event_time, 'UTC')", bindings.bind(zone, 'String'))
  const labels = groupBy.map((name, i) => `${dimensionSql(name)} AS ${labelColumn(i)}`)
  const sums = figures.map((name) => `${figureSql(name, 'records')} AS ${figureColumn(name)}`)
  const keys = [...(interval === undefined ? [] : [START]), ...groupBy.map((_, i) => labelColumn(i))]
  return `SELECT ${[`${start} AS ${START}`, ...labels, `${peopleState(scope, groupBy)} AS ${PEOPLE}`, ...sums].join(', ')}
    FROM ${ATTRIBUTIONS.name} WHERE ${conditions.join('\n AND ')}
    ${keys.length === 0 ? 'HAVING count() > 0' : `GROUP BY ${keys.join(', ')}`}`
}

/**
 * The people of a group: identities that are no workloads. A tag that names people names the person of a call without such an
 * identity, and of every call where the report groups or filters by it.
 *
 * Half of a hash is enough to tell people apart: two with the same half would count as one.
 */
function peopleState({ notPeople, personalTags, filters }: ReportScope, groupBy: readonly GroupField[]): string {
  const person = 'reinterpretAsUInt64(identity_hash)'
  const workloads = workloadsOf(notPeople)
  if (personalTags.length === 0) return `uniqExactStateIf(${person}, ${person} NOT IN (${workloads}))`
  const asked = [...groupBy, ...filters.map(({ field }) => field)]
  return `uniqExactStateIf(${anybodySql({ notPeople, personalTags }, asked)} AS somebody, somebody != 0)`
}

/** Somebody as a number, 0 for nobody. @param asked what the report or export is grouped or filtered by */
export function anybodySql(
  { notPeople, personalTags }: Pick<ReportScope, 'notPeople' | 'personalTags'>,
  asked: readonly string[],
): string {
  const person = 'reinterpretAsUInt64(identity_hash)'
  const workloads = workloadsOf(notPeople)
  const isAsked = (tag: TagField): boolean => asked.includes(tag)
  const named = (tag: TagField): string =>
    `${dimensionSql(tag)} NOT IN ('', '${NOT_DECLARED}'), cityHash64(${dimensionSql(tag)})`
  const choices = [
    ...personalTags.filter(isAsked).map(named),
    `${person} NOT IN (${workloads}), ${person}`,
    ...personalTags.filter((tag) => !isAsked(tag)).map(named),
  ]
  return `toUInt64(multiIf(${choices.join(', ')}, 0))`
}

/** In the query text: the list may be longer than a URL with parameters can hold. */
const workloadsOf = (notPeople: readonly string[]): string =>
  [0n, ...notPeople.map((hash) => Buffer.from(hash, 'hex').readBigUInt64LE())].join(', ')

/** Enough for every identity that a tenant's directory may list as a workload. */
export const QUERY_BYTES_MAX = 16 * 1024 * 1024
