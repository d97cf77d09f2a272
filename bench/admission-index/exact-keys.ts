import { AdmissionIndex } from '../../internal/repeats/admission-index.js'
import { mixed, writeFingerprint, writeKey } from './keys.js'
import { residentBytes } from './memory.js'
import { Stretches } from './stretches.js'

/** Figures with this many keys in the table, over the last twentieth of the run. */
export interface Mark {
  readonly keys: number
  /** A look-up and an admission of a new key, or a look-up of a duplicate; making the key included, some 30 ns. */
  readonly ns_per_request: number
  readonly accounted_bytes_per_key: number
  /** Growth of the process, including memory that the collector has not released yet. */
  readonly resident_bytes_per_key: number
}

export interface ExactKeys {
  readonly keys: number
  readonly duplicates: number
  readonly wrong_verdicts: number
  readonly passes: number
  readonly marks: readonly Mark[]
  readonly resident_bytes_per_key_collected: number
  readonly lookup_hit_ns: number
  readonly lookup_miss_ns: number
  readonly longest_100_requests_ms: number
  readonly longest_100_requests_once_ms: number
  readonly longest_collection_ms: number
}

const DUPLICATE_SHARE = 0.05
const STRETCH = 100
const PARTS = 20
const PASSES = 3
const CHECKED = 1_000_000
const NOW_MS = Date.UTC(2026, 10, 14, 10)
const WINDOW_MS = 24 * 3_600_000
const PERIOD_MS = 3_600_000

/**
 * All keys within the capacity of the exact table, with duplicates of random earlier ones, half of them conflicts.
 *
 * @param keys a multiple of 2,000
 */
export async function measureExactKeys(keys: number): Promise<ExactKeys> {
  const stretches = new Stretches(keys / STRETCH)
  const key = new Int32Array(4)
  const fingerprint = new Int32Array(2)
  let wrong = 0
  let duplicates = 0

  const request = (index: AdmissionIndex, i: number): void => {
    writeKey(i, key)
    writeFingerprint(i, fingerprint)
    if (index.lookup(key, fingerprint, NOW_MS) !== 'new') wrong++
    if (!index.admit(key, fingerprint, i & 255, NOW_MS)) wrong++
  }
  const duplicate = (index: AdmissionIndex, i: number): void => {
    const earlier = (mixed(i ^ 0x2bad_f00d) >>> 0) % i
    const isSame = (i & 1) === 0
    writeKey(earlier, key)
    writeFingerprint(isSame ? earlier : earlier + 1, fingerprint)
    if (index.lookup(key, fingerprint, NOW_MS) !== (isSame ? 'same' : 'conflict')) wrong++
    if (index.flags !== (earlier & 255)) wrong++
    duplicates++
  }
  const timeLookups = (index: AdmissionIndex, first: number, step: number, expected: string): number => {
    const startedMs = performance.now()
    for (let n = 0; n < CHECKED; n++) {
      const i = first + n * step
      writeKey(i, key)
      writeFingerprint(i, fingerprint)
      if (index.lookup(key, fingerprint, NOW_MS) !== expected) wrong++
    }
    return ((performance.now() - startedMs) * 1e6) / CHECKED
  }

  /** @param atPart is called after each twentieth */
  const pass = (atPart: (index: AdmissionIndex) => void): AdmissionIndex => {
    const index = emptyIndex(keys)
    for (let i = 0; i < keys; i += STRETCH) {
      stretches.start()
      for (let j = i; j < i + STRETCH; j++) {
        request(index, j)
        if (j > 0 && (mixed(j + 77) >>> 0) / 2 ** 32 < DUPLICATE_SHARE) duplicate(index, j)
      }
      stretches.stop(i / STRETCH)
      if ((i + STRETCH) % (keys / PARTS) === 0) atPart(index)
    }
    if (index.exactKeys !== keys) wrong++
    return index
  }

  const residentBefore = residentBytes({ collected: true })
  const sizes: Omit<Mark, 'ns_per_request'>[] = []
  const index = pass(({ exactKeys, exactBytes }) => {
    sizes.push({
      keys: exactKeys,
      accounted_bytes_per_key: exactBytes / exactKeys,
      resident_bytes_per_key: (residentBytes() - residentBefore) / exactKeys,
    })
  })
  const residentCollected = residentBytes({ collected: true }) - residentBefore
  const lookupHitNs = timeLookups(index, 0, Math.max(1, Math.floor(keys / CHECKED)), 'same')
  const lookupMissNs = timeLookups(index, 2 ** 30, 1, 'new')
  for (let i = 1; i < PASSES; i++) pass(() => undefined)
  await stretches.close()

  const stretchesPerPart = keys / PARTS / STRETCH
  const requestsPerPart = (keys + duplicates / PASSES) / PARTS
  return {
    keys,
    duplicates: duplicates / PASSES,
    wrong_verdicts: wrong,
    passes: PASSES,
    marks: sizes.map((size, part) => ({
      ...size,
      ns_per_request: (stretches.sumMs(part * stretchesPerPart, (part + 1) * stretchesPerPart) * 1e6) / requestsPerPart,
    })),
    resident_bytes_per_key_collected: residentCollected / keys,
    lookup_hit_ns: lookupHitNs,
    lookup_miss_ns: lookupMissNs,
    longest_100_requests_ms: stretches.longestMs,
    longest_100_requests_once_ms: stretches.longestOnceMs,
    longest_collection_ms: stretches.longestCollectionMs,
  }
}

const emptyIndex = (keys: number): AdmissionIndex =>
  new AdmissionIndex({
    windowMs: WINDOW_MS,
    periodMs: PERIOD_MS,
    exactKeysMax: Math.ceil(keys * 1.4),
    hasFingerprint: true,
    filterBitsPerKey: 16,
    filterBytesMax: () => Number.POSITIVE_INFINITY,
  })
