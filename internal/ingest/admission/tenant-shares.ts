import { type Problem, problem } from '../../problems/catalogue.js'

/**
 * What each tenant has sent lately, so that one which sends more than is worked off does not fill the log for all. From
 * `REFUSED_FROM` on, tenants that have sent more than the usual are refused; from 1 on, the log refuses all.
 *
 * The usual is what the tenant of a byte has sent, on average over all bytes: tenants that have sent next to nothing do not
 * lower it, and one that has sent most of all is always above it.
 */

/** Of the capacity for new work: finished work is purged from four fifths on, so that the rest is unprocessed. */
const REFUSED_FROM = 5 / 6
/** From this fill on the bytes of tenants are counted: before, it would cost each event something for nothing. */
const COUNTED_FROM = 1 / 2
/** Sums are rounded: of tenants that have sent equally much, none is above the usual. */
const ROUNDING = 1 + 1e-9
const HALF_LIFE_MS = 20_000
const LOOK_EVERY_MS = 200
/** What decays below it is forgotten: one event of a kilobyte after some three minutes. */
const BYTES_MIN = 1

/** Long enough for a sender to become slower; far shorter than its own patience. */
const RETRY_AFTER_S = 5
const MORE_THAN_USUAL = problem(
  'RATE_LIMITED',
  'The log fills up, and most of it is what you sent: it arrives faster than it is processed. Send it later.',
  { retryAfterSeconds: RETRY_AFTER_S },
)

export class TenantShares {
  private readonly fill: () => number
  private readonly clock: () => number
  private readonly onRefused: (tenantId: string) => void
  /** Bytes by tenant, which decay with `HALF_LIFE_MS`. */
  private readonly sent = new Map<string, number>()
  /** Tenants that had sent more than the usual at the last look. */
  private refused: ReadonlySet<string> = new Set()
  /** Bytes of the usual tenant at the last look. */
  private usual = 0
  private lookedAtMs: number

  /**
   * @param fill of the log, as a share of its capacity for new work
   * @param clock milliseconds
   * @param onRefused called at each refusal
   */
  constructor(fill: () => number, clock: () => number, onRefused: (tenantId: string) => void) {
    this.fill = fill
    this.clock = clock
    this.onRefused = onRefused
    this.lookedAtMs = clock()
  }

  /** Counts what goes to the log. */
  count(tenantId: string, bytes: number): void {
    if (this.fill() < COUNTED_FROM) return
    this.look()
    this.sent.set(tenantId, (this.sent.get(tenantId) ?? 0) + bytes)
  }

  /** @returns the 429 for a tenant that may send nothing new now */
  refusal(tenantId: string): Problem | undefined {
    if (this.fill() < REFUSED_FROM) return undefined
    this.look()
    if (!this.refused.has(tenantId)) return undefined
    this.onRefused(tenantId)
    return MORE_THAN_USUAL
  }

  /** The tenants that have sent the usual or more: one that is alone is among them, and so are all that have sent equally much. */
  largest(): readonly string[] {
    this.look()
    return [...this.sent].flatMap(([tenantId, bytes]) => (bytes * ROUNDING >= this.usual ? [tenantId] : []))
  }

  private look(): void {
    const nowMs = this.clock()
    const sinceMs = nowMs - this.lookedAtMs
    if (sinceMs < LOOK_EVERY_MS) return
    this.lookedAtMs = nowMs
    const kept = 0.5 ** (sinceMs / HALF_LIFE_MS)
    let [sum, squares] = [0, 0]
    for (const [tenantId, before] of this.sent) {
      const bytes = before * kept
      if (bytes < BYTES_MIN) this.sent.delete(tenantId)
      else this.sent.set(tenantId, bytes)
      sum += bytes
      squares += bytes * bytes
    }
    this.usual = squares / sum
    const usual = this.usual * ROUNDING
    this.refused = new Set([...this.sent].flatMap(([tenantId, bytes]) => (bytes > usual ? [tenantId] : [])))
  }
}
