import { canonicalJson } from '../text/canonical-json.js'
import type { RepeatedEntry } from './chain.js'

/** The form of one message of AUDIT: an entry as JSON. */

/** Past it, the read model's dates would wrap. */
const AT_MS_MAX = Date.UTC(2100, 0, 1)

/** @throws TypeError for what could not be read back or chained, so that it is not stored in the first place */
export function encodeEntry(entry: RepeatedEntry): Uint8Array {
  if (!isWhole(entry)) throw new TypeError('this has not the form of an audit entry')
  return Buffer.from(canonicalJson({ ...entry }))
}

/**
 * Reads a message back. An action or code that this process does not know comes from a newer one, and stays as it is.
 *
 * @throws Error when the bytes have not that form; the message is then poison
 */
export function decodeEntry(data: Uint8Array): RepeatedEntry {
  const entry = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString('utf8')) as RepeatedEntry
  if (!isWhole(entry)) throw new Error('this has not the form of an audit entry')
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

/** The empty text stands for null in the read model, so that it cannot stand for itself. */
const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
