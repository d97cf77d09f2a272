import type { Route } from '../http/route.js'
import type { BulkDeps } from './bulk/bulk.js'
import { admissionRoutes } from './invocation-routes.js'
import { type InvocationStatusDeps, invocationStatusRoutes } from './invocation-status-routes.js'
import { type ObservationDeps, observationRoutes } from './observations/observation-routes.js'

export interface IngestRoutesDeps {
  readonly invocations: BulkDeps
  readonly observations: ObservationDeps
  readonly invocationStatus: InvocationStatusDeps
}

/**
 * All routes of the ingest area: `POST /api/v1/invocations`, `POST /api/v1/events` and
 * `GET /api/v1/invocations/{invocation_id}`. `openAdmission` supplies the dependencies and returns these routes as
 * `routes`, so that the gateway's main only concatenates them with the routes of the other areas.
 */
export const ingestRoutes = (deps: IngestRoutesDeps): readonly Route[] => [
  ...admissionRoutes(deps.invocations),
  ...observationRoutes(deps.observations),
  ...invocationStatusRoutes(deps.invocationStatus),
]
