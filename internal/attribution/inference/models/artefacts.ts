import { createHash } from 'node:crypto'
import type { ObjectStore } from '@nats-io/obj'
import { LRUCache } from 'lru-cache'
import { readObject } from '../../../broker/objects.js'
import { decodeModel } from '../learning/artefact.js'
import type { Model } from '../learning/model.js'
import type { FaultKind } from './degradation.js'
import type { StoredModel } from './version.js'

export type LoadedModel =
  | { readonly kind: 'model'; readonly model: Model }
  | { readonly kind: 'fault'; readonly fault: FaultKind; readonly cause?: unknown }

/** A batch waits no longer than that for a model that is not in memory yet. */
const READ_MS_MAX = 2_000

/** Reads a version's artefact, whose bytes must be the ones that its trainer wrote. Never throws. */
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

/** Bytes of artefacts whose models are kept in memory. */
const KEPT_BYTES_MAX = 256 * 1024 * 1024

interface CachedModel {
  readonly loading: Promise<LoadedModel>
  readonly bytes: number
}

/** The models that this process has in memory. */
export class ModelCache {
  private readonly load: (version: StoredModel) => Promise<LoadedModel>
  private readonly cached: LRUCache<string, CachedModel>

  constructor(load: (version: StoredModel) => Promise<LoadedModel>, bytesMax = KEPT_BYTES_MAX) {
    this.load = load
    this.cached = new LRUCache({
      maxSize: bytesMax,
      // The cache refuses a value above its maximum, and a larger model would be read again for each batch: it counts as
      // the whole cache instead.
      sizeCalculation: ({ bytes }) => Math.min(Math.max(1, bytes), bytesMax),
    })
  }

  /** A version in memory, read when it is not there yet. A fault is not cached: the next call reads again. */
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
