import { type Filter, filterParams } from '../../../figures/filters.js'
import type { Period } from '../../../figures/period.js'
import type { UsageRow } from '../../../figures/usage.js'
import { ApiProblem } from '../../api/ask.js'
import { ROWS_A_PAGE, readUsage, type UsageQuestion, type UsageReport } from '../../api/usage.js'
import { readNewest } from '../../api/use-newest.js'

/** Everything that the overview shows: answers of one endpoint, all as of one instant, so that its totals agree. */
export interface OverviewFigures {
  /** What was asked: while another question is on its way, these figures still belong to this one. */
  readonly period: Period
  /** With what, as parameters of a report. */
  readonly comparison: Readonly<Record<string, string>>
  readonly zone: string
  readonly by: string
  readonly filters: readonly Filter[]
  /** The period as the address names it. */
  readonly stated: string
  /** A row per reason why calls can or cannot be charged: together they are the totals. */
  readonly charging: UsageReport
  /** A row per label of the dimension, the most expensive first. */
  readonly labels: UsageReport
  /** A row per interval. */
  readonly intervals: UsageReport
  /** Rows per interval and label: those that cost most, and of small groups all. */
  readonly cells: readonly UsageRow[]
  /** Whether there are more. */
  readonly areCellsCut: boolean
  readonly asOfMs: number
}

/** Those of a month of thirty services. */
const CELLS_MAX = 5 * ROWS_A_PAGE

interface Asked {
  readonly period: Period
  readonly comparison: OverviewFigures['comparison']
  readonly stated: string
  readonly zone: string
  readonly by: string
  readonly filters: readonly Filter[]
  /** When the newest record became visible, where the page knows it. */
  readonly newestAtMs: number | undefined
}

/**
 * Loads all reports at once, as of the newest record: nothing is newer. Where no record can be seen, the first report
 * says as of when the others are asked.
 */
export async function loadOverview(asked: Asked, signal: AbortSignal): Promise<OverviewFigures> {
  const newestAtMs = asked.newestAtMs ?? (await readNewest())?.atMs
  if (newestAtMs === undefined) return readReports(asked, undefined, signal)
  const nowMs = Date.now()
  // Of a quiet tenant the newest record is older than the service still answers, and a minute ago says the same.
  const asOfMs = newestAtMs < nowMs - AS_OF_AGE_MS_MAX ? nowMs - MINUTE_MS : newestAtMs
  try {
    return await readReports(asked, new Date(asOfMs).toISOString(), signal)
  } catch (cause) {
    // The clock of this computer may be wrong: the service has not yet, or no longer, an answer as of the instant.
    if (!(cause instanceof ApiProblem) || cause.status !== 400) throw cause
    return readReports(asked, undefined, signal)
  }
}

/** The service answers as of an instant within the last hour. */
const AS_OF_AGE_MS_MAX = 50 * 60 * 1_000
const MINUTE_MS = 60_000

async function readReports(
  { period, comparison, stated, zone, by, filters }: Asked,
  asOf: string | undefined,
  signal: AbortSignal,
): Promise<OverviewFigures> {
  const { fromMs, toMs, interval } = period
  const span = {
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    time_zone: zone,
    ...(asOf !== undefined && { as_of: asOf }),
    ...filterParams(filters),
  }
  const readCharging = (question: UsageQuestion): Promise<UsageReport> =>
    readUsage({ ...question, ...comparison, group_by: 'export_eligibility', include_notional: 'true' }, signal)
  const first = asOf === undefined ? await readCharging(span) : undefined
  const question = first === undefined ? span : { ...span, as_of: first.scope.as_of }
  // The longest first: the service answers two reports of a tenant at a time.
  const [cells, labels, charging, intervals] = await Promise.all([
    readCells({ ...question, interval, group_by: by }, by, signal),
    readUsage({ ...question, ...comparison, group_by: by, sort: '-cost_usd' }, signal),
    first ?? readCharging(question),
    readUsage({ ...question, interval }, signal),
  ])
  const asOfMs = Date.parse(charging.scope.as_of)
  return { period, comparison, stated, zone, by, filters, charging, labels, intervals, ...cells, asOfMs }
}

/**
 * With few labels all cells fit; with many, those that cost most. Of small groups there is one in each interval, and
 * they have no label: in the order of the labels they are the first.
 */
async function readCells(question: UsageQuestion, by: string, signal: AbortSignal) {
  const asked = { ...question, sort: '-cost_usd' }
  const first = await readUsage(asked, signal)
  if (first.next === undefined) return { cells: first.rows, areCellsCut: false }
  const areCellsCut = first.scope.rows > CELLS_MAX
  const [more, folded] = await Promise.all([
    readUsage(asked, signal, CELLS_MAX / ROWS_A_PAGE - 1, first.next),
    areCellsCut ? readUsage({ ...question, sort: by }, signal) : undefined,
  ])
  const cells = [...first.rows, ...more.rows]
  if (folded === undefined) return { cells, areCellsCut }
  return { cells: [...cells.filter(isApart), ...folded.rows.filter((row) => !isApart(row))], areCellsCut }
}

const isApart = (row: UsageRow): boolean => !row.folded
