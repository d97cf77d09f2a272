import { type Problem, problem } from '../../problems/catalogue.js'

/**
 * What each tenant has sent lately, so that one which sends more than is worked off does not fill the log for all. From
 * `REFUSED_FROM` on, tenants with more than their share are refused; from 1 on, the log refuses all.
 */

/** Of the capacity for new work: finished work is purged from four fifths on, so that the rest is unprocessed. */
const REFUSED_FROM = 5 / 6
/** From this fill on the bytes of tenants are counted: before, it would cost each event something for nothing. */
const COUNTED_FROM = 1 / 2
/** How many times the mean of all tenants one may have sent when the first are refused; 1 when the log is full. */
const SHARES_MAX = 1.5
/** Sums are rounded: tenants that have sent equally much are not refused all. */
const SHARES_MIN = 1.001
const HALF_LIFE_MS = 20_000
const LOOK_EVERY_MS = 200
/** What is less no longer counts as a tenant that sends. */
const BYTES_MIN = 1_000

/** Long enough for a sender to become slower; far shorter than its own patience. */
const RETRY_AFTER_S = 5
const MORE_THAN_ITS_SHARE = problem(
  'RATE_LIMITED',
  'The log fills up, and most of it is what you sent: it arrives faster than it is processed. Send it later.',
  { retryAfterSeconds: RETRY_AFTER_S },
)

export class TenantShares {
  private readonly fill: () => number
  private readonly clock: () => number
  /** Bytes by tenant, which decay with `HALF_LIFE_MS`. */
  private readonly sent = new Map<string, number>()
  /** Tenants that had sent more than their share at the last look. */
  private refused: ReadonlySet<string> = new Set()
  private lookedAtMs: number

  /**
   * @param fill of the log, as a share of its capacity for new work
   * @param clock milliseconds
   */
  constructor(fill: () => number, clock: () => number) {
    this.fill = fill
    this.clock = clock
    this.lookedAtMs = clock()
  }

  /** Counts what goes to the log. */
  count(tenantId: string, bytes: number): void {
    if (this.fill() >= COUNTED_FROM) this.sent.set(tenantId, (this.sent.get(tenantId) ?? 0) + bytes)
  }

  /** @returns the 429 for a tenant that may send nothing new now */
  refusal(tenantId: string): Problem | undefined {
    const fill = this.fill()
    if (fill < REFUSED_FROM) return undefined
    this.look(fill)
    return this.refused.has(tenantId) ? MORE_THAN_ITS_SHARE : undefined
  }

  private look(fill: number): void {
    const nowMs = this.clock()
    const sinceMs = nowMs - this.lookedAtMs
    if (sinceMs < LOOK_EVERY_MS) return
    this.lookedAtMs = nowMs
    const kept = 0.5 ** (sinceMs / HALF_LIFE_MS)
    let sum = 0
    for (const [tenantId, bytes] of this.sent) {
      if (bytes * kept < BYTES_MIN) this.sent.delete(tenantId)
      else {
        this.sent.set(tenantId, bytes * kept)
        sum += bytes * kept
      }
    }
    const towardsFull = Math.min(1, (fill - REFUSED_FROM) / (1 - REFUSED_FROM))
    const most = (sum / this.sent.size) * (SHARES_MAX - (SHARES_MAX - SHARES_MIN) * towardsFull)
    // One alone holds up nobody else.
    const all = this.sent.size > 1 ? [...this.sent] : []
    this.refused = new Set(all.flatMap(([tenantId, bytes]) => (bytes > most ? [tenantId] : [])))
  }
}
