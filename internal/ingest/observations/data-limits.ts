import { hasBytesAtMost, PLAIN_TEXT } from '../../text/plain-text.js'

/** `data` itself is the first level. */
export const DATA_DEPTH_MAX = 5
export const DATA_KEYS_MAX = 64
export const DATA_KEY_BYTES_MAX = 64
export const DATA_TEXT_BYTES_MAX = 256
/** As the JSON that is stored, without white space. */
export const DATA_BYTES_MAX = 8 * 1024

/**
 * Checks the limits of an event's `data` that a schema cannot express: its total size, and that nothing in it is long
 * enough to carry a prompt.
 *
 * @param data of a parsed JSON body
 * @returns the first reason against it, which names neither a key nor a value; undefined when there is none
 */
export function dataFault(data: object): string | undefined {
  const count = { keys: 0 }
  const fault = faultWithin(data, 1, count)
  if (fault !== undefined) return fault
  return Buffer.byteLength(JSON.stringify(data)) > DATA_BYTES_MAX
    ? `must have at most ${DATA_BYTES_MAX} bytes as JSON`
    : undefined
}

/** Goes no deeper than the limit, and no further than its first finding. */
function faultWithin(value: object, depth: number, count: { keys: number }): string | undefined {
  if (depth > DATA_DEPTH_MAX) return `must not be nested more than ${DATA_DEPTH_MAX} deep`
  const hasKeys = !Array.isArray(value)
  for (const [key, inner] of Object.entries(value) as [string, unknown][]) {
    if (hasKeys) {
      if (++count.keys > DATA_KEYS_MAX) return `must have at most ${DATA_KEYS_MAX} keys in all`
      if (key === '' || !isShort(key, DATA_KEY_BYTES_MAX)) {
        return `must have keys of 1 to ${DATA_KEY_BYTES_MAX} bytes without control characters`
      }
    }
    const fault = valueFault(inner, depth, count)
    if (fault !== undefined) return fault
  }
  return undefined
}

function valueFault(value: unknown, depth: number, count: { keys: number }): string | undefined {
  if (typeof value === 'string' && !isShort(value, DATA_TEXT_BYTES_MAX)) {
    return `must have texts of at most ${DATA_TEXT_BYTES_MAX} bytes without control characters`
  }
  // JSON.parse turns 1e999 into Infinity, which JSON cannot represent.
  if (typeof value === 'number' && !Number.isFinite(value)) return 'must have finite numbers'
  return typeof value === 'object' && value !== null ? faultWithin(value, depth + 1, count) : undefined
}

const isShort = (text: string, bytesMax: number): boolean => hasBytesAtMost(text, bytesMax) && PLAIN_TEXT.test(text)
