import { EXPORT_PROGRESS, EXPORT_SCHEDULES } from '../../../streams/buckets.js'
import type { Broker } from '../../broker/connect.js'
import { mirrorBucket } from '../../broker/mirror.js'
import { watchRecords } from '../../broker/watched-records.js'
import type { Route } from '../../http/route.js'
import { guardOf, type TargetSettings, targetRulesOf } from '../../outbound/targets.js'
import { thisInstance } from '../../residency/residency.js'
import type { BlobStore } from '../blobs/blob-store.js'
import { openDestination } from './destination.js'
import type { StoredProgress } from './progress.js'
import type { Schedule } from './schedule.js'
import { type ScheduleRoutesDeps, scheduleRoutes } from './schedule-routes.js'

type Given = 'mutate' | 'idsOf' | 'cursors' | 'clock' | 'masterKeys' | 'residencyRegionOf' | 'dimensionsOf'

export interface OpenScheduleRoutesDeps extends Pick<ScheduleRoutesDeps, Given> {
  readonly broker: Broker
  readonly blobs: Pick<BlobStore, 'place'>
  readonly targets: TargetSettings
  readonly extraCa: string | undefined
  readonly baseUrl: string
  readonly instanceRegion: string | null
  /** Called once when the watch of a KV bucket is lost. */
  readonly onLost: (cause: unknown) => void
}

/** The routes of export schedules, backed by a broker's buckets. */
export async function openScheduleRoutes(deps: OpenScheduleRoutesDeps): Promise<readonly Route[]> {
  const { broker, targets, baseUrl, onLost } = deps
  const progress = await mirrorBucket<StoredProgress>(await broker.bucket(EXPORT_PROGRESS), onLost)
  const calling = { targetRules: targetRulesOf(targets, baseUrl), guard: guardOf(targets) }
  return scheduleRoutes({
    ...deps,
    ...calling,
    schedules: await watchRecords<Schedule>(await broker.bucket(EXPORT_SCHEDULES), onLost),
    progressOf: progress.get,
    openDestination: (schedule) => openDestination(schedule, { ...deps, ...calling }),
    places: [thisInstance(deps.instanceRegion), deps.blobs.place],
  })
}
