import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ObjectStore } from '@nats-io/obj'
import { LRUCache } from 'lru-cache'
import { readObject } from '../../broker/objects.js'
import { decodeModel } from '../learning/artefact.js'
import type { Model } from '../learning/model.js'
import type { FaultKind } from './degradation.js'
import type { StoredModel } from './model-version.js'
import type { ServingBoard } from './serving-board.js'

export type LoadedModel =
  | { readonly kind: 'model'; readonly model: Model }
  | { readonly kind: 'fault'; readonly fault: FaultKind; readonly cause?: unknown }

/** Longest time that a batch waits for a model that is not in memory yet. */
const READ_MS_MAX = 2_000

/** Loads the artefact of a version and checks its SHA-256. Never throws. */
export async function loadModel(store: ObjectStore, { artefact }: StoredModel): Promise<LoadedModel> {
  if (artefact === null) return { kind: 'fault', fault: 'missing' }
  const read = await readObject(store, artefact.object, READ_MS_MAX)
  if (read.kind === 'unavailable') return { kind: 'fault', fault: 'unavailable', cause: read.cause }
  if (read.kind !== 'object') return { kind: 'fault', fault: read.kind }
  if (digestOf(read.bytes) !== artefact.sha256) return { kind: 'fault', fault: 'corrupt' }
  const decoded = decodeModel(read.bytes)
  return decoded.kind === 'model' ? decoded : { kind: 'fault', fault: 'corrupt', cause: decoded.reason }
}

export const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Maximum total artefact size of the models in memory. */
const CACHE_BYTES_MAX = 256 * 1024 * 1024

interface CachedModel {
  readonly loading: Promise<LoadedModel>
  readonly bytes: number
}

/** The models in the memory of this process. */
export class ModelCache {
  private readonly load: (version: StoredModel) => Promise<LoadedModel>
  private readonly cached: LRUCache<string, CachedModel>

  constructor(load: (version: StoredModel) => Promise<LoadedModel>, bytesMax = CACHE_BYTES_MAX) {
    this.load = load
    this.cached = new LRUCache({
      maxSize: bytesMax,
      // The cache rejects a value above its maximum, and a larger model would then be read again for each batch: count
      // it as the whole cache instead.
      sizeCalculation: ({ bytes }) => Math.min(Math.max(1, bytes), bytesMax),
    })
  }

  /** Returns a version from memory, loading it if needed. A fault is not cached: the next call loads again. */
  get(version: StoredModel): Promise<LoadedModel> {
    const { id } = version
    const known = this.cached.get(id)
    if (known !== undefined) return known.loading
    const loading = this.load(version).then((loaded) => {
      if (loaded.kind === 'fault') this.cached.delete(id)
      return loaded
    })
    this.cached.set(id, { loading, bytes: version.artefact?.bytes ?? 0 })
    return loading
  }
}

export interface RecheckDeps {
  readonly board: ServingBoard
  readonly load: (version: StoredModel) => Promise<LoadedModel>
  readonly owns: (key: string) => boolean
}

const RECHECK_EVERY_MS = 10_000

/**
 * Retries artefacts that could not be loaded, until `signal` aborts. A version whose artefact loads is cleared of its
 * fault and serves again.
 */
export async function recheckFaults(deps: RecheckDeps, signal: AbortSignal, everyMs = RECHECK_EVERY_MS): Promise<void> {
  while (!signal.aborted) {
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
    for (const tenantId of [...deps.board.tenantsWithFaults()]) {
      if (signal.aborted) return
      await recheck(tenantId, deps)
    }
  }
}

async function recheck(tenantId: string, { board, load, owns }: RecheckDeps): Promise<void> {
  if (!owns(`degradation.${tenantId}`)) return
  const fault = board.faultOf(tenantId)
  // Only predictions for events show whether a slow version is fast enough again.
  if (fault === undefined || fault.kind === 'slow') return
  const version = board.version(fault.model_id)
  if (version !== undefined && (await load(version)).kind === 'model') board.clearFault(version)
}
