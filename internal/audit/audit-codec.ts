import { canonicalJson } from '../text/canonical-json.js'
import type { RepeatedEntry } from './chain.js'

/** The payload of a message of AUDIT: an entry as JSON. */

/** Later dates would overflow in the read model. */
const AT_MS_MAX = Date.UTC(2100, 0, 1)

/** @throws TypeError for an entry that could not be decoded or chained later, so that it is never stored */
export function encodeEntry(entry: RepeatedEntry): Uint8Array {
  if (!isWhole(entry)) throw new TypeError('not an audit entry')
  return Buffer.from(canonicalJson({ ...entry }))
}

/**
 * Decodes a message. An unknown action or code comes from a newer version, and is kept.
 *
 * @throws Error when the bytes are not an entry; the message is then poison
 */
export function decodeEntry(data: Uint8Array): RepeatedEntry {
  const entry = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString('utf8')) as RepeatedEntry
  if (!isWhole(entry)) throw new Error('not an audit entry')
  const { tenantId, actor, action, target, outcome, errorCode, traceId, at, sourceAddress, changes, repeats } = entry
  canonicalJson(changes ?? null)
  return {
    tenantId,
    actor,
    action,
    target,
    outcome,
    errorCode,
    traceId,
    at,
    ...(sourceAddress === undefined ? {} : { sourceAddress }),
    ...(changes === undefined ? {} : { changes }),
    repeats,
  }
}

function isWhole(entry: RepeatedEntry): boolean {
  const { tenantId, actor, action, target, outcome, errorCode, traceId, at, sourceAddress, changes, repeats } = entry
  return (
    [action, outcome, traceId].every(isText) &&
    [tenantId, actor, target, errorCode, sourceAddress ?? null].every((text) => text === null || isText(text)) &&
    (changes === undefined || (typeof changes === 'object' && changes !== null)) &&
    Number.isSafeInteger(at) &&
    at >= 0 &&
    at < AT_MS_MAX &&
    Number.isInteger(repeats) &&
    repeats >= 1 &&
    repeats < 2 ** 32
  )
}

/** The read model stores null as the empty text, so that an entry cannot contain the empty text itself. */
const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
