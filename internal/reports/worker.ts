/**
 * The thread in which a gateway's reports are read and folded: which groups may be shown takes seconds where there are
 * thousands, and the gateway's own thread takes in events meanwhile.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { TooMuchToFold } from '../cohorts/cell-split.js'
import type { Problem } from '../problems/catalogue.js'
import { connectStore, type StoreConnection } from '../store/client.js'
import { isTooLarge, storeProblem } from '../store/failures.js'
import { findSpreadWeights } from '../store/queries/attribution/allocation-weights.js'
import { usageSums } from '../store/queries/reports/usage.js'
import { badParameter } from '../text/query-string.js'
import { type ReportPage, type ReportTask, reportAnswers } from './answers.js'
import { TooManyGroups } from './parts.js'

/** What the thread is told. */
export type ToWorker =
  | { readonly kind: 'ask'; readonly id: number; readonly task: ReportTask }
  /** Nobody waits for the answer any more. */
  | { readonly kind: 'leave'; readonly id: number }

/** What it tells, once for each task. */
export type FromWorker = { readonly id: number } & (
  | { readonly kind: 'page'; readonly page: ReportPage }
  | { readonly kind: 'refused'; readonly problem: Problem }
  /** As it was told to, before there was an answer. */
  | { readonly kind: 'left' }
  /** A defect. */
  | { readonly kind: 'failed'; readonly cause: unknown }
)

class ReadFailed extends Error {}

const store = connectStore(workerData as StoreConnection)
const read = async <T>(reading: Promise<T>): Promise<T> => {
  try {
    return await reading
  } catch (cause) {
    throw new ReadFailed('the read model did not answer', { cause })
  }
}
const answer = reportAnswers(
  {
    sums: (...asked) => read(usageSums(store, ...asked)),
    weights: (...asked) => read(findSpreadWeights(store, ...asked)),
  },
  Date.now,
)
const underWay = new Map<number, AbortController>()

parentPort?.on('message', (message: ToWorker) => {
  if (message.kind === 'leave') underWay.get(message.id)?.abort()
  else void work(message.id, message.task)
})

async function work(id: number, task: ReportTask): Promise<void> {
  const leaving = new AbortController()
  underWay.set(id, leaving)
  parentPort?.postMessage(await told(id, task, leaving.signal))
  underWay.delete(id)
}

async function told(id: number, task: ReportTask, signal: AbortSignal): Promise<FromWorker> {
  try {
    const page = await answer(task, signal)
    return 'code' in page ? { id, kind: 'refused', problem: page } : { id, kind: 'page', page }
  } catch (cause) {
    if (signal.aborted) return { id, kind: 'left' }
    const problem = problemOf(cause)
    return problem === undefined ? { id, kind: 'failed', cause } : { id, kind: 'refused', problem }
  }
}

function problemOf(cause: unknown): Problem | undefined {
  const reading = cause instanceof ReadFailed ? cause.cause : undefined
  if (cause instanceof TooManyGroups || cause instanceof TooMuchToFold || isTooLarge(reading)) {
    const detail = 'The report has too many groups: ask for a shorter period, or for weeks in place of days.'
    return badParameter('/group_by', detail)
  }
  return reading === undefined ? undefined : storeProblem(reading)
}
