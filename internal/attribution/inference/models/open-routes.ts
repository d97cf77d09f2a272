import { MODEL_SHADOWS, MODELS } from '../../../../streams/buckets.js'
import type { Broker } from '../../../broker/connect.js'
import { watchRecords } from '../../../broker/watched-records.js'
import type { Route } from '../../../http/route.js'
import { type ModelRoutesDeps, modelRoutes } from './routes.js'
import type { StoredShadow } from './shadow-log.js'
import type { StoredModel } from './version.js'

/** Opens the model routes on mirrors of the registry buckets. @param lost called once when the watch of a bucket is lost */
export async function openModelRoutes(
  broker: Broker,
  deps: Omit<ModelRoutesDeps, 'models' | 'shadowsOf'>,
  onLost: (cause: unknown) => void,
): Promise<readonly Route[]> {
  const models = await watchRecords<StoredModel>(await broker.bucket(MODELS), onLost)
  const shadows = await watchRecords<StoredShadow>(await broker.bucket(MODEL_SHADOWS), onLost)
  return modelRoutes({ ...deps, models, shadowsOf: shadows.of })
}
