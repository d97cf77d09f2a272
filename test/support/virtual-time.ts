/**
 * Virtual time for a process of its own: timers fire in the order of their times, and as soon as nothing else is left
 * to do. It replaces the clocks and timers of the process, so that it must be called before the code under test is
 * imported.
 *
 * Several simulated processes may share it: what runs in one of them (`runIn`) sets timers of that one, which wait
 * while it stands still and are dropped when it is dead.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'
import timersPromises from 'node:timers/promises'

/** A simulated process, as its timers see it. */
export interface TimerOwner {
  readonly isDead: boolean
  readonly frozenUntilMs: number
}

interface Timer {
  atMs: number
  readonly fire: () => void
  readonly owner: TimerOwner | undefined
  unref(): void
  refresh(): void
}

export interface VirtualTime {
  /** As `Date.now`, with fractions: sums of it keep their order. */
  nowMs(): number
  /** Runs timers until the promise is settled. @throws Error when nothing is left to run before */
  until<T>(promise: Promise<T>): Promise<T>
  /** Runs code of a simulated process. */
  runIn<T>(owner: TimerOwner, run: () => T): T
  /** Forgets all timers, and begins again. */
  clear(): void
}

export function installVirtualTime(startMs: number): VirtualTime {
  let nowMs = startMs
  const owners = new AsyncLocalStorage<TimerOwner>()
  /** In the order in which they fire. */
  const timers: Timer[] = []
  const place = (timer: Timer): Timer => {
    let at = timers.length
    while (at > 0 && (timers[at - 1] as Timer).atMs > timer.atMs) at--
    timers.splice(at, 0, timer)
    return timer
  }
  const timerAt = (atMs: number, fire: () => void, owner = owners.getStore()): Timer => ({
    atMs,
    fire,
    owner,
    unref: () => undefined,
    refresh: () => undefined,
  })
  const add = (fire: () => void, ms: number): Timer => {
    const afterMs = Math.max(0, ms || 0)
    const timer = timerAt(nowMs + afterMs, fire)
    timer.refresh = () => {
      remove(timer)
      timer.atMs = nowMs + afterMs
      place(timer)
    }
    return place(timer)
  }
  /** What `setInterval` returned, with the timer that comes next. */
  const repeated = new Map<Timer, Timer>()
  const addRepeated = (fire: () => void, ms: number): Timer => {
    const repeat = (): void => {
      repeated.set(first, add(repeat, ms))
      fire()
    }
    const first = add(repeat, ms)
    repeated.set(first, first)
    return first
  }
  const remove = (timer: unknown): void => {
    const at = timers.indexOf(repeated.get(timer as Timer) ?? (timer as Timer))
    repeated.delete(timer as Timer)
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
  Object.assign(globalThis, {
    setTimeout: (fire: () => void, ms: number) => add(fire, ms),
    clearTimeout: remove,
    setInterval: addRepeated,
    clearInterval: remove,
  })
  Object.assign(timersPromises, { setTimeout: sleep })
  syncBuiltinESMExports()

  /** All that promises bring about, without a timer, has happened. */
  const quiet = (): Promise<void> => new Promise((resolve) => realImmediate(resolve))
  const fire = ({ fire: run, owner }: Timer): void => {
    if (owner === undefined) owners.exit(run)
    else owners.run(owner, run)
  }
  return {
    nowMs: () => nowMs,
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
        const { owner } = next
        if (owner?.isDead === true) continue
        if (owner !== undefined && owner.frozenUntilMs > nowMs) {
          const later = place(timerAt(owner.frozenUntilMs, next.fire, owner))
          for (const [first, current] of repeated) if (current === next) repeated.set(first, later)
        } else fire(next)
      }
    },
    runIn: (owner, run) => owners.run(owner, run),
    clear: () => {
      timers.splice(0)
      nowMs = startMs
      repeated.clear()
    },
  }
}
