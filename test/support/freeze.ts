import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Stops a process without ending it, and resolves once it stands still. The signal alone is not enough: on a busy
 * machine the process waits for a processor before it notices, and its threads may answer several requests until then.
 */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  while (!isFrozen(pid)) await sleep(1)
}

export const thaw = (pid: number): boolean => process.kill(pid, 'SIGCONT')

function isFrozen(pid: number): boolean {
  const threads = `/proc/${pid}/task`
  if (!existsSync('/proc/self/task'))
    return execFileSync('ps', ['-o', 'state=', '-p', String(pid)]).toString()[0] === 'T'
  return readdirSync(threads).every((thread) => / T /.test(stateOf(`${threads}/${thread}/stat`)))
}

/** It stands behind the name, which is in parentheses. Empty for a thread that has just ended. */
function stateOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').split(')').at(-1)?.slice(0, 3) ?? ''
  } catch {
    return ''
  }
}
