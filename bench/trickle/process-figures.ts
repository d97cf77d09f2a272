import { readdirSync, readFileSync } from 'node:fs'
import { parentOf, processSeconds } from '../cpu-time.js'

/** Figures of a started product's processes, summed by role. */
export type ByRole = Readonly<Record<string, number>>

/** Processor time in seconds since the start. @param upPid of the process that has started the others */
export const secondsOf = (upPid: number): ByRole => byRole(upPid, (pid) => processSeconds(pid) ?? 0)

/** Resident memory in MB; the pages of a file, such as Node's own, count in each process that has mapped them. */
export const residentOf = (upPid: number): ByRole => memoryOf(upPid, 'Rss')

/** Resident memory in MB; a page that several processes have mapped counts for each as its share of it. */
export const proportionalOf = (upPid: number): ByRole => memoryOf(upPid, 'Pss')

const memoryOf = (upPid: number, figure: 'Rss' | 'Pss'): ByRole =>
  byRole(upPid, (pid) => Math.round(numberOf(read(`/proc/${pid}/smaps_rollup`), figure) / 1024))

/** The most resident memory since the start, in MB. */
export const peakOf = (upPid: number): ByRole =>
  byRole(upPid, (pid) => Math.round(numberOf(read(`/proc/${pid}/status`), 'VmHWM') / 1024))

/** How often the threads have waited for something since their start: each time something woke them again. */
export const wakeUpsOf = (upPid: number): ByRole =>
  byRole(upPid, (pid) =>
    threadsOf(pid)
      .map((thread) => numberOf(read(`/proc/${pid}/task/${thread}/status`), 'voluntary_ctxt_switches'))
      .reduce((sum, count) => sum + count, 0),
  )

/** What was added per second. */
export const perSecond = (before: ByRole, after: ByRole, seconds: number): ByRole =>
  Object.fromEntries(Object.entries(after).map(([role, figure]) => [role, (figure - (before[role] ?? 0)) / seconds]))

export const sumOf = (figures: ByRole): number => Object.values(figures).reduce((sum, value) => sum + value, 0)

/** The processes of some roles. */
export const pidsOf = (upPid: number, roles: readonly string[]): readonly number[] =>
  descendantsOf(upPid).filter((pid) => roles.includes(roleOf(pid)))

function byRole(upPid: number, figure: (pid: number) => number): ByRole {
  const found: Record<string, number> = {}
  for (const pid of [upPid, ...descendantsOf(upPid)]) {
    const role = roleOf(pid)
    found[role] = (found[role] ?? 0) + figure(pid)
  }
  return found
}

/** Children, and theirs: the broker is started by a shell that limits it. */
function descendantsOf(parent: number): readonly number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name): [pid: number, parent: number] => [Number(name), parentOf(Number(name))])
  const below = (pid: number): number[] =>
    parents.filter(([, of]) => of === pid).flatMap(([child]) => [child, ...below(child)])
  return below(parent)
}

function roleOf(pid: number): string {
  const words = read(`/proc/${pid}/cmdline`).split('\0')
  const main = words.map((word) => /cmd\/(\w+)\/main\.js$/.exec(word)?.[1]).find((name) => name !== undefined)
  return main ?? (words[0]?.split('/').at(-1) || 'other')
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    // It ended meanwhile.
    return []
  }
}

const numberOf = (status: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)

/** Empty when the process or thread has ended. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
