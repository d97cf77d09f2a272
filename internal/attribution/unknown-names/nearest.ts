/**
 * The known names that a misspelt or differently built name may stand for.
 *
 * Two measures, of which one suffices: few edits (Damerau-Levenshtein in its form of optimal string alignment: insert,
 * delete, replace, swap two neighbours), or most words in common (`checkout-svc-prod` and `checkout-svc`).
 *
 * A question does not look at every known name: an index finds those that share a part with the sought one, its rarest
 * parts first. What close names must share is among them, so that none is missed; only where thousands of names share
 * even the rarest parts does the limit of `COMPARED_MAX` decide.
 */
import { comparableName } from '../../text/comparable-name.js'

/** A name, and what it stands for: itself, or the service whose alias it is. */
export interface KnownName {
  readonly name: string
  readonly service: string
}

export const NEAREST_MAX = 3
/** Known names that are compared with one sought name. */
export const COMPARED_MAX = 128
/** Longer names are not compared letter by letter, and those of more words not word by word. */
const LETTERS_MAX = 64
const WORDS_MAX = 16
/** Share of the words of both names that must be common. */
const COMMON_WORDS_MIN = 0.5

interface Prepared {
  readonly text: string
  readonly words: ReadonlySet<string>
}

interface Known extends Prepared {
  readonly service: string
}

/** Known names by their parts, for many questions. */
export class NearestNames {
  /** Names compared so far: what questions cost. */
  compared = 0
  private readonly known = new Map<string, Known>()
  private readonly byGram = new Map<string, Set<Known>>()
  private readonly byWord = new Map<string, Set<Known>>()

  get size(): number {
    return this.known.size
  }

  add({ name, service }: KnownName): void {
    if (this.known.has(keyOf(name, service))) return
    const known = { service, ...prepared(name) }
    this.known.set(keyOf(name, service), known)
    for (const gram of gramsOf(known.text)) put(this.byGram, gram, known)
    for (const word of known.words) put(this.byWord, word, known)
  }

  delete({ name, service }: KnownName): void {
    const known = this.known.get(keyOf(name, service))
    if (known === undefined) return
    this.known.delete(keyOf(name, service))
    for (const gram of gramsOf(known.text)) take(this.byGram, gram, known)
    for (const word of known.words) take(this.byWord, word, known)
  }

  /** Services whose name or alias is close to a name, the closest first; at most `NEAREST_MAX`. */
  of(name: string): readonly string[] {
    const sought = prepared(name)
    const distances = new Map<string, number>()
    for (const each of this.candidates(sought)) {
      const distance = distanceBetween(sought, each)
      if (distance !== undefined && distance < (distances.get(each.service) ?? 1)) distances.set(each.service, distance)
    }
    return [...distances]
      .sort(([one, near], [other, far]) => near - far || (one < other ? -1 : 1))
      .slice(0, NEAREST_MAX)
      .map(([service]) => service)
  }

  private candidates({ text, words }: Prepared): ReadonlySet<Known> {
    const found = new Set<Known>()
    // An edit touches four grams at most: of one more than all edits touch, one is left in a close name.
    this.collect(this.byGram, gramsOf(text), 4 * editsMax(text.length) + 1, found)
    // A name with half of the words in common has half of these: all but one less than half miss none.
    this.collect(this.byWord, words, words.size - Math.ceil(words.size * COMMON_WORDS_MIN) + 1, found)
    this.compared += found.size
    return found
  }

  /** Adds the names behind the rarest of some parts. */
  private collect(
    byPart: ReadonlyMap<string, ReadonlySet<Known>>,
    parts: Iterable<string>,
    partsMax: number,
    found: Set<Known>,
  ): void {
    const sets = [...parts].map((part) => byPart.get(part) ?? NONE).sort((one, other) => one.size - other.size)
    let left = COMPARED_MAX / 2
    for (const set of sets.slice(0, partsMax)) {
      for (const known of set) {
        if (left-- === 0) return
        found.add(known)
      }
    }
  }
}

const NONE: ReadonlySet<Known> = new Set()
const keyOf = (name: string, service: string): string => `${service}\0${name}`

function put(byPart: Map<string, Set<Known>>, part: string, known: Known): void {
  const set = byPart.get(part)
  if (set === undefined) byPart.set(part, new Set([known]))
  else set.add(known)
}

function take(byPart: Map<string, Set<Known>>, part: string, known: Known): void {
  const set = byPart.get(part)
  set?.delete(known)
  if (set?.size === 0) byPart.delete(part)
}

function prepared(name: string): Prepared {
  const text = comparableName(name)
  const words = text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '')
  return { text, words: new Set(words.length <= WORDS_MAX ? words : []) }
}

/** All threes of neighbouring letters, those at both ends with what is beyond the text. */
function gramsOf(text: string): ReadonlySet<string> {
  const grams = new Set<string>()
  if (text.length > LETTERS_MAX || editsMax(text.length) === 0) return grams
  const padded = `\0\0${text}\0\0`
  for (let at = 0; at + 3 <= padded.length; at++) grams.add(padded.slice(at, at + 3))
  return grams
}

/** The edits that a name may be off by: one in four letters, and three at most. */
const editsMax = (length: number): number => Math.min(3, Math.floor(length / 4))

/** 0 to below 1, smaller is closer; undefined if the names have nothing to do with each other. */
function distanceBetween(one: Prepared, other: Prepared): number | undefined {
  const length = Math.max(one.text.length, other.text.length)
  const most = editsMax(Math.min(one.text.length, other.text.length))
  const edits = length <= LETTERS_MAX ? editsBetween(one.text, other.text, most) : undefined
  const byEdits = edits === undefined ? undefined : edits / length
  const common = commonWords(one.words, other.words)
  const byWords = common >= COMMON_WORDS_MIN ? 1 - common : undefined
  return byEdits === undefined ? byWords : Math.min(byEdits, byWords ?? 1)
}

function commonWords(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let common = 0
  for (const word of one) if (other.has(word)) common++
  return common === 0 ? 0 : common / (one.size + other.size - common)
}

/**
 * Insertions, deletions, replacements and swaps of neighbours that make one text of the other; no part is edited twice.
 *
 * @returns undefined if they are more than `most`: places further apart than that are not compared
 */
export function editsBetween(one: string, other: string, most: number): number | undefined {
  if (Math.abs(one.length - other.length) > most) return undefined
  let before: number[] = []
  let row: number[] = []
  for (let j = 0; j <= Math.min(most, other.length); j++) row[j] = j
  for (let i = 1; i <= one.length; i++) {
    const next = i <= most ? [i] : []
    let least = next[0] ?? most + 1
    for (let j = Math.max(1, i - most); j <= Math.min(other.length, i + most); j++) {
      const isSame = one[i - 1] === other[j - 1]
      let edits = Math.min(at(row, j) + 1, at(next, j - 1) + 1, at(row, j - 1) + (isSame ? 0 : 1))
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) {
        edits = Math.min(edits, at(before, j - 2) + 1)
      }
      next[j] = edits
      least = Math.min(least, edits)
    }
    if (least > most) return undefined
    before = row
    row = next
  }
  const edits = at(row, other.length)
  return edits <= most ? edits : undefined
}

const at = (row: readonly number[], j: number): number => row[j] ?? Number.POSITIVE_INFINITY
