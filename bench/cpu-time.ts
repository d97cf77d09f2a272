import { readFileSync } from 'node:fs'

/** Processor time in seconds since a process or the machine started. Undefined where there is no /proc. */

/** Ticks a second in /proc: 100 on every Linux that Node runs on. */
const TICKS = 100

/** Of one process, all its threads. */
export function processSeconds(pid: number): number | undefined {
  const fields = statOf(pid)
  return fields && (Number(fields[11]) + Number(fields[12])) / TICKS
}

/** Of the children of a process that have ended. @param pid default: this process */
export function endedChildrenSeconds(pid = process.pid): number | undefined {
  const fields = statOf(pid)
  return fields && (Number(fields[13]) + Number(fields[14])) / TICKS
}

/** Of all processes of the machine together: time in programs and in the kernel for them, without interrupts. */
export function machineSeconds(): number | undefined {
  const fields = read('/proc/stat')?.split('\n')[0]?.trim().split(/\s+/)
  return fields && (Number(fields[1]) + Number(fields[2]) + Number(fields[3])) / TICKS
}

export const parentOf = (pid: number): number => Number(statOf(pid)?.[1])

/** The fields after the program's name, which may hold blanks itself. */
function statOf(pid: number): readonly string[] | undefined {
  return read(`/proc/${pid}/stat`)
    ?.replace(/^.*\) /s, '')
    .split(' ')
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
