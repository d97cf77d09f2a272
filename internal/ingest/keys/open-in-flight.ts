import { InFlight } from './in-flight.js'

/**
 * A request whose key has been in flight for this long is answered with a 503, so that no sender waits for more than
 * 3 s, whichever dependency is unavailable: looking the key up in the read model may have taken 0.5 s before.
 */
const OVERDUE_MS = 2_000
const OVERDUE_EVERY_MS = 100
/** A longer time between two looks is one in which the process did not run. */
const BETWEEN_LOOKS_MS_MAX = 2 * OVERDUE_EVERY_MS

/** The table of requests in flight, and its end. */
export function openInFlight<Answer>(): { readonly inFlight: InFlight<Answer>; readonly close: () => void } {
  // Read ten times per second while requests are in flight, not once per request. It counts while the process runs: one
  // that had no processor time has read no answer meanwhile, and no dependency is late.
  let runningMs = 0
  let lookedAtMs = 0
  let overdue: NodeJS.Timeout | undefined
  const look = (): void => {
    const nowMs = performance.now()
    runningMs += Math.min(nowMs - lookedAtMs, BETWEEN_LOOKS_MS_MAX)
    lookedAtMs = nowMs
    inFlight.notifyOverdue(OVERDUE_MS)
    if (inFlight.keys === 0) stop()
  }
  const stop = (): void => {
    clearInterval(overdue)
    overdue = undefined
  }
  const clock = (): number => {
    if (overdue === undefined) {
      lookedAtMs = performance.now()
      overdue = setInterval(() => setImmediate(look), OVERDUE_EVERY_MS)
    }
    return runningMs
  }
  const inFlight = new InFlight<Answer>({ keysMax: 65_536, waitingMax: 2_000, clock })
  return { inFlight, close: stop }
}
