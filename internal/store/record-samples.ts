import { LRUCache } from 'lru-cache'
import { Limiter } from '../process/limiter.js'
import type { RecordSample } from './queries/records/record-sample.js'

/**
 * Samples of the tenants that ask, kept by each process for itself: made when a tenant first asks, and again now and
 * then.
 */
export interface RecordSamples {
  /** @returns the newest there is; undefined as long as there is none, or none is made of so few records */
  of(tenantId: string): RecordSample | undefined
  /** Ends the one being made. */
  close(): void
}

/** What is common and what is rare changes slowly. */
const NEW_AFTER_MS = 10 * 60 * 1000
/** A sample takes about 1 MB. */
const TENANTS_MAX = 32

interface Kept {
  sample: RecordSample | undefined
  readonly askedAtMs: number
}

/** @param load makes one; what it throws counts as having none until it is time for the next */
export function keepRecordSamples(
  load: (tenantId: string, signal: AbortSignal) => Promise<RecordSample | undefined>,
  clock: () => number = Date.now,
): RecordSamples {
  const tenants = new LRUCache<string, Kept>({ max: TENANTS_MAX })
  const closing = new AbortController()
  // One at a time, since no request waits for them.
  const loading = new Limiter(1)

  const renew = (tenantId: string, before: RecordSample | undefined): Kept => {
    const kept: Kept = { sample: before, askedAtMs: clock() }
    loading
      .run(async () => (closing.signal.aborted ? undefined : load(tenantId, closing.signal)))
      .then((sample) => {
        kept.sample = sample ?? before
      })
      // Pages are found without it.
      .catch(() => undefined)
    tenants.set(tenantId, kept)
    return kept
  }

  return {
    of(tenantId) {
      const known = tenants.get(tenantId)
      const isOld = known === undefined || clock() - known.askedAtMs > NEW_AFTER_MS
      return (isOld ? renew(tenantId, known?.sample) : known).sample
    },
    close: () => closing.abort(),
  }
}
