import { AdmissionIndex } from '../../internal/repeats/admission-index.js'
import { writeFingerprint, writeKey } from './keys.js'
import { Stretches } from './stretches.js'

export interface FilteredKeys {
  readonly keys: number
  readonly exact_keys: number
  readonly period_hours: number
  readonly filters: number
  readonly filter_bits_per_key: number
  /** New keys that were asked about for nothing. */
  readonly false_maybe_share: number
  readonly ns_per_request: number
  readonly lookup_new_ns: number
  /** Present keys that were called new, and the like. */
  readonly wrong_verdicts: number
  readonly longest_100_requests_ms: number
}

const HOUR_MS = 3_600_000
const STRETCH = 100
const PASSES = 3
const ASKED = 500_000
const NOW_MS = Date.UTC(2026, 10, 14, 10)

/** A day of keys, of which the table holds a fraction; the rest has moved to filters on the way. */
export async function measureFilteredKeys(
  keys: number,
  exactKeysMax: number,
  periodHours: number,
): Promise<FilteredKeys> {
  const key = new Int32Array(4)
  const fingerprint = new Int32Array(2)
  const stretches = new Stretches(keys / STRETCH)
  const msPerKey = (24 * HOUR_MS - 1) / keys
  let wrong = 0

  const pass = (): AdmissionIndex => {
    const index = new AdmissionIndex({
      windowMs: 24 * HOUR_MS,
      periodMs: periodHours * HOUR_MS,
      exactKeysMax,
      hasFingerprint: true,
      filterBitsPerKey: 16,
      filterBytesMax: () => Number.POSITIVE_INFINITY,
    })
    for (let i = 0; i < keys; i += STRETCH) {
      stretches.start()
      for (let j = i; j < i + STRETCH; j++) {
        writeKey(j, key)
        writeFingerprint(j, fingerprint)
        const nowMs = NOW_MS + j * msPerKey
        const verdict = index.lookup(key, fingerprint, nowMs)
        if (verdict !== 'new' && verdict !== 'maybe') wrong++
        index.admit(key, fingerprint, 0, nowMs)
      }
      stretches.stop(i / STRETCH)
      if (index.exactKeys > exactKeysMax) wrong++
    }
    return index
  }

  let index = pass()
  for (let i = 1; i < PASSES; i++) index = pass()

  const nowMs = NOW_MS + 24 * HOUR_MS - 1
  let maybes = 0
  for (let i = 0; i < keys; i++) {
    writeKey(i, key)
    writeFingerprint(i, fingerprint)
    const verdict = index.lookup(key, fingerprint, nowMs)
    if (verdict === 'maybe') maybes++
    else if (verdict !== 'same') wrong++
  }
  if (maybes < keys - index.exactKeys) wrong++

  let falseMaybes = 0
  const startedMs = performance.now()
  for (let i = 0; i < ASKED; i++) {
    writeKey(2 ** 30 + i, key)
    const verdict = index.lookup(key, fingerprint, nowMs)
    if (verdict === 'maybe') falseMaybes++
    else if (verdict !== 'new') wrong++
  }
  const lookupNewNs = ((performance.now() - startedMs) * 1e6) / ASKED
  await stretches.close()

  return {
    keys,
    exact_keys: index.exactKeys,
    period_hours: periodHours,
    filters: index.filterCount,
    filter_bits_per_key: (index.filterBytes * 8) / (keys - index.exactKeys),
    false_maybe_share: falseMaybes / ASKED,
    ns_per_request: (stretches.sumMs(0, keys / STRETCH) * 1e6) / keys,
    lookup_new_ns: lookupNewNs,
    wrong_verdicts: wrong,
    longest_100_requests_ms: stretches.longestMs,
  }
}
