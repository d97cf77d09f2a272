import { existsSync, readFileSync } from 'node:fs'
import { natsAnswers, natsPidFile } from './nats-server.js'
import { answersNow } from './readiness.js'
import type { Addresses } from './role-addresses.js'
import { type InstanceFiles, readRunFile } from './supervised-instance.js'

const LOOK_EVERY_MS = 5_000
/** So that a short load, or the election of a leader, is not reported. */
const MISSES = 3

interface Watched {
  readonly name: string
  readonly answers: () => Promise<boolean>
  /** The process to kill, if it is known. */
  readonly pid: () => number | undefined
}

/**
 * Prints on the terminal when the private broker or read model does not answer any more, and when it does again. It is
 * not killed: a process that is stopped by a person or swapped out may go on, and one that has ended is started again
 * by the supervisor. Call it when both have become ready.
 *
 * @param everyMs between two looks; three without an answer are reported
 */
export function watchDependencies(
  files: InstanceFiles,
  { nats, store }: Pick<Addresses, 'nats' | 'store'>,
  print: (line: string) => void,
  everyMs = LOOK_EVERY_MS,
): { stop(): void } {
  const watched: Watched[] = []
  const { ownPort } = nats
  if (ownPort !== undefined) {
    const pid = () => numberIn(natsPidFile(files))
    watched.push({ name: 'nats-server', answers: () => natsAnswers(ownPort, everyMs), pid })
  }
  if (store.ownPort !== undefined) {
    watched.push({ name: 'store', answers: () => answersNow(`${store.url}/ping`), pid: () => pidOf(files, 'store') })
  }
  const timers = watched.map((each) => watch(each, print, everyMs))
  return { stop: () => timers.forEach(clearInterval) }
}

function watch({ name, answers, pid }: Watched, print: (line: string) => void, everyMs: number): NodeJS.Timeout {
  let misses = 0
  let isLooking = false
  const look = async (): Promise<void> => {
    isLooking = true
    const isThere = await answers()
    isLooking = false
    if (isThere && misses >= MISSES) print(`${name} answers again`)
    misses = isThere ? 0 : misses + 1
    if (misses === MISSES) print(hungLine(name, pid()))
  }
  const timer = setInterval(() => {
    if (!isLooking) void look()
  }, everyMs)
  timer.unref()
  return timer
}

const hungLine = (name: string, pid: number | undefined): string =>
  `${name} does not answer: events are kept on this disk, reports have to wait. If it stays so, \`kill -9 ` +
  `${pid ?? '<its process id>'}\`: it is started again, and loses nothing`

const pidOf = (files: InstanceFiles, role: string): number | undefined =>
  existsSync(files.run) ? readRunFile(files.run).roles[role] : undefined

const numberIn = (file: string): number | undefined =>
  existsSync(file) ? Number(readFileSync(file, 'utf8')) || undefined : undefined
