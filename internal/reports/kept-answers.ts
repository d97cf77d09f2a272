/** Time since the last page was read. */
const KEPT_MS = 5 * 60 * 1000
/** Over all cached answers. */
const ROWS_MAX = 400_000
/** Overhead of an answer, counted in rows, so that many small answers are bounded as well. */
const ANSWER_ROWS = 100

interface Kept<T> {
  readonly answer: T
  readonly tenantId: string
  readonly rows: number
  readonly untilMs: number
}

/**
 * Caches answers with more than one page, so that later pages need not be computed again. When the cache is full, the
 * tenant that uses the most loses its least recently used answer.
 */
export class KeptAnswers<T extends { readonly rows: readonly unknown[] }> {
  private readonly answers = new Map<string, Kept<T>>()
  private readonly rowsOf = new Map<string, number>()
  private rows = 0
  private readonly clock: () => number
  private readonly rowsMax: number

  /** @param rowsMax for tests */
  constructor(clock: () => number, rowsMax = ROWS_MAX) {
    this.clock = clock
    this.rowsMax = rowsMax
  }

  find(id: string): T | undefined {
    const nowMs = this.clock()
    for (const [known, { untilMs }] of this.answers) if (untilMs <= nowMs) this.forget(known)
    const kept = this.answers.get(id)
    if (kept === undefined) return undefined
    this.answers.delete(id)
    this.answers.set(id, { ...kept, untilMs: nowMs + KEPT_MS })
    return kept.answer
  }

  keep(id: string, tenantId: string, answer: T): void {
    this.forget(id)
    const rows = answer.rows.length + ANSWER_ROWS
    this.answers.set(id, { answer, tenantId, rows, untilMs: this.clock() + KEPT_MS })
    this.count(tenantId, rows)
    while (this.rows > this.rowsMax) this.forgetOldestOf(this.largest())
  }

  private largest(): string | undefined {
    let [largest, most]: [string | undefined, number] = [undefined, 0]
    for (const [tenantId, rows] of this.rowsOf) if (rows > most) [largest, most] = [tenantId, rows]
    return largest
  }

  private forgetOldestOf(tenantId: string | undefined): void {
    for (const [id, kept] of this.answers) if (kept.tenantId === tenantId) return this.forget(id)
  }

  private forget(id: string): void {
    const kept = this.answers.get(id)
    if (kept === undefined) return
    this.answers.delete(id)
    this.count(kept.tenantId, -kept.rows)
  }

  private count(tenantId: string, change: number): void {
    this.rows += change
    const now = (this.rowsOf.get(tenantId) ?? 0) + change
    if (now === 0) this.rowsOf.delete(tenantId)
    else this.rowsOf.set(tenantId, now)
  }
}
