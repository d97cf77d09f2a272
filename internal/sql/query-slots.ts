/** Whose query it is. */
export interface Asker {
  readonly tenantId: string
  readonly user: string
}

/** At a time, of one user and of one tenant; further ones are refused. */
const RUNNING_PER_USER = 2
const WAITING_PER_USER = 8
const WAITING_PER_TENANT = 64
const WAIT_MS_MAX = 10_000

interface Waiter {
  readonly asker: Asker
  readonly start: () => void
}

/**
 * Shares the slots of queries among tenants and users: a tenant takes a further slot only while more slots are free than
 * it has. So however many queries it sends, another finds a slot free: with 8 slots the first tenant has at most 4, the
 * second 2, the third and the fourth 1 each.
 *
 * Of those that wait and may run, the first is of the tenant, then the user, that has the fewest running.
 */
export class QuerySlots {
  private readonly slots: number
  private readonly running: Asker[] = []
  private readonly waiting = new Set<Waiter>()

  constructor(slots: number) {
    this.slots = slots
  }

  /**
   * @returns undefined when too many wait already, or it waited for too long
   * @throws what the task throws; the signal's reason when it aborts before the task runs
   */
  async tryRun<T>(
    asker: Asker,
    task: () => Promise<T>,
    signal: AbortSignal,
    waitMsMax = WAIT_MS_MAX,
  ): Promise<{ readonly value: T } | undefined> {
    if (this.mayRun(asker)) this.running.push(asker)
    else if (this.isCrowded(asker) || !(await this.slotInTime(asker, signal, waitMsMax))) return undefined
    try {
      return { value: await task() }
    } finally {
      this.running.splice(this.running.indexOf(asker), 1)
      this.startNext()
    }
  }

  private mayRun(asker: Asker): boolean {
    const free = this.slots - this.running.length
    return free > this.runningOf(sameTenant(asker)) && this.runningOf(sameUser(asker)) < RUNNING_PER_USER
  }

  private runningOf(isOurs: (asker: Asker) => boolean): number {
    return this.running.filter(isOurs).length
  }

  private isCrowded(asker: Asker): boolean {
    const waiting = [...this.waiting].map((waiter) => waiter.asker)
    const ofUser = waiting.filter(sameUser(asker)).length
    return ofUser >= WAITING_PER_USER || waiting.filter(sameTenant(asker)).length >= WAITING_PER_TENANT
  }

  private startNext(): void {
    for (let next = this.next(); next !== undefined; next = this.next()) {
      this.waiting.delete(next)
      this.running.push(next.asker)
      next.start()
    }
  }

  private next(): Waiter | undefined {
    const load = ({ asker }: Waiter): number =>
      this.runningOf(sameTenant(asker)) * this.slots + this.runningOf(sameUser(asker))
    let first: Waiter | undefined
    for (const waiter of this.waiting) {
      if (this.mayRun(waiter.asker) && (first === undefined || load(waiter) < load(first))) first = waiter
    }
    return first
  }

  /** @returns whether a slot was handed over in time: it is then counted as running */
  private slotInTime(asker: Asker, signal: AbortSignal, waitMsMax: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
        this.waiting.delete(waiter)
      }
      const waiter: Waiter = {
        asker,
        start: () => {
          settle()
          resolve(true)
        },
      }
      const onAbort = (): void => {
        settle()
        reject(signal.reason as Error)
      }
      const timer = setTimeout(() => {
        settle()
        resolve(false)
      }, waitMsMax)
      signal.addEventListener('abort', onAbort, { once: true })
      this.waiting.add(waiter)
    })
  }
}

const sameTenant =
  ({ tenantId }: Asker) =>
  (other: Asker): boolean =>
    other.tenantId === tenantId

const sameUser =
  ({ user }: Asker) =>
  (other: Asker): boolean =>
    other.user === user
