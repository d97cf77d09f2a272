/**
 * Returns the same object for equal values, so that frequent values are in memory only once. Only a few thousand values are
 * remembered at a time; a rare value may exist in several copies.
 *
 * @typeParam V immutable and JSON-serializable
 */
export class SharedValues<V> {
  private readonly values = new Map<string, V>()

  of(value: V): V {
    const text = JSON.stringify(value)
    const known = this.values.get(text)
    if (known !== undefined) return known
    if (this.values.size >= VALUES_MAX) this.values.clear()
    this.values.set(text, value)
    return value
  }
}

const VALUES_MAX = 4_096
