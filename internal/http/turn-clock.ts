/**
 * The time, read once an event-loop turn: many requests are worked off in one, and each asks several times. It lags by no
 * more than the turn takes.
 *
 * @returns milliseconds since the epoch
 */
export function turnNow(): number {
  if (nowMs === 0) {
    nowMs = Date.now()
    setImmediate(endTurn)
  }
  return nowMs
}

let nowMs = 0
const endTurn = (): void => {
  nowMs = 0
}
