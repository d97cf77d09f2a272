/**
 * Who may ask the read model now: a few queries of each tenant at a time, a few more wait, and what comes on top is
 * refused at once. So one tenant's analysts wait for each other and not the others for them.
 */
export interface Turns {
  /**
   * Runs a query when it is the tenant's turn.
   *
   * @param signal of a caller who may leave while it waits
   * @returns undefined when too many wait already, or it has waited for too long
   * @throws what the query throws; the signal's reason when the caller has left
   */
  take<T>(tenantId: string, signal: AbortSignal, query: () => Promise<T>): Promise<{ readonly value: T } | undefined>
}

export interface TurnsLimits {
  /** Of one tenant at a time. */
  readonly runningMax: number
  readonly waitingMax: number
  readonly waitMsMax: number
}

interface Waiting {
  readonly start: () => void
}

export function createTurns({ runningMax, waitingMax, waitMsMax }: TurnsLimits): Turns {
  const tenants = new Map<string, { running: number; readonly waiting: Set<Waiting> }>()

  return {
    async take(tenantId, signal, query) {
      const queue = tenants.get(tenantId) ?? { running: 0, waiting: new Set() }
      tenants.set(tenantId, queue)
      if (queue.running >= runningMax) {
        if (queue.waiting.size >= waitingMax) return undefined
        if (!(await itsTurn(queue.waiting, waitMsMax, signal))) return undefined
      } else queue.running += 1
      try {
        return { value: await query() }
      } finally {
        const [next] = queue.waiting
        if (next !== undefined) next.start()
        else {
          queue.running -= 1
          if (queue.running === 0) tenants.delete(tenantId)
        }
      }
    },
  }
}

/** Whoever ends hands its turn over, so that nobody comes in between. @returns whether it came in time */
function itsTurn(waiting: Set<Waiting>, waitMsMax: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer)
      waiting.delete(place)
      signal.removeEventListener('abort', aborted)
    }
    const aborted = (): void => {
      leave()
      reject(signal.reason as Error)
    }
    const place: Waiting = {
      start() {
        leave()
        resolve(true)
      },
    }
    const timer = setTimeout(() => {
      leave()
      resolve(false)
    }, waitMsMax)
    signal.addEventListener('abort', aborted, { once: true })
    waiting.add(place)
  })
}
