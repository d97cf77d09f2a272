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

  /** @param found by a search that was made before */
  push(bytes: Uint8Array, found?: number): void {
    const isEnd = endsEvent(bytes)
    const isKnown = isEnd && this.isBetweenEvents && this.hasId && this.hasModel
    const isSaid = isKnown && (found ?? searched(bytes)) !== MAY_STATE
    if (!isSaid) this.scanner.push(bytes)
    this.isBetweenEvents = isEnd && (isSaid || this.scanner.isBetweenAnswers)
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

/** Names of what may come after the first event: counts, failures, the ends of Anthropic's and Bedrock's streams. */
const WORDS = ['"usage', 'error"', '_stop"', '"meta"', 'trics"'].map((word) => new TextEncoder().encode(word))
const WORD_LENGTH = 6
const NULL = new TextEncoder().encode('":null')

/** By the last two of six bytes, six bits of each: how far a word may be from ending there. */
const STEPS = new Uint8Array(1 << 12).fill(WORD_LENGTH - 1)
for (const word of WORDS) {
  for (let at = 1; at < WORD_LENGTH; at++) STEPS[pairAt(word, at)] = Math.min(stepAt(word, at), WORD_LENGTH - 1 - at)
}

function pairAt(bytes: Uint8Array, at: number): number {
  return (((bytes[at - 1] as number) & 0x3f) << 6) | ((bytes[at] as number) & 0x3f)
}

function stepAt(bytes: Uint8Array, at: number): number {
  return STEPS[pairAt(bytes, at)] as number
}

export const SAYS_NOTHING = -1
export const MAY_STATE = -2

/** Whether bytes may state anything, or where the first usage is if they state none but such as are null. */
export function searched(bytes: Uint8Array): number {
  let place = SAYS_NOTHING
  for (let at = WORD_LENGTH - 1; at < bytes.length; ) {
    const step = stepAt(bytes, at)
    if (step === 0 && isWord(bytes, at + 1 - WORD_LENGTH)) {
      if (!isAt(NULL, bytes, at + 1)) return MAY_STATE
      if (place === SAYS_NOTHING) place = at + 1 - WORD_LENGTH
    }
    at += step === 0 ? 1 : step
  }
  return place
}

function isWord(bytes: Uint8Array, at: number): boolean {
  for (const word of WORDS) if (isAt(word, bytes, at)) return true
  return false
}
