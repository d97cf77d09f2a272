import { memoryShareBytes } from '../../process/memory.js'
import { AdmissionIndex } from '../../repeats/admission-index.js'
import { gauge, whenRead } from '../../telemetry/metrics.js'

const INDEX_BYTES = gauge('admission_index_bytes', 'Memory of the index of admitted Idempotency-Keys.')
const INDEX_KEYS = gauge('admission_index_keys', 'Idempotency-Keys that the index of admitted ones holds exactly.')

const HOUR_MS = 60 * 60 * 1000
/** How long an Idempotency-Key counts. */
export const KEY_WINDOW_MS = 24 * HOUR_MS
/** Keys held exactly, at most 64 bytes each. Filters cover the older ones, of which the read model is asked. */
const KEYS_EXACT_MAX = 8_000_000
/** Share of the memory that the filters may take. */
const FILTERS_SHARE = 1 / 16

/** The empty index of the keys that the gateways admitted. @param stopping ends its measurement */
export function openKeys(stopping: AbortSignal): AdmissionIndex {
  const keys = new AdmissionIndex({
    windowMs: KEY_WINDOW_MS,
    periodMs: 4 * HOUR_MS,
    exactKeysMax: KEYS_EXACT_MAX,
    hasFingerprint: true,
    filterBitsPerKey: 16,
    filterBytesMax: () => memoryShareBytes(FILTERS_SHARE),
  })
  const stop = whenRead(() => {
    INDEX_BYTES.set(keys.exactBytes + keys.filterBytes)
    INDEX_KEYS.set(keys.exactKeys)
  })
  stopping.addEventListener('abort', stop, { once: true })
  return keys
}
