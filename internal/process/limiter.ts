/** How long a task may wait for a slot, and in how much company. */
export interface WaitLimits {
  /** Tasks that wait at a time; a further one is refused. */
  readonly waitingMax: number
  readonly waitMsMax?: number
  /** Aborted when the caller leaves: its task then gives up its turn. */
  readonly signal?: AbortSignal
}

/**
 * Bounds how many tasks run at a time; the others wait in the order of their arrival. A task that ends hands its slot
 * to the first one that waits, so that no later arrival can take it in between.
 */
export class Limiter {
  private readonly runningMax: number
  private runningCount = 0
  private readonly waiters = new Set<() => void>()

  constructor(runningMax: number) {
    this.runningMax = runningMax
  }

  get running(): number {
    return this.runningCount
  }

  get waiting(): number {
    return this.waiters.size
  }

  /** Runs a task, however long it waits for a slot. @throws what the task throws */
  async run<T>(task: () => Promise<T>): Promise<T> {
    if (!this.takeSlot()) await new Promise<void>((resolve) => this.wait(resolve))
    return this.runInSlot(task)
  }

  /**
   * Runs a task unless too many wait already or it waits for too long.
   *
   * @returns undefined when it did not run
   * @throws what the task throws; the signal's reason when the signal aborts before the task runs
   */
  async tryRun<T>(task: () => Promise<T>, limits: WaitLimits): Promise<{ readonly value: T } | undefined> {
    if (!this.takeSlot()) {
      if (this.waiters.size >= limits.waitingMax) return undefined
      if (!(await this.slotInTime(limits))) return undefined
    }
    return { value: await this.runInSlot(task) }
  }

  private takeSlot(): boolean {
    if (this.runningCount >= this.runningMax) return false
    this.runningCount++
    return true
  }

  private async runInSlot<T>(task: () => Promise<T>): Promise<T> {
    try {
      return await task()
    } finally {
      const [next] = this.waiters
      if (next === undefined) this.runningCount--
      else next()
    }
  }

  /** @returns a function that stops waiting */
  private wait(onSlot: () => void): () => void {
    const waiter = (): void => {
      this.waiters.delete(waiter)
      onSlot()
    }
    this.waiters.add(waiter)
    return () => this.waiters.delete(waiter)
  }

  /** @returns whether a slot was handed over in time */
  private slotInTime({ waitMsMax, signal }: WaitLimits): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
      }
      const onAbort = (): void => {
        stopWaiting()
        settle()
        reject(signal?.reason as Error)
      }
      const stopWaiting = this.wait(() => {
        settle()
        resolve(true)
      })
      const onTimeout = (): void => {
        stopWaiting()
        settle()
        resolve(false)
      }
      const timer = waitMsMax === undefined ? undefined : setTimeout(onTimeout, waitMsMax)
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }
}

/** A limiter for each key, a tenant for instance: the tasks of one key never wait for those of another. */
export class LimiterPerKey {
  private readonly runningMax: number
  private readonly limiters = new Map<string, Limiter>()

  constructor(runningMax: number) {
    this.runningMax = runningMax
  }

  /** As `tryRun` of the key's limiter. */
  async tryRun<T>(key: string, task: () => Promise<T>, limits: WaitLimits): Promise<{ readonly value: T } | undefined> {
    const limiter = this.limiters.get(key) ?? new Limiter(this.runningMax)
    this.limiters.set(key, limiter)
    try {
      return await limiter.tryRun(task, limits)
    } finally {
      // Of two tasks that end together, the later one must not drop a limiter that was created in between.
      if (limiter.running === 0 && this.limiters.get(key) === limiter) this.limiters.delete(key)
    }
  }
}
