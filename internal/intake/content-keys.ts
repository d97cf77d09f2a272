import type { FieldError } from '../problems/catalogue.js'
import { ERRORS_MAX, pointerTo } from './field-errors.js'

/**
 * Names under which prompts and completions travel. They are refused at any depth, whatever their value, in the
 * spelling of snake_case, camelCase or kebab-case alike.
 */
const CONTENT_KEYS = new Set(
  (
    'prompt prompts systemprompt userprompt message messages inputmessages outputmessages completion completions ' +
    'content contents input inputs inputtext output outputs outputtext instructions systeminstruction systeminstructions ' +
    'choices generation generations responsetext requestbody responsebody toolcalls'
  ).split(' '),
)

export const isContentKey = (key: string): boolean => CONTENT_KEYS.has(key.replace(/[-_.\s]/g, '').toLowerCase())

const DEPTH_MAX = 16

/** What is found in an event: how many of its fields the schema does not name, and the content keys. */
export interface Screened {
  readonly unknownFields: number
  readonly errors: FieldError[]
}

/**
 * Looks for content keys through a whole event, the fields that nobody reads included.
 *
 * @param knownFields the schema's own; they are not content keys, whatever they are called
 */
export function screenContent(event: object, knownFields: ReadonlySet<string>): Screened {
  const errors: FieldError[] = []
  let unknownFields = 0
  for (const key in event) {
    const isKnown = knownFields.has(key)
    if (!isKnown) unknownFields++
    const field = (event as Record<string, unknown>)[key]
    if (!isKnown && isContentKey(key)) errors.push(contentError(key))
    else if (typeof field === 'object' && field !== null) collectContentKeys(field, pointerTo('', key), 1, errors)
  }
  return { unknownFields, errors }
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
