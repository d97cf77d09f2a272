/**
 * Patterns in which `*` stands for any characters, also none, and `?` for one UTF-16 unit.
 *
 * All are read in one pass: after each unit of the text, a bit for each place of each pattern says whether what was read
 * so far matches the pattern up to it. The time is the length of the text times the words of 32 places, whatever both
 * say; trying each place behind a star takes the product of both lengths, which tenants who send such texts can choose.
 */
export class Globs {
  /** The bits of all places, 32 a word, behind a word of none. */
  private readonly words: number
  /** The place before each pattern. */
  private readonly starts: Int32Array
  /** The places with a star. */
  private readonly stars: Int32Array
  /** The places that any unit leads to. */
  private readonly anyUnit: Int32Array
  private readonly hasAnyUnit: boolean
  private readonly stepsOf: ReadonlyMap<number, Steps>
  /** The last place of each pattern. */
  private readonly ends: readonly number[]

  constructor(patterns: readonly string[]) {
    this.words = 1 + Math.ceil(patterns.reduce((sum, pattern) => sum + placesOf(pattern), 0) / WORD_BITS)
    this.starts = new Int32Array(this.words)
    this.stars = new Int32Array(this.words)
    this.anyUnit = new Int32Array(this.words)
    const places = new Map<number, number[]>()
    const ends: number[] = []
    let place = WORD_BITS
    for (const pattern of patterns) {
      set(this.starts, place)
      for (let i = 0; i < pattern.length; i++) {
        const unit = pattern.charCodeAt(i)
        if (unit === STAR) set(this.stars, place)
        else if (unit === ANY_UNIT) set(this.anyUnit, ++place)
        else ofUnit(places, unit).push(++place)
      }
      ends.push(place++)
    }
    this.ends = ends
    this.hasAnyUnit = this.anyUnit.some((bits) => bits !== 0)
    this.stepsOf = new Map(Array.from(places, ([unit, reachedBy]) => [unit, stepsTo(reachedBy)]))
  }

  /** @returns which places are reached at the end of the text, for `isMatch` */
  read(text: string): Int32Array {
    const { words, stars, anyUnit, stepsOf } = this
    let before = Int32Array.from(this.starts)
    let after = new Int32Array(words)
    for (let i = 0; i < text.length; i++) {
      let isAlive = 0
      for (let word = 1; word < words; word++) {
        const stayed = (before[word] as number) & (stars[word] as number)
        after[word] = stayed
        isAlive |= stayed
      }
      if (this.hasAnyUnit) {
        for (let word = 1; word < words; word++) isAlive |= step(before, after, word, anyUnit[word] as number)
      }
      const steps = stepsOf.get(text.charCodeAt(i))
      if (steps !== undefined) {
        const { at, bits } = steps
        for (let n = 0; n < at.length; n++) isAlive |= step(before, after, at[n] as number, bits[n] as number)
      }
      ;[before, after] = [after, before]
      if (isAlive === 0) break
    }
    return before
  }

  /**
   * Whether a pattern matches a text as a whole.
   *
   * @param reached by `read`
   * @param pattern its number in the order of the constructor
   */
  isMatch(reached: Int32Array, pattern: number): boolean {
    const end = this.ends[pattern] as number
    return ((reached[end >>> 5] as number) & (1 << (end & 31))) !== 0
  }
}

/** The places that a unit leads to from the places before: in the words `at`, the bits. */
interface Steps {
  readonly at: Int32Array
  readonly bits: Int32Array
}

const WORD_BITS = 32
const STAR = 0x2a
const ANY_UNIT = 0x3f

/** What a pattern costs each unit of a text. One place more than it has units: that before the first. */
export const placesOf = (pattern: string): number => pattern.replaceAll('*', '').length + 1

function set(bits: Int32Array, place: number): void {
  bits[place >>> 5] = (bits[place >>> 5] as number) | (1 << (place & 31))
}

function ofUnit(places: Map<number, number[]>, unit: number): number[] {
  const known = places.get(unit) ?? []
  places.set(unit, known)
  return known
}

function stepsTo(places: readonly number[]): Steps {
  const byWord = new Map<number, number>()
  for (const place of places) byWord.set(place >>> 5, (byWord.get(place >>> 5) ?? 0) | (1 << (place & 31)))
  return { at: Int32Array.from(byWord.keys()), bits: Int32Array.from(byWord.values()) }
}

/** Reaches those of the places that are behind a reached one. */
function step(before: Int32Array, after: Int32Array, word: number, places: number): number {
  const behind = ((before[word] as number) << 1) | ((before[word - 1] as number) >>> 31)
  const reached = behind & places
  after[word] = (after[word] as number) | reached
  return reached
}
