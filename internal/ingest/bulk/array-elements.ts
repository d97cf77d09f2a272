import { ownTurn } from '../../process/own-turn.js'
import { CLOSE_ARRAY, JsonScanner, NotJson } from '../../text/json-scanner.js'
import { type EventRanges, SLICE_BYTES, skipBlanks, skipBlanksInTurns, trimBlanks } from './event-ranges.js'

export type FoundElements = 'found' | 'too_many' | 'broken'

/**
 * Finds the elements of a JSON array without parsing them, so that one that is malformed does not cost the others.
 *
 * It looks at brackets, commas and strings only. If the end of an element is ambiguous, the whole array
 * is broken: brackets that do not match, a bare control character in a string (whose closing quote is then likely
 * missing), an element that is missing between commas, anything after the array. The rest of JSON's grammar is left to
 * the parser of the elements: an array that is found here and whose elements all parse is valid JSON, and vice versa
 * (down to a depth of 1,000).
 *
 * @param bytes must not change until this has settled
 * @param from the offset of the opening bracket
 */
export async function findArrayElements(bytes: Buffer, from: number, ranges: EventRanges): Promise<FoundElements> {
  try {
    return await addElements(bytes, from, ranges)
  } catch (cause) {
    if (cause instanceof NotJson) return 'broken'
    throw cause
  }
}

async function addElements(bytes: Buffer, from: number, ranges: EventRanges): Promise<FoundElements> {
  const length = bytes.length
  const json = new JsonScanner(bytes, true)
  let at = await skipBlanksInTurns(bytes, from + 1, length)
  let sliceEnd = at + SLICE_BYTES
  if (bytes[at] === CLOSE_ARRAY) return checkEnd(bytes, at + 1)
  for (;;) {
    const end = json.elementEnd(at)
    const trimmedEnd = trimBlanks(bytes, at, end)
    if (trimmedEnd === at) return 'broken'
    if (!ranges.add(at, trimmedEnd)) return 'too_many'
    if (bytes[end] === CLOSE_ARRAY) return checkEnd(bytes, end + 1)
    const blanksEnd = Math.min(length, end + 1 + SLICE_BYTES)
    at = skipBlanks(bytes, end + 1, blanksEnd)
    if (at === blanksEnd) at = await skipBlanksInTurns(bytes, at, length)
    if (at > sliceEnd) {
      await ownTurn()
      sliceEnd = at + SLICE_BYTES
    }
  }
}

async function checkEnd(bytes: Buffer, from: number): Promise<FoundElements> {
  const at = await skipBlanksInTurns(bytes, from, bytes.length)
  return at === bytes.length ? 'found' : 'broken'
}
