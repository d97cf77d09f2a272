import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Processes } from './processes.js'

/**
 * Gives a measurement a folder of its own and processes that end with it, however it ends.
 *
 * @param signal when it is aborted, everything that was started is stopped
 */
export async function privateRun(
  checkout: string,
  name: string,
  signal: AbortSignal,
  measure: (folder: string, processes: Processes) => Promise<void>,
): Promise<void> {
  const temporary = join(checkout, 'bench', 'results', 'tmp')
  mkdirSync(temporary, { recursive: true })
  const folder = mkdtempSync(join(temporary, `${name}-`))
  const processes = new Processes(folder)
  try {
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
    await Promise.race([measure(folder, processes), processes.failure, aborted])
  } finally {
    await processes.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
