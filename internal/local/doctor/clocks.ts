import { type Finding, graded } from './finding.js'

/** Seconds. Instants of different processes are compared, which tolerates about a second. */
const SKEW = { warningFrom: 1, failureFrom: 5 }

/** Compares another machine's clock with this one's. @param ask returns its time, milliseconds since the epoch */
export async function checkClock(of: string, ask: () => Promise<number>): Promise<Finding> {
  const before = Date.now()
  const theirs = await ask()
  const after = Date.now()
  // It was read at some instant between the two.
  const aheadMs = theirs > after ? theirs - after : theirs < before ? theirs - before : 0
  const seconds = Math.abs(aheadMs) / 1_000
  const seen =
    seconds < 0.05
      ? 'agrees with this machine'
      : `is ${seconds.toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine`
  return graded(`clock of the ${of}`, seconds, SKEW, seen, 'let NTP set the clocks of all machines')
}
