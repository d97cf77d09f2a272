/** Less than the time after which a member counts as dead, so that it ends here before any other one can count so. */
const CURRENT_MS = 2_500
/** One that comes back later proves nothing any more. */
const KEPT = 10

/**
 * Whether a process is surely a member, and sees the members as they are: one of its own heartbeats has come back
 * through the bucket that was sent so lately that no other member can count it as dead. Heartbeats come back in the
 * order of the bucket, so everything that was stored before has been seen. Of two processes that are current, at least
 * the one whose heartbeat was stored later sees the other; and once both have been for longer than `CURRENT_MS`, both
 * do.
 */
export class OwnHeartbeats {
  private readonly clock: () => number
  private readonly sentAtMs = new Map<number, number>()
  private readonly listeners: ((lapsedMs: number) => void)[] = []
  private sent = 0
  private provenAtMs = Number.NEGATIVE_INFINITY

  /** @param clock milliseconds, monotonic */
  constructor(clock: () => number) {
    this.clock = clock
  }

  get areCurrent(): boolean {
    return this.clock() - this.provenAtMs <= CURRENT_MS
  }

  /**
   * Calls back when `areCurrent` is true again that was false. @param listener gets how long nothing was proven; at
   * first, 0
   */
  onCurrentAgain(listener: (lapsedMs: number) => void): void {
    this.listeners.push(listener)
  }

  /** @returns the number of the heartbeat that is sent now */
  next(): number {
    const beat = this.sent++
    this.sentAtMs.set(beat, this.clock())
    this.sentAtMs.delete(beat - KEPT)
    return beat
  }

  /** A heartbeat of this process was read from the bucket. */
  cameBack(beat: number | undefined): void {
    const sentAtMs = beat === undefined ? undefined : this.sentAtMs.get(beat)
    if (sentAtMs === undefined) return
    const wereCurrent = this.areCurrent
    const lapsedMs = Number.isFinite(this.provenAtMs) ? this.clock() - this.provenAtMs : 0
    this.provenAtMs = Math.max(this.provenAtMs, sentAtMs)
    if (!wereCurrent && this.areCurrent) for (const listener of this.listeners) listener(lapsedMs)
  }
}

/** What a process's heartbeats state about messages that were kept on its disk and are in the log now. */
export interface Late {
  /** Of announcements so far. */
  readonly count: number
  /** The longest wait of those that no stored heartbeat had stated before. */
  readonly waitedMs: number
}

/** The announcements of this process. Each heartbeat repeats them, so none is lost with a connection. */
export class LateAnnouncements {
  private late: Late | undefined
  private isStored = true

  /** Of the next heartbeat; undefined before the first announcement. */
  get stated(): Late | undefined {
    return this.late
  }

  announce(waitedMs: number): void {
    const { count = 0, waitedMs: unsaidMs = 0 } = this.late ?? {}
    this.late = { count: count + 1, waitedMs: Math.max(waitedMs, this.isStored ? 0 : unsaidMs) }
    this.isStored = false
  }

  /** The members' bucket holds a heartbeat with this. */
  stored(stated: Late | undefined): void {
    if (stated === this.late) this.isStored = true
  }
}
