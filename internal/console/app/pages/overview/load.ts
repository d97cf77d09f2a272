import { type Filter, filterParams } from '../../../figures/filters.js'
import type { Period } from '../../../figures/period.js'
import { NAMED_MAX } from '../../../figures/stack.js'
import type { UsageRow } from '../../../figures/usage.js'
import { readUsage, type UsageQuestion, type UsageReport } from '../../api/usage.js'

/** Everything that the overview shows: answers of one endpoint, all as of the same instant, so that its totals agree. */
export interface OverviewFigures {
  /** What was asked: while another question is on its way, these figures still belong to this one. */
  readonly period: Period
  readonly zone: string
  readonly by: string
  readonly filters: readonly Filter[]
  /** The period as the address names it. */
  readonly stated: string
  /** A row per confidence band: together they are the totals. */
  readonly bands: UsageReport
  /** A row per label of the dimension, the most expensive first. */
  readonly labels: UsageReport
  /** A row per interval. */
  readonly intervals: UsageReport
  /** Rows per interval and label: those that cost most. */
  readonly cells: readonly UsageRow[]
  readonly asOfMs: number
}

const CELL_PAGES_MAX = 3

export async function loadOverview(
  { period, stated }: { readonly period: Period; readonly stated: string },
  zone: string,
  by: string,
  filters: readonly Filter[],
  signal: AbortSignal,
): Promise<OverviewFigures> {
  const { fromMs, toMs, interval } = period
  const span = {
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    time_zone: zone,
    ...filterParams(filters),
  }
  const bands = await readUsage({ ...span, group_by: 'confidence_band', compare: 'previous' }, signal)
  const question = { ...span, as_of: bands.scope.as_of }
  const [labels, intervals] = await Promise.all([
    readUsage({ ...question, group_by: by, compare: 'previous', sort: '-cost_usd' }, signal),
    readUsage({ ...question, interval }, signal),
  ])
  const cells = labels.rows.length === 0 ? [] : await readCells(question, interval, by, labels.rows, signal)
  return { period, stated, zone, by, filters, bands, labels, intervals, cells, asOfMs: Date.parse(bands.scope.as_of) }
}

/** With few labels all cells fit; with many, those of the labels that get a colour and of nobody come first by cost. */
async function readCells(
  question: UsageQuestion,
  interval: string,
  by: string,
  labels: readonly UsageRow[],
  signal: AbortSignal,
): Promise<readonly UsageRow[]> {
  if (labels.length === 1 && labels[0]?.folded === true) return []
  const pages = Math.min(CELL_PAGES_MAX, 1 + Math.floor((labels.length * (NAMED_MAX + 1)) / 200) + 1)
  const { rows } = await readUsage({ ...question, interval, group_by: by, sort: '-cost_usd' }, signal, pages)
  return rows
}
