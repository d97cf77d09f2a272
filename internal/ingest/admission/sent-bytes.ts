/** Sums are rounded: of tenants that have sent equally much, none is above the usual. */
const ROUNDING = 1 + 1e-9
const HALF_LIFE_MS = 20_000
const LOOK_EVERY_MS = 200
/** What decays below it is forgotten: one event of a kilobyte after some three minutes. */
const BYTES_MIN = 1

/**
 * How much each tenant has sent lately, and who has sent more than the usual: what the tenant of a byte has sent, on
 * average over all bytes. Tenants that have sent next to nothing do not lower it, and one that has sent most of all is
 * always above it. One that is alone is not, nor are those that have sent equally much.
 */
export class SentBytes {
  private readonly clock: () => number
  /** By tenant; they decay with `HALF_LIFE_MS`. */
  private readonly sent = new Map<string, number>()
  /** As of the last look. */
  private above: ReadonlySet<string> = new Set()
  private usual = 0
  private lookedAtMs: number

  /** @param clock milliseconds */
  constructor(clock: () => number) {
    this.clock = clock
    this.lookedAtMs = clock()
  }

  count(tenantId: string, bytes: number): void {
    this.look()
    this.sent.set(tenantId, (this.sent.get(tenantId) ?? 0) + bytes)
  }

  /** The tenants that have sent more than the usual. */
  aboveUsual(): ReadonlySet<string> {
    this.look()
    return this.above
  }

  /**
   * The tenants that have sent the usual or more: one that is alone is among them, and so are all that have sent
   * equally much.
   */
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
    this.above = new Set([...this.sent].flatMap(([tenantId, bytes]) => (bytes > usual ? [tenantId] : [])))
  }
}
