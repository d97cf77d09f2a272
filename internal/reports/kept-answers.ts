const KEPT_MAX = 64
const KEPT_MS = 5 * 60 * 1000
/** Of all answers together. */
const ROWS_MAX = 400_000

/**
 * Answers that take more than one page, so that all pages show the same one. A gateway that did not give out the first
 * page works the answer out anew.
 */
export class KeptAnswers<T extends { readonly rows: readonly unknown[] }> {
  private readonly answers = new Map<string, { readonly answer: T; readonly untilMs: number }>()
  private rows = 0
  private readonly clock: () => number

  constructor(clock: () => number) {
    this.clock = clock
  }

  async take(id: string, work: () => Promise<T>): Promise<T> {
    const nowMs = this.clock()
    for (const [known, { untilMs }] of this.answers) if (untilMs <= nowMs) this.forget(known)
    const kept = this.answers.get(id)
    if (kept !== undefined) return kept.answer
    const answer = await work()
    this.forget(id)
    this.answers.set(id, { answer, untilMs: nowMs + KEPT_MS })
    this.rows += answer.rows.length
    for (const oldest of this.answers.keys()) {
      if (this.answers.size <= KEPT_MAX && this.rows <= ROWS_MAX) break
      this.forget(oldest)
    }
    return answer
  }

  private forget(id: string): void {
    this.rows -= this.answers.get(id)?.answer.rows.length ?? 0
    this.answers.delete(id)
  }
}
