import { MODEL_SHADOWS } from '../../../streams/buckets.js'
import type { Broker } from '../../broker/connect.js'
import { watchRecords } from '../../broker/watched-records.js'
import type { Route } from '../../http/route.js'
import { type ModelRoutesDeps, modelRoutes } from './model-routes.js'
import type { StoredShadow } from './shadow.js'

/** Opens the model routes on a mirror of the shadow counts. @param onLost called once when the watch of a bucket is lost */
export async function openModelRoutes(
  broker: Broker,
  deps: Omit<ModelRoutesDeps, 'shadowsOf'>,
  onLost: (cause: unknown) => void,
): Promise<readonly Route[]> {
  const shadows = await watchRecords<StoredShadow>(await broker.bucket(MODEL_SHADOWS), onLost)
  return modelRoutes({ ...deps, shadowsOf: shadows.of })
}
