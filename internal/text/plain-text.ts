import { z } from 'zod'
import { parseInstant } from '../units/instant.js'

/**
 * The text that producers may send us: every string has a maximum and no control characters, so that
 * no field can carry a prompt.
 */

/** Neither control characters nor lone surrogates. */
const PLAIN_FORM = 'must be text without control characters'
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern excludes them
export const PLAIN_TEXT = /^(?:[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]|[\ud800-\udbff][\udc00-\udfff])*$/

/** What `PLAIN_TEXT` says, at a third of the cost for short ASCII. */
export function isPlainText(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || code > 0x7e) return PLAIN_TEXT.test(text)
  }
  return true
}

/**
 * `bytesMax` counts UTF-8 bytes; JSON Schema's maxLength counts characters, so it is checked beside it: by zod itself,
 * and by the validators that are compiled from these schemas through the keyword.
 */
export const plainText = (bytesMax: number) => textOf(PLAIN_TEXT, PLAIN_FORM, bytesMax)

const textOf = (pattern: RegExp, message: string, bytesMax: number) =>
  z
    .string()
    .min(1)
    .max(bytesMax)
    .regex(pattern, message)
    .refine((text) => hasBytesAtMost(text, bytesMax), `must have at most ${bytesMax} bytes`)
    .meta({ bytesMax })

const NAME_BYTES_MAX = 256

/** Names and ids. */
export const name = () => plainText(NAME_BYTES_MAX)

/** Providers and models: what no dashboard, file or shell reads as anything but a name. */
export const MODEL_TEXT = /^[\p{L}\p{M}\p{Nd} ._\-/:@+]*$/u
const MODEL_FORM = 'must consist of letters, digits, marks, spaces and . _ - / : @ +'

/** The characters of `MODEL_TEXT` in ASCII, by their codes. */
export const IS_MODEL_ASCII = Uint8Array.from({ length: 128 }, (_, code) =>
  MODEL_TEXT.test(String.fromCharCode(code)) ? 1 : 0,
)

/** What `MODEL_TEXT` says, at a fraction of the cost for ASCII. */
export function isModelText(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code > 0x7f) return MODEL_TEXT.test(text)
    if (IS_MODEL_ASCII[code] !== 1) return false
  }
  return true
}

export const modelName = () => textOf(MODEL_TEXT, MODEL_FORM, NAME_BYTES_MAX)

/** A UUID of any version, in either case. */
export const UUID_TEXT = /^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/
const UUID_FORM = 'must be a UUID'
export const uuid = () => z.string().regex(UUID_TEXT, UUID_FORM)

/** An amount, as the read model can hold it. */
export const DECIMAL_TEXT = /^\d{1,20}(\.\d{1,18})?$/

/**
 * Limits of the cost, energy and carbon of one event. A hundred million of the largest still sum up within the read
 * model's columns (`deploy/decisions/amounts-of-events.md`).
 */
export const AMOUNT_TEXT = /^\d{1,12}(\.\d{1,18})?$/

/** What matches a pattern, for its senders: the pattern itself would not help them. */
export const FORM_OF_PATTERN: Readonly<Record<string, string>> = {
  [PLAIN_TEXT.source]: PLAIN_FORM,
  [MODEL_TEXT.source]: MODEL_FORM,
  [UUID_TEXT.source]: UUID_FORM,
  [DECIMAL_TEXT.source]: 'must be a decimal string, such as "0.25": at most 20 digits before the point and 18 after it',
  [AMOUNT_TEXT.source]: 'must be a decimal string, such as "0.25": at most 12 digits before the point and 18 after it',
}

/** What `AMOUNT_TEXT` says, at a third of the cost. */
export function isAmount(text: string): boolean {
  const { length } = text
  let at = 0
  while (at < length && isDigit(text.charCodeAt(at))) at++
  if (at === 0 || at > 12) return false
  if (at === length) return true
  if (text.charCodeAt(at) !== POINT) return false
  const fraction = ++at
  while (at < length && isDigit(text.charCodeAt(at))) at++
  return at === length && at > fraction && at - fraction <= 18
}
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39
const POINT = 0x2e

/** An RFC 3339 time in UTC, as text. */
export const instant = () =>
  z
    .string()
    .max(64)
    .refine((text) => parseInstant(text) !== undefined, 'must be an RFC 3339 time in UTC')
    .meta({ instant: true })

/** Whether a text has at most a number of bytes in UTF-8; the bytes of short texts are not counted. */
export const hasBytesAtMost = (text: string, bytesMax: number): boolean =>
  text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax
