/**
 * Deadlines of answers. Timers run before sockets are read: in a process that had no processor time for a while, what
 * arrived in time would count as late.
 */

/** Calls back after `ms`, once what has arrived by then is read. */
export const whenOverdue = (ms: number, call: () => void): NodeJS.Timeout => setTimeout(() => setImmediate(call), ms)

/** @throws the error of the work itself, or `late` when it takes longer */
export function within<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = whenOverdue(ms, () => reject(late()))
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
