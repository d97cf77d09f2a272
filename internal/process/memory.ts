import { totalmem } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * A share of the memory that this process may use: of the machine, or of the container if that has less.
 *
 * @param share 0 to 1
 * @returns bytes
 */
export function memoryShareBytes(share: number): number {
  const limit = process.constrainedMemory()
  return Math.floor(share * (limit > 0 ? Math.min(limit, totalmem()) : totalmem()))
}

/** Below this share of a processor a process is idle. */
const IDLE_SHARE = 0.05
const LOOK_EVERY_MS = 10_000

/**
 * Gives memory back whenever this process has become idle, after its start and after a load. V8 collects only as more is
 * allocated: a gateway at rest held 50 MB of what its start had left, as long as it ran. A collection of an idle process
 * also takes the young generation back to its least size, that of a busy one does not (measured).
 */
export function collectWhenIdle(): void {
  let before = { at: performance.now(), used: process.cpuUsage() }
  // Not the share of the event loop: on a crowded machine that counts the waits for a processor, too.
  const busyShare = (): number => {
    const { user, system } = process.cpuUsage(before.used)
    const passedMs = performance.now() - before.at
    before = { at: performance.now(), used: process.cpuUsage() }
    return (user + system) / 1_000 / passedMs
  }
  setInterval(idleCollector(busyShare, collectGarbage), LOOK_EVERY_MS).unref()
}

/** @param busyShare since the last call, 0 to 1 @returns to be called now and then */
export function idleCollector(busyShare: () => number, collect: () => void): () => void {
  let isCollected = false
  return () => {
    const isIdle = busyShare() < IDLE_SHARE
    if (isIdle && !isCollected) collect()
    isCollected = isIdle
  }
}

/** Collects all garbage at once, in some tens of milliseconds. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  setFlagsFromString('--no-expose-gc')
}
