import { Worker } from 'node:worker_threads'
import { type Problem, problem } from '../problems/catalogue.js'
import { LimiterPerKey } from '../process/limiter.js'
import type { StoreConnection } from '../store/client.js'
import type { Logger } from '../telemetry/log.js'
import type { ReportPage, ReportTask } from './answers.js'
import type { FromWorker, ToWorker } from './worker.js'

export type ReportAnswer =
  | { readonly ok: true; readonly page: ReportPage }
  | { readonly ok: false; readonly problem: Problem }

/** Computes reports in a worker thread, off the event loop. */
export interface ReportThread {
  /**
   * @param signal aborts when the client disconnects
   * @returns a problem when the report is too large, too many reports are in flight, or the thread or ClickHouse fails
   * @throws on a bug, and the signal's reason when the client has disconnected
   */
  answer(task: ReportTask, signal: AbortSignal): Promise<ReportAnswer>
  /** Pending requests get a problem. */
  close(): Promise<void>
}

/** Concurrent reports per tenant. */
const RUNNING_MAX = 2
/** Reports per tenant that wait, and for how long, before they are refused. */
const WAIT = { waitingMax: 16, waitMsMax: 10_000 } as const
/** Concurrent reports in the thread, over all tenants. */
const TASKS_MAX = 32
/** Time limit per report. One query takes up to ten seconds, folding a few more. Months that are folded by then are not folded again on retry. */
const ANSWER_MS_MAX = 30_000
/** Time in which the thread must confirm a cancellation; a thread that sends nothing for so long is considered hung. */
const CANCEL_MS_MAX = 30_000
/** Heap limit of the thread: a report that needs more crashes the thread and not the gateway. */
const MEMORY_MB_MAX = 1_024

const BUSY = problem('SERVICE_UNAVAILABLE', 'Too many reports are in progress; try again later.', {
  retryAfterSeconds: 2,
})
const TOO_MANY = problem('RATE_LIMITED', 'Too many reports of this tenant are in progress; try again later.', {
  retryAfterSeconds: 1,
})
const TIMED_OUT = problem(
  'SERVICE_UNAVAILABLE',
  'The report timed out; try again, or request a shorter period or fewer groups.',
  {
    retryAfterSeconds: 5,
  },
)

/** @param options script and limits, for tests */
export function openReportThread(
  connection: StoreConnection,
  log: Logger,
  { script = SCRIPT, answerMsMax = ANSWER_MS_MAX, cancelMsMax = CANCEL_MS_MAX, tasksMax = TASKS_MAX } = {},
): ReportThread {
  const reports = new LimiterPerKey(RUNNING_MAX)
  let current: ReturnType<typeof startThread> | undefined
  let lastId = 0

  /** Resolves with undefined when the thread has ended or was terminated. */
  async function ask(task: ReportTask, signal: AbortSignal): Promise<FromWorker | undefined> {
    if (current?.isOver ?? true) current = startThread(script, connection, log)
    const thread = current as ReturnType<typeof startThread>
    lastId += 1
    const id = lastId
    const cancel = (): void => thread.send({ kind: 'cancel', id })
    const overdue = setTimeout(() => thread.giveUp(id, cancelMsMax), answerMsMax)
    signal.addEventListener('abort', cancel, { once: true })
    try {
      return await thread.ask(id, task)
    } finally {
      clearTimeout(overdue)
      signal.removeEventListener('abort', cancel)
    }
  }

  return {
    async answer(task, signal) {
      const run = async (): Promise<ReportAnswer> => {
        if (current !== undefined && !current.isOver && current.waiting.size >= tasksMax) {
          return { ok: false, problem: BUSY }
        }
        const outcome = await ask(task, signal)
        signal.throwIfAborted()
        if (outcome === undefined || outcome.kind === 'cancelled') return { ok: false, problem: TIMED_OUT }
        if (outcome.kind === 'failed') throw new Error('the report failed', { cause: outcome.cause })
        return outcome.kind === 'page' ? { ok: true, page: outcome.page } : { ok: false, problem: outcome.problem }
      }
      const answered = await reports.tryRun(task.tenantId, run, { ...WAIT, signal })
      return answered?.value ?? { ok: false, problem: TOO_MANY }
    },
    async close() {
      await current?.end()
    },
  }
}

const SCRIPT = new URL('./worker.js', import.meta.url)

function startThread(script: URL, connection: StoreConnection, log: Logger) {
  const worker = new Worker(script, {
    workerData: connection,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB_MAX },
  })
  const waiting = new Map<number, (outcome: FromWorker | undefined) => void>()
  let messages = 0
  let isEnding = false
  const thread = {
    isOver: false,
    waiting,
    ask: (id: number, task: ReportTask) =>
      new Promise<FromWorker | undefined>((resolve) => {
        waiting.set(id, resolve)
        thread.send({ kind: 'ask', id, task })
      }),
    send: (message: ToWorker): void => worker.postMessage(message),
    /** Cancels a report that timed out. A thread that does not even confirm that is terminated, and all pending reports fail. */
    giveUp(id: number, cancelMsMax: number): void {
      const messagesBefore = messages
      thread.send({ kind: 'cancel', id })
      setTimeout(() => {
        if (thread.isOver || messages > messagesBefore) return
        log.error({ waiting: waiting.size }, 'report thread is hung; terminating it')
        void thread.end()
      }, cancelMsMax).unref()
    },
    async end(): Promise<void> {
      isEnding = true
      await worker.terminate()
    },
  }
  const over = (): void => {
    thread.isOver = true
    for (const settle of waiting.values()) settle(undefined)
    waiting.clear()
  }
  worker.on('message', (message: FromWorker) => {
    messages += 1
    waiting.get(message.id)?.(message)
    waiting.delete(message.id)
  })
  // Out of memory, or a bug in the thread: pending reports fail, and the next one starts a new thread.
  const endedByItself = (why: object): void => {
    if (!thread.isOver && !isEnding) log.error({ ...why, waiting: waiting.size }, 'report thread exited unexpectedly')
    over()
  }
  worker.on('error', (cause) => endedByItself({ err: cause }))
  worker.on('exit', (exitCode) => endedByItself({ exitCode }))
  return thread
}
