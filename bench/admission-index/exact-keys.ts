import { AdmissionIndex } from '../../internal/admission/admission-index.js'
import { mixed, writeFingerprint, writeKey } from './keys.js'
import { residentBytes } from './memory.js'
import { cpuUs, Stretches } from './stretches.js'

/** What it is like with so many keys in the table, over the last part of the way there. */
export interface Mark {
  readonly keys: number
  /** One look-up and one admission of a new key, or one look-up of a duplicate: wall and processor time. */
  readonly ns_per_request: number
  readonly cpu_ns_per_request: number
  readonly accounted_bytes_per_key: number
  /** What the process has grown by, the collector's leavings included. */
  readonly resident_bytes_per_key: number
}

export interface ExactKeys {
  readonly keys: number
  readonly duplicates: number
  readonly wrong_verdicts: number
  readonly marks: readonly Mark[]
  readonly resident_bytes_per_key_collected: number
  readonly lookup_hit_ns: number
  readonly lookup_miss_ns: number
  readonly longest_16_requests_wall_ms: number
  readonly longest_16_requests_cpu_ms: number
  readonly longest_collection_ms: number
}

const DUPLICATE_SHARE = 0.05
const STRETCH = 16
const CHECKED = 1_000_000
const NOW_MS = Date.UTC(2026, 10, 14, 10)
const WINDOW_MS = 24 * 3_600_000
const PERIOD_MS = 3_600_000

/** All keys within what the exact table may hold, with duplicates of random earlier ones, half of them conflicts. */
export async function measureExactKeys(keys: number): Promise<ExactKeys> {
  const residentBefore = residentBytes()
  const index = new AdmissionIndex({
    windowMs: WINDOW_MS,
    periodMs: PERIOD_MS,
    exactKeysMax: Math.ceil(keys * 1.4),
    hasFingerprint: true,
    filterBitsPerKey: 16,
  })
  const key = new Int32Array(4)
  const fingerprint = new Int32Array(2)
  const stretches = new Stretches()
  const marks: Mark[] = []
  const part = keys / 20
  let wrong = 0
  let duplicates = 0

  const request = (i: number): void => {
    writeKey(i, key)
    writeFingerprint(i, fingerprint)
    if (index.lookup(key, fingerprint, NOW_MS) !== 'new') wrong++
    if (!index.admit(key, fingerprint, i & 255, NOW_MS)) wrong++
  }
  const duplicate = (i: number): void => {
    const earlier = (mixed(i ^ 0x2bad_f00d) >>> 0) % i
    const isSame = (i & 1) === 0
    writeKey(earlier, key)
    writeFingerprint(isSame ? earlier : earlier + 1, fingerprint)
    if (index.lookup(key, fingerprint, NOW_MS) !== (isSame ? 'same' : 'conflict')) wrong++
    if (index.flags !== (earlier & 255)) wrong++
  }

  for (let from = 0; from < keys; from += part) {
    const duplicatesBefore = duplicates
    const cpuBefore = cpuUs()
    const startedMs = performance.now()
    for (let i = from; i < from + part; i += STRETCH) {
      stretches.start()
      for (let j = i; j < i + STRETCH; j++) {
        request(j)
        if (j > 0 && (mixed(j + 77) >>> 0) / 2 ** 32 < DUPLICATE_SHARE) {
          duplicate(j)
          duplicates++
        }
      }
      // The first calls are compiled while they run.
      if (from > 0) stretches.stop()
    }
    const requests = part + duplicates - duplicatesBefore
    marks.push({
      keys: from + part,
      ns_per_request: ((performance.now() - startedMs) * 1e6) / requests,
      cpu_ns_per_request: ((cpuUs() - cpuBefore) * 1e3) / requests,
      accounted_bytes_per_key: index.exactBytes / index.exactKeys,
      resident_bytes_per_key: (residentBytes() - residentBefore) / index.exactKeys,
    })
  }

  const timeLookups = (first: number, step: number, expected: string): number => {
    const startedMs = performance.now()
    for (let n = 0; n < CHECKED; n++) {
      const i = first + n * step
      writeKey(i, key)
      writeFingerprint(i, fingerprint)
      if (index.lookup(key, fingerprint, NOW_MS) !== expected) wrong++
    }
    return ((performance.now() - startedMs) * 1e6) / CHECKED
  }
  const lookupHitNs = timeLookups(0, Math.max(1, Math.floor(keys / CHECKED)), 'same')
  const lookupMissNs = timeLookups(2 ** 30, 1, 'new')
  await stretches.close()
  if (index.exactKeys !== keys) wrong++

  return {
    keys,
    duplicates,
    wrong_verdicts: wrong,
    marks,
    resident_bytes_per_key_collected: (residentBytes({ collected: true }) - residentBefore) / index.exactKeys,
    lookup_hit_ns: lookupHitNs,
    lookup_miss_ns: lookupMissNs,
    longest_16_requests_wall_ms: stretches.longestWallMs,
    longest_16_requests_cpu_ms: stretches.longestCpuMs,
    longest_collection_ms: stretches.longestCollectionMs,
  }
}
