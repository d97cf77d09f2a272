/** What a cached verdict must say about itself. */
interface Dependent {
  /** Ids of the records that the verdict depends on. */
  readonly dependsOn: readonly string[]
}

/** Of each kind of credential. Only verdicts on known credentials are cached, so that invented ones use no memory. */
const VERDICTS_MAX = 10_000

/**
 * A cache of verdicts, with an index by the ids that they depend on. A Map that is emptied when it is full, and not
 * lru-cache: every ingest request reads it, and lru-cache makes authentication with 16 to 1,000 keys in use about a
 * quarter slower.
 */
export class Verdicts<V extends Dependent> {
  private readonly byKey = new Map<string, V>()
  private readonly keysOf = new Map<string, Set<string>>()
  /** The last key that was looked up. Gateways and proxies repeat theirs, and to compare costs a fifth of hashing. */
  private lastKey = ''
  private last: V | undefined

  get(key: string): V | undefined {
    if (this.last !== undefined && key === this.lastKey) return this.last
    this.last = this.byKey.get(key)
    this.lastKey = key
    return this.last
  }

  set(key: string, verdict: V): void {
    this.last = undefined
    if (this.byKey.size >= VERDICTS_MAX && !this.byKey.has(key)) {
      this.byKey.clear()
      this.keysOf.clear()
    }
    this.byKey.set(key, verdict)
    for (const id of verdict.dependsOn) {
      const keys = this.keysOf.get(id) ?? new Set()
      this.keysOf.set(id, keys.add(key))
    }
  }

  /** Drops the verdicts that depend on an id. */
  forget(id: string): void {
    this.last = undefined
    for (const key of this.keysOf.get(id) ?? []) {
      for (const other of this.byKey.get(key)?.dependsOn ?? []) this.unlink(other, key)
      this.byKey.delete(key)
    }
    this.keysOf.delete(id)
  }

  private unlink(id: string, key: string): void {
    const keys = this.keysOf.get(id)
    keys?.delete(key)
    if (keys?.size === 0) this.keysOf.delete(id)
  }
}
