import { JOBS } from '../../streams/buckets.js'
import type { Budget } from '../auth/rate-limits.js'
import type { Broker } from '../broker/connect.js'
import type { Publisher } from '../broker/publisher.js'
import { watchRecords } from '../broker/watched-records.js'
import type { Mutate } from '../http/mutations/mutations.js'
import type { CursorCodec } from '../http/resource/pages.js'
import type { Route } from '../http/route.js'
import type { TenantIds } from '../ids/ids.js'
import type { Dimension } from '../records/dimensions.js'
import { type ResidencyRegion, thisInstance } from '../residency/residency.js'
import type { BlobStore } from './blobs/blob-store.js'
import { createDownloadTokens } from './download-url.js'
import type { StoredJob } from './export-job.js'
import { exportRoutes } from './export-routes.js'
import { isQueuedIn, jobQueue } from './queue.js'

export interface ExportsDeps {
  readonly broker: Broker
  readonly publish: Publisher['publish']
  readonly onLost: (cause: unknown) => void
  readonly mutate: Mutate
  readonly blobs: BlobStore
  /** The instance's secret that signs download URLs. */
  readonly downloadsKey: Uint8Array
  readonly instanceRegion: string | null
  readonly residencyRegionOf: (tenantId: string) => ResidencyRegion
  readonly downloadBudgetOf: (tenantId: string) => Budget
  readonly dimensionsOf: (tenantId: string) => readonly Dimension[]
  readonly isBrokerUp: () => boolean
  readonly baseUrl: string
  readonly cursors: CursorCodec
  readonly idsOf: (tenantId: string) => TenantIds
  readonly clock: () => number
}

/** Connects the routes of exports to the bucket of jobs and the queue. */
export async function openExportRoutes(deps: ExportsDeps): Promise<readonly Route[]> {
  return exportRoutes({
    ...deps,
    jobs: await watchRecords<StoredJob>(await deps.broker.bucket(JOBS), deps.onLost),
    enqueue: jobQueue(deps.publish, isQueuedIn(deps.broker)),
    tokens: createDownloadTokens(deps.downloadsKey),
    places: [thisInstance(deps.instanceRegion), deps.blobs.place],
  })
}
