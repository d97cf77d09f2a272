import { idHex, parseId } from '../ids/ids.js'
import { hasBytesAtMost, isPlainText } from '../text/plain-text.js'
import { parseInstant } from '../units/instant.js'
import { formatQuantity, parseQuantity } from '../units/quantity.js'
import { type FieldType, TEXT_BYTES_MAX } from './fields.js'

/**
 * One operand as the read model is asked with it: text as it is, an amount or a confidence as canonical decimal text, an
 * instant in milliseconds since the epoch, an id as 32 hex digits.
 *
 * @returns undefined when the text is no value of the type
 */
export function readOperand(type: FieldType, text: string): string | undefined {
  switch (type.kind) {
    case 'text':
      return text !== '' && isPlainText(text) && hasBytesAtMost(text, TEXT_BYTES_MAX) ? text : undefined
    case 'choice':
      return type.values.includes(text) ? text : undefined
    case 'amount':
    case 'confidence': {
      const quantity = parseQuantity(text)
      return quantity === undefined ? undefined : formatQuantity(quantity)
    }
    case 'instant': {
      // A finer fraction would be cut, and `gt` would then leave out what it should find.
      const instant = FINER_THAN_MILLISECONDS.test(text) ? undefined : parseInstant(text)
      return instant === undefined ? undefined : String(instant)
    }
    case 'id': {
      const id = parseId(type.prefix, text)
      return id === undefined ? undefined : idHex(id)
    }
  }
}

const FINER_THAN_MILLISECONDS = /\.\d{4,}/

/** What `readOperand` takes, in words. */
export function describeOperand(type: FieldType): string {
  switch (type.kind) {
    case 'text':
      return `a text of 1 to ${TEXT_BYTES_MAX} bytes without control characters`
    case 'choice':
      return `one of ${type.values.join(', ')}`
    case 'amount':
    case 'confidence':
      return 'a decimal without sign or exponent, of at most 20 digits before the point and 18 after it'
    case 'instant':
      return 'an RFC 3339 time in UTC, to the millisecond'
    case 'id':
      return `an id that begins with ${type.prefix}_`
  }
}

/**
 * Splits the text of an `in` list at its commas. Within a value `\,` is a comma and `\\` a backslash; any other
 * backslash stands for itself.
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
