/** What a test file has opened, closed when the file is over. */
import { afterAll } from 'vitest'

const endings: (() => unknown)[] = []

/**
 * Calls `end` when the test file is over, after the file's own hooks, what was opened last first: so a process has ended
 * before its folder goes. To be called at any time; of vitest's hooks those never run that a hook or a test registers.
 */
export const atEnd = (end: () => unknown): void => void endings.push(end)

afterAll(async () => {
  const failures: unknown[] = []
  for (const end of endings.toReversed()) {
    try {
      await end()
    } catch (cause) {
      failures.push(cause)
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'what the test file opened could not be closed')
})
