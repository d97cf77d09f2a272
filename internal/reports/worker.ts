/**
 * The worker thread that reads and folds a gateway's reports. Deciding which groups may be shown takes seconds when there
 * are thousands of them, and the main thread must keep admitting events.
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

/** Messages to the thread. */
export type ToWorker =
  | { readonly kind: 'ask'; readonly id: number; readonly task: ReportTask }
  /** The result is no longer needed. */
  | { readonly kind: 'cancel'; readonly id: number }

/** Messages from the thread, one per task. */
export type FromWorker = { readonly id: number } & (
  | { readonly kind: 'page'; readonly page: ReportPage }
  | { readonly kind: 'refused'; readonly problem: Problem }
  /** Cancelled before the report was complete. */
  | { readonly kind: 'cancelled' }
  /** A bug. */
  | { readonly kind: 'failed'; readonly cause: unknown }
)

class ReadFailed extends Error {}

const store = connectStore(workerData as StoreConnection)
const read = async <T>(reading: Promise<T>): Promise<T> => {
  try {
    return await reading
  } catch (cause) {
    throw new ReadFailed('the read model query failed', { cause })
  }
}
const answer = reportAnswers(
  {
    sums: (...asked) => read(usageSums(store, ...asked)),
    weights: (...asked) => read(findSpreadWeights(store, ...asked)),
  },
  Date.now,
)
const inFlight = new Map<number, AbortController>()

parentPort?.on('message', (message: ToWorker) => {
  if (message.kind === 'cancel') inFlight.get(message.id)?.abort()
  else void work(message.id, message.task)
})

async function work(id: number, task: ReportTask): Promise<void> {
  const cancelling = new AbortController()
  inFlight.set(id, cancelling)
  parentPort?.postMessage(await outcomeOf(id, task, cancelling.signal))
  inFlight.delete(id)
}

async function outcomeOf(id: number, task: ReportTask, signal: AbortSignal): Promise<FromWorker> {
  try {
    const page = await answer(task, signal)
    return 'code' in page ? { id, kind: 'refused', problem: page } : { id, kind: 'page', page }
  } catch (cause) {
    if (signal.aborted) return { id, kind: 'cancelled' }
    const problem = problemOf(cause)
    return problem === undefined ? { id, kind: 'failed', cause } : { id, kind: 'refused', problem }
  }
}

function problemOf(cause: unknown): Problem | undefined {
  const reading = cause instanceof ReadFailed ? cause.cause : undefined
  if (cause instanceof TooManyGroups || cause instanceof TooMuchToFold || isTooLarge(reading)) {
    const detail = 'The report has too many groups: request a shorter period, or weeks instead of days.'
    return badParameter('/group_by', detail)
  }
  return reading === undefined ? undefined : storeProblem(reading)
}
