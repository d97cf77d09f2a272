import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { SentBytes } from './sent-bytes.js'

/** Of the capacity for new work: finished work is purged from four fifths on, so that the rest is unprocessed. */
const REFUSED_FROM = 5 / 6
/** From this fill on the bytes of tenants are counted: before, it would cost each event something for nothing. */
const COUNTED_FROM = 1 / 2

/** Long enough for a sender to become slower; far shorter than its own patience. */
const RETRY_AFTER_S = 5
const MORE_THAN_USUAL = problem(
  'RATE_LIMITED',
  'The log fills up, and most of it is what you sent: it arrives faster than it is processed. Send it later.',
  { retryAfterSeconds: RETRY_AFTER_S },
)

/**
 * Refuses tenants that send more than is worked off before they fill the log for all: from `REFUSED_FROM` on, those
 * that have sent more than the usual; from 1 on, the log refuses all.
 */
export class TenantShares {
  private readonly fill: () => number
  private readonly onRefused: (tenantId: string) => void
  private readonly sent: SentBytes

  /**
   * @param fill of the log, as a share of its capacity for new work
   * @param clock milliseconds
   * @param onRefused called at each refusal
   */
  constructor(fill: () => number, clock: () => number, onRefused: (tenantId: string) => void) {
    this.fill = fill
    this.onRefused = onRefused
    this.sent = new SentBytes(clock)
  }

  /** Counts what goes to the log. */
  count(tenantId: string, bytes: number): void {
    if (this.fill() >= COUNTED_FROM) this.sent.count(tenantId, bytes)
  }

  /** @returns the 429 for a tenant that may send nothing new now */
  refusal(tenantId: string): Problem | undefined {
    if (this.fill() < REFUSED_FROM || !this.sent.aboveUsual().has(tenantId)) return undefined
    this.onRefused(tenantId)
    return MORE_THAN_USUAL
  }

  /**
   * The tenants that have sent the usual or more: one that is alone is among them, and so are all that have sent
   * equally much.
   */
  largest(): readonly string[] {
    return this.sent.largest()
  }
}
