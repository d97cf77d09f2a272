import { isAscii, isUtf8 } from 'node:buffer'

/**
 * @param isKnownAscii where that was seen already
 * @returns undefined if the bytes are not JSON in UTF-8
 */
export function parseJson(bytes: Buffer, isKnownAscii = isAscii(bytes)): unknown {
  // Most events are ASCII, which needs no decoding.
  const encoding = isKnownAscii ? 'latin1' : 'utf8'
  if (encoding === 'utf8' && !isUtf8(bytes)) return undefined
  try {
    return JSON.parse(bytes.toString(encoding)) as unknown
  } catch {
    return undefined
  }
}
