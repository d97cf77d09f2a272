import { createHash } from 'node:crypto'
import { compareKeys } from '../http/resource/sorted-records.js'
import { type Problem, problem } from '../problems/catalogue.js'
import { ADOPTION, shownAdoption } from './adoption.js'
import { Folds } from './folds.js'
import { KeptAnswers } from './kept-answers.js'
import { type ReportKind, readQuestion } from './kinds.js'
import type { Measured } from './parts.js'
import type { Period } from './period.js'
import type { ReportQuestion } from './question.js'
import { type Report, type ReportRow, reportOf, type UsageReads } from './report.js'
import { shownUsage, USAGE } from './usage.js'

/** A report request as plain values, which can be posted to another thread. */
export interface ReportTask {
  readonly kind: ReportKind
  readonly tenantId: string
  /** A query string that `readQuestion` accepts. */
  readonly query: string
  /** The time of the first page; the default period is relative to it. */
  readonly nowMs: number
  /** Identifies the answer that the pages belong to. */
  readonly answerId: string
  /** End of the previous page; undefined for the first page. */
  readonly after: PageEnd | undefined
  /** Maximum number of rows. */
  readonly limit: number
  /** Hashes of the tenant's identities that are not people, as 32 hex digits. */
  readonly notPeople: readonly string[]
}

export interface PageEnd {
  /** Digest of the answer that the page belongs to. */
  readonly digest: string
  /** Key of the last row. */
  readonly key: readonly string[]
}

export interface ReportPage {
  readonly rows: readonly ShownRow[]
  readonly scope: object
  /** The same for the same answer on every gateway; empty when there is no next page. */
  readonly digest: string
}

type Answer = Omit<ReportPage, 'digest'>

interface ShownRow {
  readonly key: readonly string[]
  readonly shown: object
}

/**
 * Computes complete reports and returns them page by page. All pages belong to one answer. An answer that is no longer
 * cached, or was computed by another gateway, is computed again; the pages continue only if nothing in it has changed.
 *
 * @param kept the cache, for tests
 */
export function reportAnswers(
  reads: Omit<UsageReads, 'notPeople'>,
  clock: () => number,
  kept = new KeptAnswers<ReportPage>(clock),
): (task: ReportTask, signal: AbortSignal) => Promise<ReportPage | Problem> {
  const folds = new Folds()
  return async (task, signal) => {
    const { answerId, tenantId, after, limit } = task
    let answer = kept.find(answerId)
    if (answer === undefined) {
      const made = await answerTo(task, reads, folds, signal)
      // Most reports fit on one page and are not requested again.
      if (after === undefined && made.rows.length < limit) return { ...made, digest: '' }
      answer = { ...made, digest: digestOf(made) }
      kept.keep(answerId, tenantId, answer)
    }
    const { rows, scope, digest } = answer
    if (after === undefined) return { rows: rows.slice(0, limit), scope, digest }
    if (digest !== after.digest) return CHANGED
    return { rows: rows.filter(({ key }) => compareKeys(key, after.key) > 0).slice(0, limit), scope, digest }
  }
}

const CHANGED_DETAIL = 'The figures have changed since the first page: request the report again without a cursor.'
const CHANGED = problem('INVALID_CURSOR', CHANGED_DETAIL, { errors: [{ pointer: '/cursor', detail: CHANGED_DETAIL }] })

function digestOf({ rows, scope }: Answer): string {
  const hash = createHash('sha256').update(JSON.stringify(scope))
  for (const { key, shown } of rows) hash.update(JSON.stringify([key, shown]))
  return hash.digest('base64url').slice(0, DIGEST_CHARACTERS)
}

/** 128 bits; short, because every cursor contains it. */
const DIGEST_CHARACTERS = 22

async function answerTo(
  { kind, tenantId, query, nowMs, notPeople }: ReportTask,
  reads: Omit<UsageReads, 'notPeople'>,
  folds: Folds,
  signal: AbortSignal,
): Promise<Answer> {
  const read = readQuestion(kind, query, nowMs)
  if (!read.ok) throw new Error(`the gateway accepted this query before: ${read.problem.detail}`)
  const { question } = read
  const answer = async <M>(measured: Measured<M>, show: (row: ReportRow<M>) => object): Promise<Answer> => {
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
