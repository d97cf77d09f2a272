import { setTimeout as sleep } from 'node:timers/promises'

/** Wait after a broker error, before the next try. */
export const RETRY_MS = 300
/** An owner with deliveries writes its checkpoint at least this often, to confirm its ownership. */
export const CONFIRM_EVERY_MS = 1_000
/** One without deliveries; it confirms its ownership before it starts the next attempt. */
export const CONFIRM_IDLE_EVERY_MS = 30_000

/** Sleeps, and returns early when `signal` aborts. */
export const sleepUntilAborted = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined)
