import type { Stated } from './answer.js'
import { AnswerScanner } from './answer-scanner.js'
import { isAt } from './bytes.js'

/**
 * Finds what the events of a stream say about their answer. Once its id and model are known, parts that are whole events
 * are only searched for the names of what is said at the end: nearly all parts are a word of an answer.
 */
export class EventScanner {
  private readonly scanner: AnswerScanner
  private hasId = false
  private hasModel = false
  private isBetweenEvents = true

  constructor(onAnswer: (stated: Stated) => void) {
    this.scanner = new AnswerScanner((stated) => {
      this.hasId ||= isName(stated['id'] ?? stated['responseId'])
      this.hasModel ||= isName(stated['model'] ?? stated['modelVersion'])
      onAnswer(stated)
    })
  }

  /** @param isSaid as `statesNothing` has found */
  push(bytes: Uint8Array, isSaid?: boolean): void {
    const isEnd = endsEvent(bytes)
    const isKnown = isEnd && this.isBetweenEvents && this.hasId && this.hasModel
    const isStepped = isKnown && (isSaid ?? statesNothing(bytes))
    if (!isStepped) this.scanner.push(bytes)
    this.isBetweenEvents = isEnd && (isStepped || this.scanner.isBetweenAnswers)
  }
}

const isName = (value: unknown): boolean => typeof value === 'string' && value !== ''

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/** Whether an empty line is the last one. */
export function endsEvent(bytes: Uint8Array): boolean {
  const last = bytes.length - 1
  if (bytes[last] !== LINE_FEED) return false
  return bytes[bytes[last - 1] === CARRIAGE_RETURN ? last - 2 : last - 1] === LINE_FEED
}

/**
 * Names of what may come after the first event: counts, failures, the ends of Anthropic's and Bedrock's streams. Each is
 * six bytes long, and no two bytes follow each other in two of them.
 */
const WORDS = ['"usage', 'error"', '_stop"', '"meta"', 'trics"'].map((word) => new TextEncoder().encode(word))
const PAIRS_OF_WORD = 5
const NULLS = ['":null', '": null'].map((value) => new TextEncoder().encode(value))

/** By six bits of two bytes: the word that has them, and where in it; 0: none has. */
const PLACES = new Uint8Array(1 << 12)
for (const [index, word] of WORDS.entries()) {
  for (let at = 0; at < PAIRS_OF_WORD; at++) PLACES[pairAt(word, at)] = 1 + index * PAIRS_OF_WORD + at
}

function pairAt(bytes: Uint8Array, at: number): number {
  return (((bytes[at] as number) & 0x3f) << 6) | ((bytes[at + 1] as number) & 0x3f)
}

/**
 * Whether events state nothing but a usage that is null. No closure here holds the bytes: each look at them would cost
 * twice as much.
 *
 * @param onNull told from where to where each of these is; it may change those bytes
 */
export function statesNothing(bytes: Uint8Array, onNull?: OnNull): boolean {
  let isNothing = true
  // Of the pairs of a word, one is looked at.
  for (let at = 0; at + 1 < bytes.length; at += PAIRS_OF_WORD) {
    const place = PLACES[pairAt(bytes, at)] as number
    if (place !== 0 && statesAt(bytes, at, place - 1, onNull)) isNothing = false
  }
  return isNothing
}

type OnNull = (bytes: Uint8Array, from: number, to: number) => void

/** Whether the word that may have this pair is there, with a value. */
function statesAt(bytes: Uint8Array, at: number, place: number, onNull: OnNull | undefined): boolean {
  const inWord = place % PAIRS_OF_WORD
  const word = WORDS[(place - inWord) / PAIRS_OF_WORD] as Uint8Array
  const begin = at - inWord
  if (begin < 0 || !isAt(word, bytes, begin)) return false
  const end = begin + word.length
  for (const value of NULLS) {
    if (!isAt(value, bytes, end)) continue
    onNull?.(bytes, begin, end + value.length)
    return false
  }
  return true
}
