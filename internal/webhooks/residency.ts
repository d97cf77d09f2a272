import type { Problem } from '../problems/catalogue.js'
import { type ResidencyRegion, refusalOfCrossing, thisInstance } from '../residency/residency.js'
import type { StoredWebhook } from './endpoint.js'

/**
 * Why what is a tenant's may not go to a receiver of its own; undefined when it may. Asked when an endpoint is
 * registered and again before each delivery: a tenant may choose its region later.
 *
 * @param home the tenant's region
 */
export const refusalOfReceiver = (
  home: ResidencyRegion,
  instanceRegion: ResidencyRegion,
  { residency_region: region }: Pick<StoredWebhook, 'residency_region'>,
): Problem | undefined => refusalOfCrossing(home, [thisInstance(instanceRegion), { name: 'the receiver', region }])
