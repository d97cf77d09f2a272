import { randomFillSync } from 'node:crypto'
import { residentBytes } from './memory.js'

/** The plain alternative: a Map from the key's text to its record. */
export interface PlainMap {
  readonly keys: number
  readonly ns_per_request: number
  readonly resident_bytes_per_key: number
  /** One insertion: the map grows all at once. */
  readonly longest_insertion_ms: number
}

export function measurePlainMap(keys: number): PlainMap {
  const residentBefore = residentBytes({ collected: true })
  const known = new Map<string, { fingerprint: string; admittedAtS: number; flags: number }>()
  const bytes = Buffer.alloc(24)
  let longestMs = 0
  let insertionMs = 0
  for (let i = 0; i < keys; i++) {
    randomFillSync(bytes)
    const key = bytes.toString('hex', 0, 16)
    const fingerprint = bytes.toString('hex', 16)
    const startedMs = performance.now()
    if (known.get(key) === undefined) known.set(key, { fingerprint, admittedAtS: i, flags: 0 })
    const ms = performance.now() - startedMs
    insertionMs += ms
    if (ms > longestMs) longestMs = ms
  }
  return {
    keys,
    ns_per_request: (insertionMs * 1e6) / keys,
    resident_bytes_per_key: (residentBytes({ collected: true }) - residentBefore) / known.size,
    longest_insertion_ms: longestMs,
  }
}
