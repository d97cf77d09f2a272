/**
 * Patterns in which `*` stands for any characters, also none, and `?` for one UTF-16 unit.
 *
 * Read in one pass: after each unit of the text, a bit for each place of the pattern says whether what was read so far
 * matches the pattern up to it. The time is the length of the text times the words of 32 places, whatever both say;
 * trying each place behind a star takes the product of both lengths, which tenants who send such texts can choose.
 */
export class Glob {
  /** Places of the pattern in words of 32: what it costs to read one unit of a text. */
  readonly words: number
  private readonly places: number
  /** For each kind of unit (`kindOf`), the places that it leads to from the place before. */
  private readonly steps: Uint32Array
  /** The places with a star. */
  private readonly stars: Uint32Array
  private readonly kinds = new Map<number, number>()
  private readonly reached: Uint32Array

  constructor(pattern: string) {
    const units = pattern.replaceAll('*', '')
    this.places = units.length
    this.words = wordsOf(pattern)
    for (let i = 0; i < units.length; i++) this.kindIn(units.charCodeAt(i))
    this.steps = new Uint32Array(this.words * (this.kinds.size + 1))
    this.stars = new Uint32Array(this.words)
    this.reached = new Uint32Array(this.words)
    let place = 0
    for (let i = 0; i < pattern.length; i++) {
      const unit = pattern.charCodeAt(i)
      if (unit === STAR) set(this.stars, 0, place)
      else if (unit !== ANY_UNIT) set(this.steps, this.words * (this.kinds.get(unit) ?? 0), ++place)
      else {
        place++
        for (let kind = 0; kind <= this.kinds.size; kind++) set(this.steps, this.words * kind, place)
      }
    }
  }

  /** Whether it matches the text as a whole. */
  matches(text: string): boolean {
    const { words, steps, stars, reached } = this
    reached.fill(0)
    reached[0] = 1
    for (let i = 0; i < text.length; i++) {
      const at = words * (this.kinds.get(text.charCodeAt(i)) ?? 0)
      let carried = 0
      let isAlive = 0
      for (let word = 0; word < words; word++) {
        const before = reached[word] as number
        const stepped = ((before << 1) | carried) & (steps[at + word] as number)
        const after = stepped | (before & (stars[word] as number))
        carried = before >>> 31
        reached[word] = after
        isAlive |= after
      }
      if (isAlive === 0) return false
    }
    return ((reached[this.places >>> 5] as number) & (1 << (this.places & 31))) !== 0
  }

  private kindIn(unit: number): void {
    if (unit !== ANY_UNIT && !this.kinds.has(unit)) this.kinds.set(unit, this.kinds.size + 1)
  }
}

const STAR = 0x2a
const ANY_UNIT = 0x3f

/** What `words` of a pattern is. One place more than it has units: that before the first. */
export const wordsOf = (pattern: string): number => Math.ceil((pattern.replaceAll('*', '').length + 1) / 32)

function set(bits: Uint32Array, from: number, place: number): void {
  bits[from + (place >>> 5)] = (bits[from + (place >>> 5)] as number) | (1 << (place & 31))
}
