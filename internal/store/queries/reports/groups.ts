import type { Condition } from '../../../filters/parse.js'
import type { GroupField } from '../../../filters/report-dimensions.js'
import { NOT_DECLARED, type TagField } from '../../../records/dimensions.js'
import { UNASSIGNED } from '../../../records/interpretation.js'
import { asOfSnapshotWithin, BEGUN_BY_SNAPSHOT } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import type { Bindings } from '../records/conditions.js'
import { conditionOn, credentialSql, dimensionCondition, dimensionSql } from './dimensions.js'
import { type FigureName, figureColumn, figureSql } from './figures.js'
import { type Interval, intervalEnd, intervalStart } from './intervals.js'
import type { PricedFigures } from './priced-figures.js'

/** Milliseconds since the epoch; the end is exclusive. */
interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** The calls that a report covers. */
export interface ReportScope extends Span {
  readonly tenantId: string
  /** Records are read as of this instant. */
  readonly snapshotMs: number
  /** Whether versions of records in the period were closed by then. */
  readonly hasClosed: boolean
  /** A second period, whose calls are groups of their own, where there is no interval. Default: none. */
  readonly before?: Span
  readonly filters: readonly Condition<GroupField>[]
  /** The filters select calls without a cost. Default: false. */
  readonly selectsFreeCalls?: true
  /** Hashes of identities that are not people, as 32 hex digits. */
  readonly notPeople: readonly string[]
  /** Declared tags whose values name people. */
  readonly personalTags: readonly TagField[]
  /** Names of credentials by id. Default: none is known. */
  readonly credentialNames?: ReadonlyMap<string, string>
  /** SQL of figures that depends on prices. Default: none. */
  readonly pricedFigures?: PricedFigures
  /** Names that count as nobody's: only people behind other names are counted. Default: all people are. */
  readonly costObjects?: CostObjectNames
}

/** The services and owners that a tenant always names (`cohort_scope` `people`). */
export interface CostObjectNames {
  readonly services: Iterable<string>
  readonly owners: Iterable<string>
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
  grouping: Grouping,
  figures: readonly FigureName[],
  bindings: Bindings,
  only = 'true',
): string {
  const { isPerson, person } = peopleSql(scope, grouping.groupBy)
  return groupedSql(scope, grouping, figures, bindings, only, `uniqExactStateIf(${person}, ${isPerson}) AS ${PEOPLE}`)
}

/**
 * The same with `PEOPLE` as a number: `START`, the end of the interval, the labels, `PEOPLE`, people of which there are
 * at most `fewMax` (all where the group has no more), and the figures.
 */
export function countedGroupsSql(
  scope: ReportScope,
  grouping: Grouping,
  figures: readonly FigureName[],
  bindings: Bindings,
  fewMax: number,
): string {
  const { isPerson, person } = peopleSql(scope, grouping.groupBy)
  const people = `uniqExactIf(${person}, ${isPerson}) AS ${PEOPLE},
                  groupUniqArrayIf(${fewMax})(${SOMEBODY}, ${isPerson})`
  const end = intervalEnd(grouping.interval, START, bindings.bind(grouping.zone, 'String'))
  return groupedSql(scope, grouping, figures, bindings, 'true', people, [end])
}

/**
 * The query of the cells of a question's filters (`internal/cohorts/holding-filters.ts`): the values of their fields,
 * whether each matches, at most `fewMax` people, and the cost. It reads all calls of the period.
 *
 * @param groupBy what else the question tells people apart by
 * @param fields whose values tell cells apart; those of all other fields are empty
 * @param only a further condition over records
 */
export function filterCellsSql(
  scope: ReportScope,
  groupBy: readonly GroupField[],
  { fewMax, fields, only }: { readonly fewMax: number; readonly fields: readonly GroupField[]; readonly only: string },
  bindings: Bindings,
): string {
  const { isPerson, person } = peopleSql(scope, groupBy)
  const values = scope.filters.map(({ field }) =>
    fields.includes(field) ? `toString(${labelSql(field, scope)})` : "''",
  )
  const matches = scope.filters.map((filter) => `toUInt8(${conditionSql(filter, scope, bindings)})`)
  return `SELECT CAST([${values.join(', ')}], 'Array(String)') AS cell_values, [${matches.join(', ')}] AS cell_matches,
      groupUniqArrayIf(${fewMax})(${person}, ${isPerson}), sum(cost_usd)
    FROM ${ATTRIBUTIONS.name} WHERE ${conditionsOf({ ...scope, filters: [] }, bindings, only)}
    GROUP BY cell_values, cell_matches`
}

/**
 * The query of how many of some people are among those of a group. @param of the values of `START` and of the labels
 */
export function presentSql(
  scope: ReportScope,
  grouping: Grouping,
  of: { readonly startS: number; readonly labels: readonly string[] },
  people: Iterable<string>,
  bindings: Bindings,
): string {
  const { interval, groupBy, zone } = grouping
  const { isPerson, person } = peopleSql(scope, groupBy)
  const group = [
    ...(interval === undefined
      ? []
      : [`toUnixTimestamp(${startSql(interval, zone, bindings)}) = ${bindings.bind(of.startS, 'UInt32')}`]),
    ...groupBy.map((name, i) => `${labelSql(name, scope)} = ${bindings.bind(of.labels[i] ?? '', 'String')}`),
  ]
  const listed = [...people].map((each) => bindings.bind(each, 'UInt64')).join(', ')
  return `SELECT uniqExactIf(${person}, ${isPerson} AND ${SOMEBODY} IN (${listed}))
    FROM ${ATTRIBUTIONS.name} WHERE ${conditionsOf(scope, bindings, group.join(' AND '))}`
}

function groupedSql(
  scope: ReportScope,
  { groupBy, interval, zone }: Grouping,
  figures: readonly FigureName[],
  bindings: Bindings,
  only: string,
  people: string,
  leading: readonly string[] = [],
): string {
  const where = conditionsOf(scope, bindings, only)
  const labels = groupBy.map((name, i) => `${labelSql(name, scope)} AS ${labelColumn(i)}`)
  const { names = [], sql = {} } = scope.pricedFigures ?? {}
  const sums = figures.map((name) => `${sql[name] ?? figureSql(name)} AS ${figureColumn(name)}`)
  const start = scope.before === undefined ? startSql(interval, zone, bindings) : sideSql(scope.before, bindings)
  const isParted = interval !== undefined || scope.before !== undefined
  const keys = [...(isParted ? [START] : []), ...groupBy.map((_, i) => labelColumn(i))]
  const columns = [`${start} AS ${START}`, ...leading, ...labels, people, ...sums]
  return `${names.length === 0 ? '' : `WITH ${names.join(', ')} `}SELECT ${columns.join(', ')}
    FROM ${ATTRIBUTIONS.name} WHERE ${where}
    ${keys.length === 0 ? 'HAVING count() > 0' : `GROUP BY ${keys.join(', ')}`}`
}

const startSql = (interval: Interval | undefined, zone: string, bindings: Bindings): string =>
  intervalStart(interval, "toDateTime(event_time, 'UTC')", bindings.bind(zone, 'String'))

/** In place of a start: 1 for calls of the period before, 0 for all others. */
const sideSql = (before: Span, bindings: Bindings): string =>
  `toDateTime(toUInt32(${withinSql(before, bindings)}), 'UTC')`

const withinSql = ({ fromMs, toMs }: Span, bindings: Bindings): string =>
  `(event_time >= fromUnixTimestamp64Milli(${bindings.bind(fromMs, 'Int64')})
    AND event_time < fromUnixTimestamp64Milli(${bindings.bind(toMs, 'Int64')}))`

/** SQL of a label of a report. */
const labelSql = (field: GroupField, { credentialNames = NO_NAMES }: ReportScope): string =>
  field === 'credential' ? credentialSql(credentialNames) : dimensionSql(field)
const NO_NAMES: ReadonlyMap<string, string> = new Map()

/** SQL of a filter of a report. A credential is selected by its name or its id. */
function conditionSql(filter: Condition<GroupField>, scope: ReportScope, bindings: Bindings): string {
  if (filter.field !== 'credential') return dimensionCondition(filter, bindings)
  const [byName, byId] = [labelSql('credential', scope), 'principal'].map((value) =>
    conditionOn(value, filter, bindings),
  )
  return filter.operator === 'ne' ? `(${byName} AND ${byId})` : `(${byName} OR ${byId})`
}

function conditionsOf(scope: ReportScope, bindings: Bindings, only: string): string {
  const { hasClosed, before, filters } = scope
  const within = [scope, ...(before === undefined ? [] : [before])].map((span) => withinSql(span, bindings))
  const period = `(${within.join(' OR ')})`
  return [
    'tenant_id = {tenant:String}',
    period,
    hasClosed ? asOfSnapshotWithin(period) : BEGUN_BY_SNAPSHOT,
    ...filters.map((filter) => conditionSql(filter, scope, bindings)),
    only,
  ].join('\n AND ')
}

/** Alias that `person` of `peopleSql` defines. */
const SOMEBODY = 'somebody'

/**
 * The people of a group: identities that are no workloads. A tag that names people names the person of a call without
 * such an identity, and of every call where the report groups or filters by it.
 *
 * Half of a hash is enough to tell people apart: two with the same half would count as one.
 */
function peopleSql(scope: ReportScope, groupBy: readonly GroupField[]) {
  const { notPeople, personalTags, filters, costObjects } = scope
  const asked = [...groupBy, ...filters.map(({ field }) => field)]
  const also = costObjects === undefined ? '' : ` AND ${namesPeopleSql({ costObjects, personalTags }, asked)}`
  if (personalTags.length === 0) {
    return {
      person: `reinterpretAsUInt64(identity_hash) AS ${SOMEBODY}`,
      isPerson: `${SOMEBODY} NOT IN (${workloadsOf(notPeople)})${also}`,
    }
  }
  return {
    person: `${anybodySql({ notPeople, personalTags }, asked)} AS ${SOMEBODY}`,
    isPerson: `${SOMEBODY} != 0${also}`,
  }
}

/**
 * Whether what a report or export groups and filters by names people in a record: an owner or service that is no cost
 * object, the sign-in of a person, or a tag that names people.
 */
export function namesPeopleSql(
  { costObjects, personalTags }: Required<Pick<ReportScope, 'costObjects' | 'personalTags'>>,
  asked: readonly string[],
): string {
  const isOther = (column: string, names: Iterable<string>): string => {
    const known = ['', UNASSIGNED, ...names].map((name) => `unhex('${Buffer.from(name).toString('hex')}')`)
    return `(toString(${column}) NOT IN (${known.join(', ')}) AND stage_origin != 'stage_c')`
  }
  const names = [
    ...(asked.includes('owner') ? [isOther('owner', costObjects.owners)] : []),
    ...(asked.includes('service') ? [isOther('service', costObjects.services)] : []),
    ...(asked.includes('credential') ? ["startsWith(principal, 'usr_')"] : []),
    ...personalTags
      .filter((tag) => asked.includes(tag))
      .map((tag) => `${dimensionSql(tag)} NOT IN ('', '${NOT_DECLARED}')`),
  ]
  return names.length === 0 ? 'false' : `(${names.join(' OR ')})`
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
