/**
 * Gateways see a change of their members up to a second apart, when one has died, and events that were claimed before
 * it are under way. Until both are over, two gateways may find one event new, so that none of them may call it sure.
 */
const UNSETTLED_MS = 5_000

/**
 * Whether the owners of events have changed lately, as this gateway sees them. While an owner does not answer, it may
 * not hear of this gateway's events either, nor this gateway of its: brokers that cannot reach each other pass on no
 * claims, and both gateways still write to the log.
 */
export class OwnerChanges {
  private readonly clock: () => number
  private isCurrent = (): boolean => false
  private settledAtMs = Number.NEGATIVE_INFINITY
  private isAnySilent = false

  /** @param clock milliseconds, monotonic */
  constructor(clock: () => number) {
    this.clock = clock
  }

  /**
   * Follows the members, which this gateway has joined.
   *
   * While their bucket has no leader, no heartbeat is stored, and each gateway would count the others as dead and
   * itself as the only owner. So it is sure of nothing while its view of the members is not current, nor shortly after.
   */
  follow(members: { isCurrent(): boolean; onCurrentAgain(listener: () => void): void }): void {
    this.isCurrent = () => members.isCurrent()
    members.onCurrentAgain(() => this.noteChange())
  }

  noteChange(): void {
    this.settledAtMs = this.clock() + UNSETTLED_MS
  }

  /** @param isAny whether some owner does not answer now */
  noteSilence(isAny: boolean): void {
    this.isAnySilent = isAny
    this.noteChange()
  }

  get areSettled(): boolean {
    return !this.isAnySilent && this.clock() >= this.settledAtMs && this.isViewCurrent
  }

  /** Whether this gateway sees the members as they are: the broker has answered in the last seconds. */
  get isViewCurrent(): boolean {
    return this.isCurrent()
  }
}
