/**
 * The text of bytes in UTF-8. The spans of one application name the same few operations, providers and models: short
 * texts that came before are found by their bytes, at a third of what it costs to decode them again.
 *
 * Some of them name people: the reader of a request forgets them with it (`forgetTexts`).
 */
export function repeatedText(bytes: Buffer, start: number, end: number): string {
  const length = end - start
  if (length > BYTES_MAX || length === 0) return bytes.toString('utf8', start, end)
  const slot = slotOf(bytes, start, end)
  const known = slot * SLOT_BYTES
  if (isAt(known, bytes, start, length)) return texts[slot] as string
  const text = bytes.toString('utf8', start, end)
  held[known] = length
  for (let i = 0; i < length; i++) held[known + 1 + i] = bytes[start + i] as number
  texts[slot] = text
  return text
}

/** Forgets all texts: none outlives its request. Requests that are read in turns only decode some once more. */
export function forgetTexts(): void {
  held.fill(0)
  texts.fill('')
}

/** How many texts are held. */
export const heldTexts = (): number => texts.filter((text) => text !== '').length

/** Longer ones are mostly ids, each of which comes once. */
const BYTES_MAX = 31
const SLOT_BYTES = BYTES_MAX + 1
const SLOTS = 256
/** The last text of each slot, and its bytes behind their number. */
const texts = new Array<string>(SLOTS).fill('')
const held = new Uint8Array(SLOTS * SLOT_BYTES)

function isAt(known: number, bytes: Buffer, start: number, length: number): boolean {
  if (held[known] !== length) return false
  for (let i = 0; i < length; i++) if (held[known + 1 + i] !== bytes[start + i]) return false
  return true
}

/** Length, first, middle and last byte. */
function slotOf(bytes: Buffer, start: number, end: number): number {
  const length = end - start
  const first = bytes[start] as number
  const middle = bytes[start + (length >> 1)] as number
  const last = bytes[end - 1] as number
  return (length * 31 + first * 17 + middle * 5 + last * 3) % SLOTS
}
