import type { Authentication } from './authenticate.js'

/** What the authenticator decided about one credential. */
export interface Verdict {
  /** The whole credential. */
  readonly text: string
  readonly authentication: Authentication
  /** Valid from this instant, until the next one. */
  readonly fromMs: number
  readonly untilMs: number
  /** Ids of the records that the verdict depends on. */
  readonly rests: readonly string[]
}

/** Of each kind of credential. Only verdicts on known credentials are cached, so that invented ones use no memory. */
const VERDICTS_MAX = 10_000

/** A cache of verdicts, with an index by the ids that they depend on. */
export class Verdicts<V extends Verdict> {
  private readonly byText = new Map<string, V>()
  private readonly textsOf = new Map<string, Set<string>>()
  /** The last text that was looked up. Gateways and proxies repeat theirs, and to compare costs a fifth of hashing. */
  private lastText = ''
  private last: V | undefined

  get(text: string): V | undefined {
    if (this.last !== undefined && text === this.lastText) return this.last
    this.last = this.byText.get(text)
    this.lastText = text
    return this.last
  }

  set(text: string, verdict: V): void {
    this.last = undefined
    if (this.byText.size >= VERDICTS_MAX && !this.byText.has(text)) {
      this.byText.clear()
      this.textsOf.clear()
    }
    this.byText.set(text, verdict)
    for (const id of verdict.rests) {
      const texts = this.textsOf.get(id) ?? new Set()
      this.textsOf.set(id, texts.add(text))
    }
  }

  /** Drops the verdicts that depend on an id. */
  forget(id: string): void {
    this.last = undefined
    for (const text of this.textsOf.get(id) ?? []) {
      for (const other of this.byText.get(text)?.rests ?? []) this.unlink(other, text)
      this.byText.delete(text)
    }
    this.textsOf.delete(id)
  }

  private unlink(id: string, text: string): void {
    const texts = this.textsOf.get(id)
    texts?.delete(text)
    if (texts?.size === 0) this.textsOf.delete(id)
  }
}
