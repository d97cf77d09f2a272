/** Closes the resources of a test file when it ends, and lists the processes that a worker shares between files. */
import { appendFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const endings: (() => unknown)[] = []

/**
 * Calls `end` when the test file ends, after the file's own hooks. The last opened is closed first: a process has ended
 * before its folder is removed. Unlike a hook of vitest, it may be registered inside a hook or a test.
 */
export const atEnd = (end: () => unknown): void => void endings.push(end)

/** Closes everything that the file has opened. `each-file.ts` calls it after every file. */
export async function closeOpened(): Promise<void> {
  const failures: unknown[] = []
  for (const end of endings.splice(0).reverse()) {
    try {
      await end()
    } catch (cause) {
      failures.push(cause)
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'resources that the test file opened could not be closed')
}

/** Process ids, one per line. */
export const sharedProcessesIn = (folder: string): string => join(folder, 'shared-processes')

/** Records a process that outlives its test file. Its stdin closes with the worker; the end of the run waits for it. */
export const endWithRun = (pid: number): void => appendFileSync(sharedProcessesIn(tmpdir()), `${pid}\n`)
