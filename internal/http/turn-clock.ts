/**
 * The current time, read once per event-loop turn: one turn serves many requests, and each asks several times. It lags
 * by at most the duration of the turn.
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
