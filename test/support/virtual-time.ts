/**
 * Virtual time for a process of its own: timers fire in the order of their times, and as soon as nothing else is left to do. It
 * replaces the clocks and timers of the process, so that it must be called before the code under test is imported.
 */
import { syncBuiltinESMExports } from 'node:module'
import timersPromises from 'node:timers/promises'

interface Timer {
  readonly atMs: number
  readonly fire: () => void
}

export interface VirtualTime {
  /** Runs timers until the promise is settled. @throws Error when nothing is left to run before */
  until<T>(promise: Promise<T>): Promise<T>
  /** Forgets all timers. */
  clear(): void
}

export function installVirtualTime(startMs: number): VirtualTime {
  let nowMs = startMs
  /** In the order in which they fire. */
  const timers: Timer[] = []
  const add = (fire: () => void, ms: number): Timer => {
    const timer = { atMs: nowMs + Math.max(0, ms || 0), fire }
    let at = timers.length
    while (at > 0 && (timers[at - 1] as Timer).atMs > timer.atMs) at--
    timers.splice(at, 0, timer)
    return timer
  }
  const remove = (timer: unknown): void => {
    const at = timers.indexOf(timer as Timer)
    if (at >= 0) timers.splice(at, 1)
  }
  const sleep = <T>(
    ms?: number,
    value?: T,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<T | undefined> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(new Error('aborted'))
      const abort = (): void => {
        remove(timer)
        reject(new Error('aborted'))
      }
      const timer = add(() => {
        signal?.removeEventListener('abort', abort)
        resolve(value)
      }, ms ?? 0)
      signal?.addEventListener('abort', abort, { once: true })
    })
  const realImmediate = setImmediate
  Date.now = () => Math.floor(nowMs)
  performance.now = () => nowMs - startMs
  Object.assign(globalThis, { setTimeout: (fire: () => void, ms: number) => add(fire, ms), clearTimeout: remove })
  Object.assign(timersPromises, { setTimeout: sleep })
  syncBuiltinESMExports()

  /** All that promises bring about, without a timer, has happened. */
  const quiet = (): Promise<void> => new Promise((resolve) => realImmediate(resolve))
  return {
    async until(promise) {
      let isSettled = false
      const settle = (): void => {
        isSettled = true
      }
      promise.then(settle, settle)
      for (;;) {
        await quiet()
        if (isSettled) return promise
        const next = timers.shift()
        if (next === undefined) throw new Error('nothing is left to run')
        nowMs = Math.max(nowMs, next.atMs)
        next.fire()
      }
    },
    clear: () => void timers.splice(0),
  }
}
