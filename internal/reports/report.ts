import type { GroupField } from '../filters/report-dimensions.js'
import type { TagField } from '../records/dimensions.js'
import type { SpreadWeights } from '../store/queries/attribution/allocation-weights.js'
import type { AnswerPage, AnswerScope, ReportQuery } from '../store/queries/reports/answer.js'
import { EXTRA_FIGURES, FIGURE_NAMES, type FigureName } from '../store/queries/reports/figures.js'
import type { CostObjectNames, ReportScope } from '../store/queries/reports/groups.js'
import type { PricedFigures } from '../store/queries/reports/priced-figures.js'
import type { ReportQuestion } from './question.js'
import { monthsOf, type Period, spanOf } from './report-period.js'

/** The reads that a report needs. */
export interface ReportReads {
  /** The latest weights for spreading a tenant's pools, at or before a time. */
  readonly weights: (tenantId: string, byMs: number, signal: AbortSignal) => Promise<SpreadWeights | undefined>
  /** How many of the first filters of a scope may hold. */
  readonly holdingFilters: (
    scope: ReportScope,
    groupBy: readonly GroupField[],
    cohortMin: number,
    signal: AbortSignal,
  ) => Promise<number>
  readonly hasClosed: (of: Period & { tenantId: string; snapshotMs: number }, signal: AbortSignal) => Promise<boolean>
  /** Undefined: the answer is too large to be read without staging it. */
  readonly read: (query: ReportQuery, limit: number, signal: AbortSignal) => Promise<AnswerPage | undefined>
  readonly stage: (query: ReportQuery, signal: AbortSignal) => Promise<string>
  readonly readStaged: (
    query: ReportQuery,
    answer: string,
    position: number,
    limit: number,
    signal: AbortSignal,
  ) => Promise<AnswerPage>
}

export interface ReportOf {
  readonly tenantId: string
  readonly snapshotMs: number
  readonly notPeople: readonly string[]
  /** Default: none. */
  readonly personalTags?: readonly TagField[]
  /** Names of credentials by id. Default: none is known. */
  readonly credentialNames?: ReadonlyMap<string, string>
  /** SQL of figures that depends on prices. Default: none. */
  readonly pricedFigures?: PricedFigures
  /** Names that are always shown. Default: none. */
  readonly costObjects?: CostObjectNames
  readonly cohortMin: number
  readonly months: readonly WeighedMonth[]
}

/** Where a page begins; what a cursor holds. */
export interface Position {
  /** Name of the staged answer. */
  readonly answer: string
  readonly row: number
  /** How many filters the answer holds. */
  readonly filtersApplied: number
}

/** A month, and the time of the weights by which its pools are spread. */
export interface WeighedMonth extends Period {
  readonly spreadBy: SpreadWeights | undefined
}

/** The months of an allocated report, also those of the period with which it is compared; none otherwise. */
export const weighedMonths = (
  { isAllocating, period, previous, zone }: ReportQuestion,
  tenantId: string,
  reads: Pick<ReportReads, 'weights'>,
  signal: AbortSignal,
): Promise<WeighedMonth[]> =>
  Promise.all(
    (isAllocating ? distinct([period, ...(previous ? [previous] : [])].flatMap((of) => monthsOf(of, zone))) : []).map(
      async (month) => ({
        ...month,
        spreadBy: await reads.weights(tenantId, month.toMs, signal),
      }),
    ),
  )

const distinct = (months: readonly Period[]): Period[] =>
  [...new Map(months.map((month) => [month.fromMs, month])).values()].sort((one, other) => one.fromMs - other.fromMs)

export interface ReportPage extends AnswerPage {
  /** How many of the filters hold; the others were dropped. */
  readonly filtersApplied: number
  /** The start of the next page; undefined on the last one. */
  readonly next: Position | undefined
}

const FIGURES: Readonly<Record<ReportQuestion['kind'], readonly FigureName[]>> = {
  usage: FIGURE_NAMES,
  adoption: ['cost_usd', 'calls'],
}

/**
 * The first page of a report. Filters that isolate fewer people than a cohort, by what they select or by what they leave
 * out, are dropped from the last on.
 */
export async function firstPage(
  question: ReportQuestion,
  of: ReportOf,
  limit: number,
  reads: ReportReads,
  signal: AbortSignal,
): Promise<ReportPage> {
  const { groupBy } = question
  const hasClosed = await reads.hasClosed({ ...spanOf(question), ...of }, signal)
  const holding = (asked: AnswerScope): Promise<number> =>
    reads.holdingFilters(asked.scope, groupBy, of.cohortMin, signal)
  const whole = queryOf(question, of, question.filters.length, hasClosed)
  const [applied, before] = await Promise.all([holding(whole), whole.previous && holding(whole.previous)])
  const query = applied === question.filters.length ? whole : queryOf(question, of, applied, hasClosed)
  // Of fewer filters more may hold in the period before.
  const isPreviousShown =
    query.previous === undefined || (query === whole ? before : await holding(query.previous)) === applied
  const asked = { ...query, isPreviousShown }
  return isLikelyLong(question)
    ? staged(asked, applied, limit, reads, signal)
    : readOrStaged(asked, applied, limit, reads, signal)
}

/** A later page; undefined when the answer has expired. */
export async function laterPage(
  question: ReportQuestion,
  of: ReportOf,
  position: Position,
  limit: number,
  reads: ReportReads,
  signal: AbortSignal,
): Promise<ReportPage | undefined> {
  const query = queryOf(question, of, position.filtersApplied, false)
  const page = await stagedPage(query, position, limit, reads, signal)
  const expected = Math.min(limit, page.totals.rows - position.row)
  return page.rows.length === 0 || page.rows.length < expected ? undefined : page
}

/**
 * Several labels, or labels in intervals, have more rows than a page. Anything else is read at once, which is cheaper.
 */
const isLikelyLong = ({ groupBy, interval }: ReportQuestion): boolean =>
  groupBy.length + (interval === undefined ? 0 : 1) > 1

async function readOrStaged(
  query: ReportQuery,
  filtersApplied: number,
  limit: number,
  reads: ReportReads,
  signal: AbortSignal,
): Promise<ReportPage> {
  const page = await reads.read(query, limit, signal)
  return page === undefined || page.totals.rows > limit
    ? staged(query, filtersApplied, limit, reads, signal)
    : { ...page, filtersApplied, next: undefined }
}

async function staged(
  query: ReportQuery,
  filtersApplied: number,
  limit: number,
  reads: ReportReads,
  signal: AbortSignal,
): Promise<ReportPage> {
  const answer = await reads.stage(query, signal)
  return stagedPage(query, { answer, row: 0, filtersApplied }, limit, reads, signal)
}

async function stagedPage(
  query: ReportQuery,
  { answer, row, filtersApplied }: Position,
  limit: number,
  reads: ReportReads,
  signal: AbortSignal,
): Promise<ReportPage> {
  const page = await reads.readStaged(query, answer, row, limit, signal)
  const end = row + page.rows.length
  return { ...page, filtersApplied, next: end < page.totals.rows ? { answer, row: end, filtersApplied } : undefined }
}

export const queryOf = (
  question: ReportQuestion,
  of: ReportOf,
  filtersApplied: number,
  hasClosed: boolean,
): ReportQuery => {
  const scopeOf = (period: Period): AnswerScope => ({
    scope: {
      tenantId: of.tenantId,
      snapshotMs: of.snapshotMs,
      hasClosed,
      ...period,
      filters: question.filters.slice(0, filtersApplied),
      ...(question.selectsFreeCalls && { selectsFreeCalls: true }),
      notPeople: of.notPeople,
      personalTags: of.personalTags ?? [],
      ...(of.credentialNames !== undefined && { credentialNames: of.credentialNames }),
      ...(of.pricedFigures !== undefined && { pricedFigures: of.pricedFigures }),
      ...(of.costObjects !== undefined && { costObjects: of.costObjects }),
    },
    spreadBy: of.months
      .filter(({ fromMs, toMs }) => fromMs < period.toMs && toMs > period.fromMs)
      .map(({ fromMs, toMs, spreadBy }) => ({ fromMs, toMs, weights: spreadBy?.weights ?? [] })),
  })
  return {
    ...scopeOf(question.period),
    grouping: question,
    figures: [...FIGURES[question.kind], ...question.extras.flatMap((name) => EXTRA_FIGURES[name])],
    cohortMin: of.cohortMin,
    sort: question.sort,
    ...(question.previous !== undefined && { previous: scopeOf(question.previous) }),
  }
}
