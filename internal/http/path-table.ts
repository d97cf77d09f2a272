/** Values by paths, of which a segment may be a parameter (`/v1/things/:id`) or the last one `*`. */
export class PathTable<V> {
  private readonly plain = new Map<string, V>()
  private readonly patterns: { readonly segments: readonly string[]; readonly value: V }[] = []
  private others: V | undefined

  /** The value at a path, made when there is none yet. */
  at(path: string, make: () => V): V {
    if (path === '/*') {
      this.others ??= make()
      return this.others
    }
    if (!path.includes(':')) {
      const value = this.plain.get(path) ?? make()
      this.plain.set(path, value)
      return value
    }
    const segments = path.split('/')
    const known = this.patterns.find((pattern) => pattern.segments.join('/') === path)
    if (known !== undefined) return known.value
    const value = make()
    this.patterns.push({ segments, value })
    return value
  }

  /**
   * What `choose` takes first: the path itself, then those with parameters, then `*`.
   *
   * @returns with the first parameter, if there is one
   */
  find<C>(path: string, choose: (value: V) => C | undefined): { value: C; parameter: string } | undefined {
    const plain = this.plain.get(path)
    const ofPlain = plain === undefined ? undefined : choose(plain)
    if (ofPlain !== undefined) return { value: ofPlain, parameter: '' }
    const segments = path.split('/')
    for (const { segments: pattern, value } of this.patterns) {
      const chosen = fits(pattern, segments) ? choose(value) : undefined
      if (chosen !== undefined) {
        return { value: chosen, parameter: segments[pattern.findIndex((each) => each.startsWith(':'))] ?? '' }
      }
    }
    const chosen = this.others === undefined ? undefined : choose(this.others)
    return chosen === undefined ? undefined : { value: chosen, parameter: '' }
  }
}

const fits = (pattern: readonly string[], segments: readonly string[]): boolean =>
  pattern.length === segments.length &&
  pattern.every((each, i) => (each.startsWith(':') ? segments[i] !== '' : each === segments[i]))
