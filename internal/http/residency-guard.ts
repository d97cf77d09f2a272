import { type ResidencyRegion, refusalOfCrossing, thisInstance } from '../residency/residency.js'
import type { Route } from './route.js'

export interface ResidencyDeps {
  readonly residencyRegionOf: (tenantId: string) => ResidencyRegion
  readonly instanceRegion: string | null
}

/**
 * The routes, of which those that read refuse a tenant whose data must stay in another region than this instance's:
 * what the service may not hold for a tenant it does not show either. Mutations stay: a correction names no data.
 */
export const readsWithinRegion = (routes: readonly Route[], deps: ResidencyDeps): Route[] =>
  routes.map((route) => {
    if (route.access === 'public' || route.method !== 'get') return route
    const { operation, handle } = route
    return {
      ...route,
      operation: { ...operation, problems: [...(operation.problems ?? []), 'RESIDENCY_BLOCKED'] },
      handle: (exchange, caller) => {
        const blocked = refusalOfCrossing(deps.residencyRegionOf(caller.tenantId), [thisInstance(deps.instanceRegion)])
        return blocked === undefined ? handle(exchange, caller) : exchange.replyProblem(blocked)
      },
    }
  })
