const BACKSLASH = 0x5c
const LOW_U = 0x75
/** What an escape of one letter stands for. */
const SIMPLE = new Map([...'"\\/bfnrt'].map((letter, i) => [letter.charCodeAt(0), '"\\/\b\f\n\r\t'.charCodeAt(i)]))
const HEX = /^[0-9a-fA-F]{4}$/

/**
 * The bytes that the inner of a JSON string stands for, without making a text of them.
 *
 * @param inner what is between the quotes, in UTF-8
 * @returns undefined where an escape is invalid
 */
export function unescapedBytes(inner: Buffer): Buffer | undefined {
  let from = inner.indexOf(BACKSLASH)
  if (from < 0) return inner
  // An escape is never shorter than the UTF-8 that it stands for.
  const bytes = Buffer.allocUnsafe(inner.length)
  let length = 0
  let at = 0
  for (; from >= 0; from = inner.indexOf(BACKSLASH, at)) {
    length += inner.copy(bytes, length, at, from)
    const letter = inner[from + 1]
    const byte = letter === undefined ? undefined : SIMPLE.get(letter)
    if (byte !== undefined) {
      bytes[length++] = byte
      at = from + 2
      continue
    }
    const units = letter === LOW_U ? unitsAt(inner, from) : undefined
    if (units === undefined) return undefined
    length += bytes.write(String.fromCharCode(...units), length, 'utf8')
    at = from + 6 * units.length
  }
  length += inner.copy(bytes, length, at)
  return bytes.subarray(0, length)
}

/** The code unit of `\uXXXX`, and of the pair that it begins. */
function unitsAt(inner: Buffer, from: number): readonly number[] | undefined {
  const unit = unitAt(inner, from)
  if (unit === undefined || unit < 0xd800 || unit > 0xdbff) return unit === undefined ? undefined : [unit]
  const low = inner[from + 6] === BACKSLASH && inner[from + 7] === LOW_U ? unitAt(inner, from + 6) : undefined
  return low !== undefined && low >= 0xdc00 && low <= 0xdfff ? [unit, low] : [unit]
}

function unitAt(inner: Buffer, from: number): number | undefined {
  const digits = inner.toString('latin1', from + 2, from + 6)
  return HEX.test(digits) ? Number.parseInt(digits, 16) : undefined
}
