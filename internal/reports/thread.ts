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

/** Works reports out beside the event loop. */
export interface ReportThread {
  /**
   * @param signal of a caller who may leave
   * @returns a problem where the question is too large, too much is asked at a time, or the thread or the read model
   *   fails
   * @throws on a defect, and the signal's reason when the caller has left
   */
  answer(task: ReportTask, signal: AbortSignal): Promise<ReportAnswer>
  /** Those who wait get a problem. */
  close(): Promise<void>
}

/** Reports per tenant that run at a time. */
const RUNNING_MAX = 2
/** Reports per tenant that wait, and for how long, before they are refused. */
const WAIT = { waitingMax: 16, waitMsMax: 10_000 } as const
/** Of all tenants, in the thread at a time. */
const TASKS_MAX = 32
/** Of one report: a reading takes ten seconds at most, a folding some. What a month has got to by then need not be folded again. */
const ANSWER_MS_MAX = 30_000
/** Within which a thread tells that it has left a report; one that tells nothing for so long hangs. */
const LEAVING_MS_MAX = 30_000
/** Of the thread: a report that needs more ends it, and not the gateway. */
const MEMORY_MB_MAX = 1_024

const BUSY = problem('SERVICE_UNAVAILABLE', 'Too many reports are being worked out; try again.', {
  retryAfterSeconds: 2,
})
const TOO_MANY = problem('RATE_LIMITED', 'Too many reports of the tenant are being worked out; try again.', {
  retryAfterSeconds: 1,
})
const ENDED = problem(
  'SERVICE_UNAVAILABLE',
  'The report could not be worked out in time; try again, or ask for less.',
  {
    retryAfterSeconds: 5,
  },
)

/** @param limits for tests, as is the script that the thread runs */
export function openReportThread(
  connection: StoreConnection,
  log: Logger,
  { script = SCRIPT, answerMsMax = ANSWER_MS_MAX, leavingMsMax = LEAVING_MS_MAX, tasksMax = TASKS_MAX } = {},
): ReportThread {
  const reports = new LimiterPerKey(RUNNING_MAX)
  let current: ReturnType<typeof startThread> | undefined
  let lastId = 0

  /** Undefined: the thread ended, or had to be. */
  async function ask(task: ReportTask, signal: AbortSignal): Promise<FromWorker | undefined> {
    if (current?.isOver ?? true) current = startThread(script, connection, log)
    const thread = current as ReturnType<typeof startThread>
    lastId += 1
    const id = lastId
    const leave = (): void => thread.tell({ kind: 'leave', id })
    const overdue = setTimeout(() => thread.giveUp(id, leavingMsMax), answerMsMax)
    signal.addEventListener('abort', leave, { once: true })
    try {
      return await thread.ask(id, task)
    } finally {
      clearTimeout(overdue)
      signal.removeEventListener('abort', leave)
    }
  }

  return {
    async answer(task, signal) {
      const run = async (): Promise<ReportAnswer> => {
        if (current !== undefined && !current.isOver && current.waiting.size >= tasksMax) {
          return { ok: false, problem: BUSY }
        }
        const told = await ask(task, signal)
        signal.throwIfAborted()
        if (told === undefined || told.kind === 'left') return { ok: false, problem: ENDED }
        if (told.kind === 'failed') throw new Error('a report failed', { cause: told.cause })
        return told.kind === 'page' ? { ok: true, page: told.page } : { ok: false, problem: told.problem }
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
  const waiting = new Map<number, (told: FromWorker | undefined) => void>()
  let told = 0
  let isEnding = false
  const thread = {
    isOver: false,
    waiting,
    ask: (id: number, task: ReportTask) =>
      new Promise<FromWorker | undefined>((resolve) => {
        waiting.set(id, resolve)
        thread.tell({ kind: 'ask', id, task })
      }),
    tell: (message: ToWorker): void => worker.postMessage(message),
    /** A report that is not answered in time. A thread that does not even leave it is ended, with all that wait for it. */
    giveUp(id: number, leavingMsMax: number): void {
      const toldBefore = told
      thread.tell({ kind: 'leave', id })
      setTimeout(() => {
        if (thread.isOver || told > toldBefore) return
        log.error({ waiting: waiting.size }, 'the thread of reports hangs, and is ended')
        void thread.end()
      }, leavingMsMax).unref()
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
    told += 1
    waiting.get(message.id)?.(message)
    waiting.delete(message.id)
  })
  // Out of memory, or a defect of the thread itself: those who wait are told, and the next question starts another.
  const endedByItself = (why: object): void => {
    if (!thread.isOver && !isEnding) log.error({ ...why, waiting: waiting.size }, 'the thread of reports ended')
    over()
  }
  worker.on('error', (cause) => endedByItself({ err: cause }))
  worker.on('exit', (exitCode) => endedByItself({ exitCode }))
  return thread
}
