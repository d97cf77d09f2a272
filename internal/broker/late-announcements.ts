/** What a process's heartbeats say of messages that it had kept on its disk and the log holds now. */
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
