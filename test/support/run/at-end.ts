/** Closes the resources of a test file when it ends, and says what they did when a test fails. */
const endings: (() => unknown)[] = []

/**
 * Calls `end` when the test file ends, after the file's own hooks. The last opened is closed first: a process has ended
 * before its folder is removed. Unlike a hook of vitest, it may be registered inside a hook or a test.
 */
export const atEnd = (end: () => unknown): void => void endings.push(end)

// The global of a worker by which vitest ends fixtures of the worker.
declare const __vitest_worker__: { onCleanup(end: () => unknown): void }

/** Processes of this worker that end with it, and serve its files one after the other. */
export const workerProcesses: number[] = []

/** Calls `end` when the worker ends, after its last file. */
export const atWorkerEnd = (end: () => unknown): void => __vitest_worker__.onCleanup(end)

const accounts: (() => string)[] = []

/** Of an instance, in an account: enough for a minute of retries by all roles. */
const SHOWN_LINES = 200

/** An account of what an instance has written. */
export const lastLines = (title: string, lines: readonly string[]): string =>
  [`last lines of ${title}:`, ...lines.slice(-SHOWN_LINES)].join('\n')

/** Prints `account()` after each try of a test that failed, until the test file ends. */
export const onFailure = (account: () => string): void => void accounts.push(account)

/** `each-file.ts` calls it after a failed try of a test, a retried one, too. */
export function printAccounts(): void {
  for (const account of accounts) console.log(account())
}

/** Closes everything that the file has opened. `each-file.ts` calls it after every file. */
export async function closeOpened(): Promise<void> {
  accounts.length = 0
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
