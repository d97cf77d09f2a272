import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive } from '../alive.js'
import { sharedProcessesIn } from './at-end.js'

const STOPPING_MS_MAX = 20_000

/** Global set-up: temporary files of the tests and of their processes go into one folder, removed when the run ends. */
export default function runFolder(): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'attribution-tests-'))
  process.env['TMPDIR'] = folder
  return async () => {
    await endSharedProcesses(folder)
    // A process that has just received its signal may still write.
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
}

/** The workers have ended, which closed the stdin of their shared processes: those now stop by themselves. */
async function endSharedProcesses(folder: string): Promise<void> {
  const file = sharedProcessesIn(folder)
  if (!existsSync(file)) return
  const until = Date.now() + STOPPING_MS_MAX
  for (const pid of readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number)) {
    while (isAlive(pid)) {
      if (Date.now() > until) process.kill(pid, 'SIGKILL')
      await sleep(50)
    }
  }
}
