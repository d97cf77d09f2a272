const KEPT_MAX = 64
const KEPT_MS = 5 * 60 * 1000

/**
 * Answers that take more than one page, so that all pages show the same one. A gateway that did not give out the first
 * page works the answer out anew.
 */
export class KeptAnswers<T> {
  private readonly answers = new Map<string, { readonly answer: T; readonly untilMs: number }>()
  private readonly clock: () => number

  constructor(clock: () => number) {
    this.clock = clock
  }

  async take(id: string, work: () => Promise<T>): Promise<T> {
    const nowMs = this.clock()
    for (const [known, { untilMs }] of this.answers) if (untilMs <= nowMs) this.answers.delete(known)
    const kept = this.answers.get(id)
    if (kept !== undefined) return kept.answer
    const answer = await work()
    this.answers.set(id, { answer, untilMs: nowMs + KEPT_MS })
    const oldest = this.answers.keys().next().value
    if (this.answers.size > KEPT_MAX && oldest !== undefined) this.answers.delete(oldest)
    return answer
  }
}
