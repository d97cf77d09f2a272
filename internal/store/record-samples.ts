import type { RecordSample } from './queries/records/record-sample.js'

/** Samples of the tenants that ask, kept by each process for itself: made when a tenant first asks, and anew now and then. */
export interface RecordSamples {
  /** @returns the newest there is; undefined as long as there is none, or none is made of so few records */
  of(tenantId: string): RecordSample | undefined
  /** Ends the one being made. */
  close(): void
}

/** What is common and what is rare changes slowly. */
const NEW_AFTER_MS = 10 * 60 * 1000
/** Some megabyte each; the tenant that has not asked for longest is forgotten. */
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
  const tenants = new Map<string, Kept>()
  const closing = new AbortController()
  // One at a time: nobody waits for them.
  let last: Promise<unknown> = Promise.resolve()

  const renew = (tenantId: string, before: RecordSample | undefined): Kept => {
    const kept: Kept = { sample: before, askedAtMs: clock() }
    last = last
      .then(() => (closing.signal.aborted ? undefined : load(tenantId, closing.signal)))
      .then((sample) => {
        kept.sample = sample ?? before
      })
      // Pages are found without it.
      .catch(() => undefined)
    return kept
  }

  return {
    of(tenantId) {
      const known = tenants.get(tenantId)
      const isOld = known === undefined || clock() - known.askedAtMs > NEW_AFTER_MS
      const kept = isOld ? renew(tenantId, known?.sample) : known
      // The one that asked last stands last.
      tenants.delete(tenantId)
      tenants.set(tenantId, kept)
      for (const [oldest] of tenants) {
        if (tenants.size <= TENANTS_MAX) break
        tenants.delete(oldest)
      }
      return kept.sample
    },
    close: () => closing.abort(),
  }
}
