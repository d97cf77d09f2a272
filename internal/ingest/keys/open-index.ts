import { memoryShareBytes } from '../../process/memory.js'
import { AdmissionIndex } from '../../repeats/admission-index.js'
import { gauge, whenRead } from '../../telemetry/metrics.js'
import { createKeyConfirmation, type FindKeys } from './key-confirmation.js'
import {
  type AdmissionHistory,
  createIndexLoader,
  EVENT_WINDOW_MS,
  type IndexLoader,
  type IndexOwners,
  KEY_WINDOW_MS,
  type LoadedIndex,
  type LoaderSettings,
} from './load-index.js'

const INDEX_BYTES = gauge('admission_index_bytes', 'Memory of the index of what was admitted: keys, events.', ['index'])
const INDEX_KEYS = gauge('admission_index_keys', 'Entries of the index of what was admitted that it holds exactly.', [
  'index',
])

const OWNED_SLOTS = gauge(
  'admission_index_slots',
  'Of 4,096 slots of keys and of event ids: those that this gateway owns, and of them those whose history is loading.',
  ['index', 'state'],
)

const HOUR_MS = 60 * 60 * 1000
/** Keys held exactly, at most 64 bytes each. Filters cover the older ones. */
const KEYS_EXACT_MAX = 8_000_000
const EVENTS_EXACT_MAX = 8_000_000
/** Shares of the memory that the filters may take, which hold the older keys and ids of this gateway's share. */
const KEY_FILTERS_SHARE = 1 / 32
const EVENT_FILTERS_SHARE = 1 / 8

/** Where the index finds what was admitted before. */
export interface IndexSources {
  readonly history: AdmissionHistory
  /** Finds keys in the read model that were admitted since an instant. */
  readonly findKeys: (hashes: readonly Uint8Array[], sinceMs: number) => ReturnType<FindKeys>
}

export interface IndexSettings extends LoaderSettings {
  /** Aborted when the gateway stops. */
  readonly stopping: AbortSignal
}

/**
 * Creates the empty index of admitted keys and events, with the loader that fills it from the log and the read model.
 */
export function openIndex(
  { history, findKeys }: IndexSources,
  owners: IndexOwners,
  { clock, isBrokerAnswering, log, stopping }: IndexSettings,
): { readonly index: LoadedIndex; readonly loader: IndexLoader } {
  const index = emptyIndex(owners)
  const readModel = createKeyConfirmation((hashes) => findKeys(hashes, clock() - KEY_WINDOW_MS), clock, log)
  const loader = createIndexLoader(index, owners, history, readModel, { clock, isBrokerAnswering, log })
  stopping.addEventListener('abort', measure(index, owners, loader), { once: true })
  return { index, loader }
}

/** An index of nothing yet. Its filters will hold what this gateway owns. */
export function emptyIndex(owners: IndexOwners): LoadedIndex {
  return {
    keys: new AdmissionIndex({
      windowMs: KEY_WINDOW_MS,
      periodMs: 4 * HOUR_MS,
      exactKeysMax: KEYS_EXACT_MAX,
      hasFingerprint: true,
      isKept: (key, at) => owners.owns(key, at),
      filterBitsPerKey: 16,
      filterBytesMax: () => memoryShareBytes(KEY_FILTERS_SHARE),
    }),
    events: new AdmissionIndex({
      windowMs: EVENT_WINDOW_MS,
      periodMs: 24 * HOUR_MS,
      exactKeysMax: EVENTS_EXACT_MAX,
      hasFingerprint: false,
      isKept: (key, at) => owners.owns(key, at),
      filterBitsPerKey: 16,
      filterBytesMax: () => memoryShareBytes(EVENT_FILTERS_SHARE),
    }),
  }
}

/** @returns ends the measurements */
function measure(index: LoadedIndex, owners: IndexOwners, loader: IndexLoader): () => void {
  const measureOne = (name: keyof LoadedIndex): void => {
    const { exactBytes, filterBytes, exactKeys } = index[name]
    INDEX_BYTES.set({ index: name }, exactBytes + filterBytes)
    INDEX_KEYS.set({ index: name }, exactKeys)
    OWNED_SLOTS.set({ index: name, state: 'owned' }, owners.slots.length)
    OWNED_SLOTS.set({ index: name, state: 'loading' }, loader.loadingSlots())
  }
  return whenRead(() => {
    measureOne('keys')
    measureOne('events')
  })
}
