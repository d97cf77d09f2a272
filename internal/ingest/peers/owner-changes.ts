/**
 * Gateways see a change of their members up to a second apart, when one has died, and events that were claimed before it are
 * under way. Until both are over, two gateways may find one event new, so that none of them may call it sure.
 */
const UNSETTLED_MS = 5_000

/** Whether the owners of events have changed lately, as this gateway sees them. */
export class OwnerChanges {
  private readonly clock: () => number
  private settledAtMs = Number.NEGATIVE_INFINITY

  /** @param clock milliseconds, monotonic */
  constructor(clock: () => number) {
    this.clock = clock
  }

  noteChange(): void {
    this.settledAtMs = this.clock() + UNSETTLED_MS
  }

  get areSettled(): boolean {
    return this.clock() >= this.settledAtMs
  }
}
