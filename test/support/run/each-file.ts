/** Set-up file of every project: vitest runs it before each test file, also in a worker that many files share. */
import { configureGlobal } from 'fast-check'
import { afterAll, afterEach } from 'vitest'
import { processorSeconds } from '../../../deploy/setup/processor-time.mjs'
import { closeOpened, printAccounts, workerProcesses } from './at-end.js'
import { drawn } from './rings.js'

declare module 'vitest' {
  interface TaskMeta {
    /** Of a file: of its worker meanwhile, of the worker's processes, and of those that it started and that have ended. */
    processorSeconds?: number
  }
}

const secondsOfWorker = (): number =>
  workerProcesses.reduce((sum, pid) => sum + processorSeconds(pid), processorSeconds())
const before = secondsOfWorker()

// Of a property that states no number. fast-check draws a hundred.
configureGlobal({ numRuns: drawn(100) })

// Registered first, so it runs after the hooks of the test file.
// biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of fixtures in it.
afterAll(async ({}, { file }) => {
  await closeOpened()
  file.meta.processorSeconds = secondsOfWorker() - before
})

afterEach(({ task }) => {
  if (task.result?.state === 'fail') printAccounts()
})
