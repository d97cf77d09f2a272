import type { Problem } from '../problems/problem-catalogue.js'
import { type ResidencyRegion, refusalOfCrossing, thisInstance } from '../residency/residency.js'
import type { StoredWebhook } from './endpoint.js'

/**
 * Why a tenant's data may not be sent to one of its receivers; undefined when it may. Checked when an endpoint is
 * registered and again before each delivery, since the tenant may set its region later.
 *
 * @param home the tenant's region
 */
export const refusalOfReceiver = (
  home: ResidencyRegion,
  instanceRegion: ResidencyRegion,
  { residency_region: region }: Pick<StoredWebhook, 'residency_region'>,
): Problem | undefined => refusalOfCrossing(home, [thisInstance(instanceRegion), { name: 'the receiver', region }])
