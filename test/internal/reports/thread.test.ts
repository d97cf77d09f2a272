import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ReportTask } from '../../../internal/reports/answers.js'
import { openReportThread, type ReportThread } from '../../../internal/reports/thread.js'
import { createLog } from '../../../internal/telemetry/log.js'

/** A thread that follows the instruction in the query; `wait` lasts until the gate opens. */
const SCRIPT = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, workerData } from 'node:worker_threads'
    const page = (id, task) =>
      parentPort.postMessage({ id, kind: 'page', page: { rows: [], scope: { query: task.query }, digest: '' } })
    parentPort.on('message', (message) => {
      if (message.kind === 'cancel') return parentPort.postMessage({ id: message.id, kind: 'cancelled' })
      const { id, task } = message
      if (task.query === 'die') process.exit(1)
      if (task.query === 'throw') throw new Error('a defect of the thread')
      if (task.query === 'hang') for (;;) {}
      if (task.query === 'fail') return parentPort.postMessage({ id, kind: 'failed', cause: new Error('a bug') })
      if (task.query === 'silent') return
      if (task.query === 'wait') Atomics.wait(workerData.gate, 0, 0)
      page(id, task)
    })
  `)}`,
)
const CONNECTION = { url: '', user: '', password: '', database: '' }

const opened: ReportThread[] = []
afterEach(async () => {
  for (const thread of opened.splice(0)) await thread.close()
})
function open(limits: { answerMsMax?: number; cancelMsMax?: number; tasksMax?: number } = {}) {
  const gate = new Int32Array(new SharedArrayBuffer(4))
  const connection = { ...CONNECTION, gate }
  const log = createLog('test', 'silent')
  const logged = vi.spyOn(log, 'error')
  const thread = openReportThread(connection, log, { script: SCRIPT, ...limits })
  opened.push(thread)
  const ask = (query: string, tenantId = 'tnt_one', signal = new AbortController().signal) =>
    thread.answer({ ...TASK, query, tenantId }, signal)
  const openGate = (): void => {
    Atomics.store(gate, 0, 1)
    Atomics.notify(gate, 0)
  }
  return { thread, ask, openGate, logged }
}
const TASK: ReportTask = {
  kind: 'usage',
  tenantId: 'tnt_one',
  query: '',
  nowMs: 0,
  answerId: '',
  after: undefined,
  limit: 51,
  notPeople: [],
}
const answered = (query: string) => ({ ok: true, page: { rows: [], scope: { query }, digest: '' } })
const refused = (code: string) => ({ ok: false, problem: { code } })

describe('a report', () => {
  test('is computed while the event loop keeps running', async () => {
    const { ask, openGate } = open()
    const answer = ask('wait')

    // The thread is blocked until this turn of the event loop.
    setImmediate(openGate)

    expect(await answer).toEqual(answered('wait'))
  })

  test('that fails rejects, and the thread keeps answering', async () => {
    const { ask } = open()

    await expect(ask('fail')).rejects.toThrow('the report failed')
    expect(await ask('next')).toEqual(answered('next'))
  })

  test('whose client disconnects is cancelled in the thread and rejects', async () => {
    const { ask } = open()
    const leaving = new AbortController()
    const answer = ask('silent', 'tnt_one', leaving.signal)

    leaving.abort(new Error('the caller has left'))

    await expect(answer).rejects.toThrow('the caller has left')
  })
})

describe('a thread', () => {
  test.each(['die', 'throw'])(
    'of reports that exits unexpectedly (%s) fails all pending reports, is logged and replaced',
    async (end) => {
      const { ask, logged } = open()
      const waiting = ask('silent', 'tnt_two')

      expect(await ask(end)).toMatchObject(refused('SERVICE_UNAVAILABLE'))
      expect(await waiting).toMatchObject(refused('SERVICE_UNAVAILABLE'))
      expect(await ask('next')).toEqual(answered('next'))
      expect(logged.mock.calls.map(([, message]) => message)).toEqual(['report thread exited unexpectedly'])
    },
  )

  test('of reports that hangs is terminated, logged and replaced', async () => {
    const { ask, logged } = open({ answerMsMax: 4_000, cancelMsMax: 1_000 })

    expect(await ask('hang')).toMatchObject(refused('SERVICE_UNAVAILABLE'))
    expect(await ask('next')).toEqual(answered('next'))
    expect(logged).toHaveBeenCalledOnce()
  })

  test('of reports cancels a report that times out and answers the others', async () => {
    const { ask, logged } = open({ answerMsMax: 4_000, cancelMsMax: 1_000 })
    const overdue = ask('silent', 'tnt_one')

    expect(await overdue).toMatchObject(refused('SERVICE_UNAVAILABLE'))
    expect(await ask('next', 'tnt_two')).toEqual(answered('next'))
    expect(logged).not.toHaveBeenCalled()
  })

  test('of reports refuses further reports at its limit of concurrent tasks', async () => {
    const { ask, openGate } = open({ tasksMax: 2 })
    const first = ask('wait', 'tnt_one')
    const second = ask('next', 'tnt_two')

    expect(await ask('third', 'tnt_three')).toMatchObject(refused('SERVICE_UNAVAILABLE'))
    openGate()
    expect(await first).toEqual(answered('wait'))
    expect(await second).toEqual(answered('next'))
  })

  test('of reports fails pending reports when it is closed', async () => {
    const { thread, ask, logged } = open()
    const waiting = ask('silent')

    await thread.close()

    expect(await waiting).toMatchObject(refused('SERVICE_UNAVAILABLE'))
    expect(logged).not.toHaveBeenCalled()
  })
})

test("nothing that a gateway's own thread loads for reports folds groups or reads usage", () => {
  const loaded = new Set<string>()
  const root = join(import.meta.dirname, '../../..')
  const visit = (file: string): void => {
    if (loaded.has(file)) return
    loaded.add(file)
    for (const [, clause = '', to = ''] of readFileSync(join(root, file), 'utf8').matchAll(IMPORT)) {
      const isTypeOnly = clause.startsWith('type ') || /^\{(\s*type \w+,?)+\s*\}$/.test(clause)
      if (!isTypeOnly && to.startsWith('.')) visit(relative('/', join('/', dirname(file), to.replace(/\.js$/, '.ts'))))
    }
  }

  visit('internal/reports/routes.ts')
  visit('internal/reports/thread.ts')

  expect([...loaded]).toContain('internal/reports/question.ts')
  for (const heavy of ['internal/cohorts/rollups.ts', 'internal/reports/report.ts', 'internal/reports/answers.ts']) {
    expect([...loaded]).not.toContain(heavy)
  }
})

const IMPORT = /^(?:import|export)\s+([^'"]*?)\s*from\s*['"]([^'"]+)['"]/gm
