/** Of each kind, and for how long: a page asks its reports within seconds. */
const ANSWERS_MAX = 128
const AGE_MS_MAX = 60_000

/**
 * What several reports of one page need in the same words, as of the same instant: it is read once, and the others wait
 * for it or have it.
 */
export class SharedReads<T> {
  private readonly answers = new Map<string, { readonly answer: Promise<T>; readonly untilMs: number }>()
  private readonly clock: () => number

  constructor(clock: () => number) {
    this.clock = clock
  }

  /** @param key everything that the answer depends on */
  async read(key: string, signal: AbortSignal, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
    for (let known = this.known(key); known !== undefined; known = this.known(key)) {
      try {
        return await known
      } catch {
        // Who asked has left, or met a failure that this caller shall see by itself.
        signal.throwIfAborted()
      }
    }
    const answer = read(signal)
    const entry = { answer, untilMs: this.clock() + AGE_MS_MAX }
    this.answers.delete(key)
    this.answers.set(key, entry)
    for (const oldest of this.answers.keys()) {
      if (this.answers.size <= ANSWERS_MAX) break
      this.answers.delete(oldest)
    }
    try {
      return await answer
    } catch (cause) {
      if (this.answers.get(key) === entry) this.answers.delete(key)
      throw cause
    }
  }

  private known(key: string): Promise<T> | undefined {
    const entry = this.answers.get(key)
    return entry !== undefined && this.clock() < entry.untilMs ? entry.answer : undefined
  }
}
