/** Set-up file of every project: vitest runs it before each test file, also in a worker that many files share. */
import { afterAll, afterEach } from 'vitest'
import { closeOpened, printAccounts } from './at-end.js'

// Registered first, so it runs after the hooks of the test file.
afterAll(closeOpened)

afterEach(({ task }) => {
  if (task.result?.state === 'fail') printAccounts()
})
