/** Lines of one kind that are logged before they count as repeated, */
const SHOWN = 3
/** and then one in this time. */
const EVERY_MS = 60_000
/** Kinds that are known; beyond them the oldest are forgotten, which only makes lines more. */
const KINDS_MAX = 1_000

interface Kind {
  windowFromMs: number
  shown: number
  left: number
}

/**
 * Thins out what fails again and again: an outage of an hour, in which twenty loops try again twice a second, is some
 * hundred lines, not a hundred thousand.
 */
export class RepeatedLines {
  private readonly clock: () => number
  private readonly kinds = new Map<string, Kind>()

  /** @param clock milliseconds, monotonic */
  constructor(clock: () => number) {
    this.clock = clock
  }

  /** @returns lines of the kind left out since the last logged one; undefined: leave out this one, too */
  leftOut(kind: string): number | undefined {
    const nowMs = this.clock()
    const known = this.kinds.get(kind)
    if (known === undefined) {
      if (this.kinds.size >= KINDS_MAX) this.kinds.delete(this.kinds.keys().next().value as string)
      this.kinds.set(kind, { windowFromMs: nowMs, shown: 1, left: 0 })
      return 0
    }
    const isNewWindow = nowMs - known.windowFromMs >= EVERY_MS
    if (!isNewWindow && known.shown >= SHOWN) {
      known.left++
      return undefined
    }
    const { left } = known
    // One per window while it goes on; as at first after a window without any.
    if (isNewWindow) Object.assign(known, { windowFromMs: nowMs, shown: left === 0 ? 0 : SHOWN - 1 })
    known.shown++
    known.left = 0
    return left
  }
}
