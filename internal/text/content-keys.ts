import type { FieldError } from '../problems/problem-catalogue.js'
import { ERRORS_MAX, pointerTo } from './field-errors.js'

/**
 * Names under which prompts and completions travel. They are refused at any depth, with any value, however their words
 * are written and joined (`user_message`, `userMessage`, `prompt:`).
 */
const CONTENT_KEYS = new Set(
  (
    'prompt prompts systemprompt userprompt message messages inputmessages outputmessages completion ' +
    'completions content contents input inputs inputtext output outputs outputtext instructions ' +
    'systeminstruction systeminstructions choices generation generations responsetext requestbody responsebody ' +
    'toolcalls question questions usermessage usermessages userquery userinput usertext assistantmessage ' +
    'assistantmessages systemmessage systemmessages chathistory conversationhistory transcript transcripts'
  ).split(' '),
)

export const isContentKey = (key: string): boolean => CONTENT_KEYS.has(key.replace(SIGNS, '').toLowerCase())
const SIGNS = /[^\p{L}\p{N}]+/gu

const DEPTH_MAX = 16

/** Findings in an event. */
export interface Screened {
  /** Fields that the schema does not name. */
  readonly unknownFields: number
  /** Fields that are null, which is the same as absent. */
  readonly nulls: number
  /** Members of the event, and of the objects that it holds directly. */
  readonly members: number
  /** The event's shortest JSON text in UTF-16 units; NaN where that is not certain, or the event is nested deeper. */
  readonly textLengthMin: number
  /** The content keys. */
  readonly errors: FieldError[]
}

/**
 * Looks for content keys through a whole event, the fields that nobody reads included.
 *
 * @param knownFields the schema's own; they are never content keys
 */
export function screenContent(event: object, knownFields: ReadonlySet<string>): Screened {
  const errors: FieldError[] = []
  let unknownFields = 0
  let nulls = 0
  let members = 0
  let textLengthMin = BRACES
  for (const key in event) {
    // Events of one sender name the same fields in the same order: to compare costs a tenth of a look-up.
    const isKnown = (key === usualFields[members] && knownFields === usualOf) || knownFields.has(key)
    if (!isKnown) unknownFields++
    else if (members < USUAL_FIELDS_MAX) {
      if (usualOf !== knownFields) {
        usualOf = knownFields
        usualFields.fill('')
      }
      usualFields[members] = key
    }
    members++
    const field = (event as Record<string, unknown>)[key]
    if (field === null) nulls++
    if (!isKnown && isContentKey(key)) errors.push(contentError(key))
    else if (typeof field === 'object' && field !== null) {
      textLengthMin += key.length + MEMBER_SIGNS + BRACES
      for (const inner of Object.keys(field)) {
        members++
        textLengthMin += inner.length + MEMBER_SIGNS + textLengthOf((field as Record<string, unknown>)[inner])
      }
      collectContentKeys(field, pointerTo('', key), 1, errors)
    } else textLengthMin += key.length + MEMBER_SIGNS + textLengthOf(field)
  }
  return { unknownFields, nulls, members, textLengthMin, errors }
}

/** Fields that are known, by their place in the last event. */
const USUAL_FIELDS_MAX = 32
const usualFields: string[] = Array.from({ length: USUAL_FIELDS_MAX }, () => '')
let usualOf: ReadonlySet<string> | undefined

/** Characters besides keys and values: quotes, colon and comma of a member; an object's braces, less a comma. */
const MEMBER_SIGNS = 4
const BRACES = 1

/** How short a text of a value can be: a string's at least its own characters, without an escape. */
function textLengthOf(value: unknown): number {
  switch (typeof value) {
    case 'string':
      return value.length + 2
    case 'number':
      return numberLength(value)
    case 'boolean':
      return value ? 4 : 5
    default:
      return Number.NaN
  }
}

/** NaN for those that an exponent can make shorter (`9e15`), and for values that are not 0 or more. */
function numberLength(value: number): number {
  if (value >= 0 && value < 1_000) {
    if (Number.isInteger(value)) return value < 10 ? 1 : value < 100 ? 2 : 3
    return value < 0.01 ? Number.NaN : String(value).length
  }
  if (!(value >= 1_000) || value % 1_000 === 0) return Number.NaN
  // Counts of tokens and milliseconds, as most numbers are: no text has to be made of them.
  if (value < 1_000_000 && Number.isInteger(value)) return value < 10_000 ? 4 : value < 100_000 ? 5 : 6
  return String(value).length
}

function collectContentKeys(value: object, pointer: string, depth: number, errors: FieldError[]): void {
  if (depth > DEPTH_MAX) {
    errors.push({ pointer, detail: `must not be nested more than ${DEPTH_MAX} deep` })
    return
  }
  for (const [key, inner] of Object.entries(value)) {
    if (errors.length >= ERRORS_MAX) return
    if (!Array.isArray(value) && isContentKey(key)) errors.push(contentError(key, pointer))
    else if (typeof inner === 'object' && inner !== null)
      collectContentKeys(inner, pointerTo(pointer, key), depth + 1, errors)
  }
}

const contentError = (key: string, parent = ''): FieldError => ({
  pointer: pointerTo(parent, key),
  detail: 'prompt and completion content is not accepted',
})
