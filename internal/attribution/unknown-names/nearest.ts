/**
 * The known names that a misspelt or differently built name may stand for.
 *
 * Two measures, of which one suffices: few edits (Damerau-Levenshtein in its form of optimal string alignment: insert,
 * delete, replace, swap two neighbours), or most words in common (`checkout-svc-prod` and `checkout-svc`). Cost is
 * bounded: a name is compared letter by letter only with names of nearly its length and letters.
 */
import { comparableName } from '../../text/comparable-name.js'

/** A name, and what it stands for: itself, or the service whose alias it is. */
export interface KnownName {
  readonly name: string
  readonly service: string
}

export const NEAREST_MAX = 3
/** Longer names are not compared letter by letter. */
const LETTERS_MAX = 64
/** Share of the words of both names that must be common. */
const COMMON_WORDS_MIN = 0.5

interface Prepared {
  readonly service: string
  readonly text: string
  /** A bit for each kind of letter: names that differ in many bits differ in many letters. */
  readonly letters: number
  readonly words: ReadonlySet<string>
}

/** Prepares known names for many questions. */
export class NearestNames {
  private readonly known: readonly Prepared[]

  constructor(known: Iterable<KnownName>) {
    this.known = [...known].map(({ name, service }) => ({ service, ...prepared(name) }))
  }

  /** Services whose name or alias is close to a name, the closest first; at most `NEAREST_MAX`. */
  of(name: string): readonly string[] {
    const sought = prepared(name)
    const distances = new Map<string, number>()
    for (const each of this.known) {
      const distance = distanceBetween(sought, each)
      if (distance !== undefined && distance < (distances.get(each.service) ?? 1)) distances.set(each.service, distance)
    }
    return [...distances]
      .sort(([one, near], [other, far]) => near - far || (one < other ? -1 : 1))
      .slice(0, NEAREST_MAX)
      .map(([service]) => service)
  }
}

/** The edits that a name may be off by: one in four letters, and three at most. */
const editsMax = (length: number): number => Math.min(3, Math.floor(length / 4))

/** 0 to below 1, smaller is closer; undefined if the names have nothing to do with each other. */
function distanceBetween(one: Omit<Prepared, 'service'>, other: Omit<Prepared, 'service'>): number | undefined {
  const length = Math.max(one.text.length, other.text.length)
  const most = editsMax(Math.min(one.text.length, other.text.length))
  const isComparable =
    length <= LETTERS_MAX &&
    Math.abs(one.text.length - other.text.length) <= most &&
    bitsOf(one.letters ^ other.letters) <= 2 * most
  const edits = isComparable ? editsBetween(one.text, other.text) : Number.POSITIVE_INFINITY
  const byEdits = edits <= most ? edits / length : undefined
  const common = commonWords(one.words, other.words)
  const byWords = common >= COMMON_WORDS_MIN && common > 0 ? 1 - common : undefined
  return byEdits === undefined ? byWords : Math.min(byEdits, byWords ?? 1)
}

function prepared(name: string): Omit<Prepared, 'service'> {
  const text = comparableName(name)
  let letters = 0
  for (let i = 0; i < text.length; i++) letters |= 1 << (text.charCodeAt(i) & 31)
  return { text, letters, words: new Set(text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '')) }
}

function commonWords(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let common = 0
  for (const word of one) if (other.has(word)) common++
  return common === 0 ? 0 : common / (one.size + other.size - common)
}

function bitsOf(bits: number): number {
  let rest = bits
  let n = 0
  for (; rest !== 0; n++) rest &= rest - 1
  return n
}

/**
 * Insertions, deletions, replacements and swaps of neighbours that make one text of the other; no part is edited twice.
 */
export function editsBetween(one: string, other: string): number {
  let before: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1]
      let edits = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (isSame ? 0 : 1))
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) {
        edits = Math.min(edits, (before[j - 2] ?? 0) + 1)
      }
      next.push(edits)
    }
    before = row
    row = next
  }
  return row[other.length] ?? 0
}
