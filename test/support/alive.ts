import { existsSync, readFileSync } from 'node:fs'

/** Whether a process with this id runs. A zombie, which has ended and waits for its parent, does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !existsSync('/proc/self/stat') || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
