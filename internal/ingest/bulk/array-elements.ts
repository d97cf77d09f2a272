import { setImmediate as nextTurn } from 'node:timers/promises'
import { type EventRanges, SLICE_BYTES, skipBlanks, skipBlanksInTurns, trimBlanks } from './event-ranges.js'

/** `broken` says at which byte, and why. */
export type FoundElements =
  | { readonly kind: 'found' }
  | { readonly kind: 'too_many' }
  | { readonly kind: 'broken'; readonly offset: number; readonly reason: string }

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Far beyond any event; the scanner keeps one byte per level. */
const DEPTH_MAX = 1_000

/**
 * Finds the elements of a JSON array without parsing them, so that one that is malformed does not cost the others.
 *
 * It looks at brackets, commas and strings only. If the end of an element is ambiguous, the whole array
 * is broken: brackets that do not match, a bare control character in a string (whose closing quote is then likely
 * missing), an element that is missing between commas, anything after the array. The rest of JSON's grammar is left to
 * the parser of the elements: an array that is found here and whose elements all parse is valid JSON, and vice versa
 * (down to a depth of 1,000).
 *
 * Bytes of 0x80 and above never look like any of these, in valid UTF-8 or not.
 *
 * @param bytes must not change until this has settled
 * @param from the offset of the opening bracket
 */
export async function findElements(bytes: Buffer, from: number, ranges: EventRanges): Promise<FoundElements> {
  const length = bytes.length
  const scanner = new ElementScanner(bytes)
  let at = await skipBlanksInTurns(bytes, from + 1, length)
  let sliceEnd = at + SLICE_BYTES
  if (bytes[at] === CLOSE_ARRAY) return checkEnd(bytes, at + 1)
  for (;;) {
    const end = scanner.elementEnd(at)
    if (end < 0) return { kind: 'broken', offset: scanner.brokenAt, reason: scanner.reason }
    const trimmedEnd = trimBlanks(bytes, at, end)
    if (trimmedEnd === at) return { kind: 'broken', offset: end, reason: 'an element is missing' }
    if (!ranges.add(at, trimmedEnd)) return { kind: 'too_many' }
    if (bytes[end] === CLOSE_ARRAY) return checkEnd(bytes, end + 1)
    const blanksEnd = Math.min(length, end + 1 + SLICE_BYTES)
    at = skipBlanks(bytes, end + 1, blanksEnd)
    if (at === blanksEnd) at = await skipBlanksInTurns(bytes, at, length)
    if (at > sliceEnd) {
      await nextTurn()
      sliceEnd = at + SLICE_BYTES
    }
  }
}

async function checkEnd(bytes: Buffer, from: number): Promise<FoundElements> {
  const at = await skipBlanksInTurns(bytes, from, bytes.length)
  if (at === bytes.length) return { kind: 'found' }
  return { kind: 'broken', offset: at, reason: 'something follows the array' }
}

class ElementScanner {
  private readonly bytes: Buffer
  /** The brackets that are open within the element. */
  private readonly open = new Uint8Array(DEPTH_MAX)
  brokenAt = 0
  reason = ''

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** @returns the offset of the comma or bracket that ends the element; -1 when it is broken */
  elementEnd(from: number): number {
    const { bytes, open } = this
    const { length } = bytes
    let depth = 0
    for (let at = from; at < length; at++) {
      switch (bytes[at]) {
        case QUOTE:
          at = this.stringEnd(at)
          if (at < 0) return -1
          break
        case OPEN_ARRAY:
        case OPEN_OBJECT:
          if (depth === DEPTH_MAX) return this.broken(at, `an element is nested more than ${DEPTH_MAX} deep`)
          open[depth++] = bytes[at] ?? 0
          break
        case CLOSE_ARRAY:
          if (depth === 0) return at
          if (open[--depth] !== OPEN_ARRAY) return this.broken(at, 'brackets do not match')
          break
        case CLOSE_OBJECT:
          if (depth === 0 || open[--depth] !== OPEN_OBJECT) return this.broken(at, 'brackets do not match')
          break
        case COMMA:
          if (depth === 0) return at
          break
      }
    }
    return this.broken(length, 'the array does not end')
  }

  /** @returns the offset of the closing quote; -1 when the string is broken */
  private stringEnd(opening: number): number {
    const { bytes } = this
    const { length } = bytes
    for (let at = opening + 1; at < length; at++) {
      const byte = bytes[at] ?? 0
      if (byte === QUOTE) return at
      if (byte === BACKSLASH) at++
      else if (byte < 0x20) return this.broken(at, 'a string holds a bare control character')
    }
    return this.broken(length, 'a string does not end')
  }

  private broken(offset: number, reason: string): -1 {
    this.brokenAt = offset
    this.reason = reason
    return -1
  }
}
