import { idHex, parseId } from '../ids/ids.js'
import { hasBytesAtMost, isPlainText } from '../text/plain-text.js'
import { parseInstant } from '../units/instant.js'
import { formatQuantity, parseQuantity } from '../units/quantity.js'
import { type FieldType, TEXT_BYTES_MAX } from './filter-fields.js'

/**
 * Reads one operand into the form that queries bind: text unchanged, an amount or a confidence as canonical decimal
 * text, an instant in milliseconds since the epoch, an id as 32 hex digits.
 *
 * @returns undefined when the text is not a valid value of the type
 */
export function readOperand(type: FieldType, text: string): string | undefined {
  switch (type.kind) {
    case 'text':
      return text === '' && type.isOptional !== true ? undefined : plainText(text)
    case 'tag':
      return plainText(text)
    case 'choice':
      return type.values.includes(text) || (text === '' && type.isOptional === true) ? text : undefined
    case 'amount':
    case 'confidence': {
      const quantity = parseQuantity(text)
      return quantity === undefined ? undefined : formatQuantity(quantity)
    }
    case 'instant': {
      // Truncating a finer fraction would make `gt` miss records.
      const instant = FINER_THAN_MILLISECONDS.test(text) ? undefined : parseInstant(text)
      return instant === undefined ? undefined : String(instant)
    }
    case 'id': {
      const id = parseId(type.prefix, text)
      return id === undefined ? undefined : idHex(id)
    }
  }
}

const plainText = (text: string): string | undefined =>
  isPlainText(text) && hasBytesAtMost(text, TEXT_BYTES_MAX) ? text : undefined

const FINER_THAN_MILLISECONDS = /\.\d{4,}/

/** Describes the values that `readOperand` accepts. */
export function describeOperand(type: FieldType): string {
  switch (type.kind) {
    case 'text':
      return type.isOptional === true
        ? `a text of at most ${TEXT_BYTES_MAX} bytes without control characters; empty: calls without one`
        : `a text of 1 to ${TEXT_BYTES_MAX} bytes without control characters`
    case 'tag':
      return `a text of at most ${TEXT_BYTES_MAX} bytes without control characters; empty: calls without the tag`
    case 'choice':
      return `one of ${type.values.join(', ')}${type.isOptional === true ? ', or empty: calls without one' : ''}`
    case 'amount':
    case 'confidence':
      return 'a decimal without sign or exponent, with at most 20 digits before the point and 18 after it'
    case 'instant':
      return 'an RFC 3339 time in UTC, to the millisecond'
    case 'id':
      return `an id with the prefix ${type.prefix}_`
  }
}

/**
 * Splits the text of an `in` list at its commas. Within a value `\,` means a comma and `\\` a backslash; any other
 * backslash is literal.
 */
export function splitList(text: string): string[] {
  const values: string[] = []
  let value = ''
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    const next = text[i + 1]
    if (character === '\\' && (next === ',' || next === '\\')) {
      value += next
      i += 1
    } else if (character === ',') {
      values.push(value)
      value = ''
    } else value += character
  }
  return [...values, value]
}
