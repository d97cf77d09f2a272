import { compareKeys } from '../gateway/sorted-records.js'
import { ADOPTION, shownAdoption } from './adoption.js'
import { Folds } from './folds.js'
import { KeptAnswers } from './kept-answers.js'
import { type ReportKind, readQuestion } from './kinds.js'
import type { Measured } from './parts.js'
import type { Period } from './period.js'
import type { ReportQuestion } from './question.js'
import { type Report, type ReportRow, reportOf, type UsageReads } from './report.js'
import { shownUsage, USAGE } from './usage.js'

/** What is asked of a report: plain values, which go from thread to thread. */
export interface ReportTask {
  readonly kind: ReportKind
  readonly tenantId: string
  /** A query string that `readQuestion` takes. */
  readonly query: string
  readonly nowMs: number
  /** Names the answer whose pages these are. */
  readonly answerId: string
  /** Key of the last row of the page before. */
  readonly after: readonly string[] | undefined
  /** Rows at most. */
  readonly limit: number
  /** Hashes of the tenant's identities that are no people, as 32 hex digits. */
  readonly notPeople: readonly string[]
}

export interface ReportPage {
  readonly rows: readonly ShownRow[]
  readonly scope: object
}

interface ShownRow {
  readonly key: readonly string[]
  readonly shown: object
}

/** Works reports out, each whole, and gives out their pages. */
export function reportAnswers(
  reads: Omit<UsageReads, 'notPeople'>,
  clock: () => number,
): (task: ReportTask, signal: AbortSignal) => Promise<ReportPage> {
  const kept = new KeptAnswers<ReportPage>(clock)
  const folds = new Folds()
  return async (task, signal) => {
    const { rows, scope } = await kept.take(task.answerId, () => answerTo(task, reads, folds, signal))
    const { after, limit } = task
    const rest = after === undefined ? rows : rows.filter(({ key }) => compareKeys(key, after) > 0)
    return { rows: rest.slice(0, limit), scope }
  }
}

async function answerTo(
  { kind, tenantId, query, nowMs, notPeople }: ReportTask,
  reads: Omit<UsageReads, 'notPeople'>,
  folds: Folds,
  signal: AbortSignal,
): Promise<ReportPage> {
  const read = readQuestion(kind, query, nowMs)
  if (!read.ok) throw new Error(`a question that was read before: ${read.problem.detail}`)
  const { question } = read
  const answer = async <M>(measured: Measured<M>, show: (row: ReportRow<M>) => object): Promise<ReportPage> => {
    const asked = { ...reads, notPeople: () => notPeople }
    const report = await reportOf(tenantId, question, measured, asked, signal, folds)
    return {
      rows: report.rows.map((row) => ({ key: row.key, shown: show(row) })),
      scope: scopeOf(question, report),
    }
  }
  return kind === 'usage' ? answer(USAGE, shownUsage) : answer(ADOPTION, shownAdoption)
}

const scopeOf = ({ zone, interval, groupBy, isAllocating }: ReportQuestion, report: Report<unknown>) => ({
  ...shownPeriod(report.period),
  time_zone: zone,
  interval: interval ?? null,
  group_by: groupBy,
  allocated: isAllocating,
  ...(isAllocating && {
    allocation_weights: report.spreadBy.map(({ asOfMs, ...month }) => ({
      ...shownPeriod(month),
      as_of: asOfMs === undefined ? null : new Date(asOfMs).toISOString(),
    })),
  }),
  widened_filters: report.widened,
})

const shownPeriod = ({ fromMs, toMs }: Period) => ({
  from: new Date(fromMs).toISOString(),
  to: new Date(toMs).toISOString(),
})
