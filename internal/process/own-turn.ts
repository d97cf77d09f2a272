const waiting: (() => void)[] = []

/**
 * Between two slices of long work: a turn of the event loop in which no other such work has a slice. Each of a hundred
 * requests may yield after a few milliseconds; in the turn that follows, all of them together would hold up everybody
 * else for a hundred times as long.
 */
export const ownTurn = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(takeTurn)
  })

function takeTurn(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(takeTurn)
}
