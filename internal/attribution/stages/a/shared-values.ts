/**
 * Equal values as one object, so that what is kept many times takes its room once. It remembers a few thousand of them;
 * of what is rarer, more than one copy is kept.
 *
 * @typeParam V immutable, and what JSON can say of it
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
