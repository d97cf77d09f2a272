import type { StoredConnector } from '../access/connectors/connector.js'
import { healthReport } from '../access/connectors/connector-contract.js'
import { type HealthDeps, reportHealth } from '../access/connectors/connector-health.js'
import { shownHealth } from '../access/connectors/connector-routes.js'
import { ISSUE_PARTNER_TOKEN, REVOKE_PARTNER_TOKEN } from '../access/oauth/oauth-contract.js'
import { type AttributionRoutesDeps, answerWithPage } from '../attribution/records/record-routes.js'
import type { Caller } from '../auth/authenticate.js'
import type { Operation } from '../http/contract/operation.js'
import type { Exchange } from '../http/exchange.js'
import type { Mutate } from '../http/mutations/mutations.js'
import type { Route, TenantRoute } from '../http/route.js'
import type { BulkDeps } from '../ingest/bulk/bulk.js'
import { INGESTION, readAndAdmit } from '../ingest/invocation-routes.js'
import { type Problem, problem } from '../problems/problem-catalogue.js'
import { type ResidencyRegion, refusalOfCrossing, thisInstance } from '../residency/residency.js'
import {
  EXAMPLE_REPORT,
  GET_OWN_CONNECTOR,
  INGEST_PARTNER_INVOCATIONS,
  LIST_PARTNER_ATTRIBUTIONS,
  PARTNER,
  REPORT_HEALTH,
  type ShownOwnConnector,
} from './partner-contract.js'

export interface PartnerRoutesDeps extends HealthDeps {
  readonly mutate: Mutate
  readonly issueTokenAt: (path: string, operation: Operation) => Route
  readonly revokeTokenAt: (path: string, operation: Operation) => Route
  /** The connector that a client acts for. */
  readonly withClient: (clientId: string) => StoredConnector | undefined
  readonly residencyRegionOf: (tenantId: string) => ResidencyRegion
  /** Null when it is not configured. */
  readonly instanceRegion: string | null
  readonly attributions: Pick<AttributionRoutesDeps, 'list' | 'watermark' | 'cursors' | 'dimensionsOf' | 'clock'>
  readonly admission: BulkDeps
}

/** The route's number in the hash of Idempotency-Keys; the tenants' own routes have other numbers. */
const INGESTION_ROUTE = 3

/**
 * `/api/partner/v1`: the operations of a partner on behalf of a tenant, through a connector. Every route
 * takes the connector from the credential: no parameter extends its access.
 */
export function partnerRoutes(deps: PartnerRoutesDeps): readonly Route[] {
  const { mutate, withClient } = deps
  /** The credential of a connector that was removed a moment ago is no longer valid. */
  const asConnector =
    (handle: (exchange: Exchange, caller: Caller, connector: StoredConnector) => void | Promise<void>) =>
    (exchange: Exchange, caller: Caller): void | Promise<void> => {
      const connector = withClient(caller.principal)
      return connector === undefined ? exchange.replyProblem(CONNECTOR_REMOVED) : handle(exchange, caller, connector)
    }

  return [
    deps.issueTokenAt(`${PARTNER}/oauth/token`, ISSUE_PARTNER_TOKEN),
    deps.revokeTokenAt(`${PARTNER}/oauth/revoke`, REVOKE_PARTNER_TOKEN),
    forPartners({
      method: 'get',
      path: `${PARTNER}/connector`,
      access: 'any',
      rateClass: 'control',
      operation: GET_OWN_CONNECTOR,
      handle: asConnector((exchange, _, connector) => exchange.replyJson('200 OK', show(connector))),
    }),
    forPartners(
      mutate({
        method: 'post',
        path: `${PARTNER}/connector/health`,
        access: 'any',
        rateClass: 'control',
        action: 'connector.report_health',
        operation: REPORT_HEALTH,
        body: { schema: healthReport, example: EXAMPLE_REPORT },
        async handle({ caller, body }) {
          const connector = withClient(caller.principal)
          const reported = connector && (await reportHealth(connector.id, body, deps))
          if (reported === undefined) return CONNECTOR_REMOVED
          return { status: 200, body: show(reported), target: reported.id }
        },
      }),
    ),
    forPartners({
      ...INGESTION,
      path: `${PARTNER}/invocations`,
      operation: INGEST_PARTNER_INVOCATIONS,
      handle: asConnector((exchange, caller, connector) =>
        readAndAdmit(exchange, sendingFor(caller, connector), deps.admission, INGESTION_ROUTE),
      ),
    }),
    forPartners({
      method: 'get',
      path: `${PARTNER}/attribution`,
      access: 'read:attribution',
      rateClass: 'read',
      operation: LIST_PARTNER_ATTRIBUTIONS,
      handle: asConnector((exchange, caller, connector) => listAttributions(exchange, caller, connector, deps)),
    }),
  ]
}

const forPartners = (route: TenantRoute): TenantRoute => ({ ...route, isForPartners: true })

const CONNECTOR_REMOVED: Problem = problem('INVALID_CREDENTIALS', 'The connector no longer exists.')

/** Events belong to the connector, whichever of its secrets was used, and must be from its source systems. */
const sendingFor = (caller: Caller, { id, source_systems }: StoredConnector): Caller => ({
  ...caller,
  principal: id,
  ingestionLayers: new Set(source_systems),
})

function listAttributions(
  exchange: Exchange,
  caller: Caller,
  { id, source_systems: ingestionLayers, residency_lane: lane }: StoredConnector,
  { residencyRegionOf, instanceRegion, attributions }: PartnerRoutesDeps,
): void | Promise<void> {
  const places = [thisInstance(instanceRegion), { name: "the connector's lane", region: lane }]
  const blocked = refusalOfCrossing(residencyRegionOf(caller.tenantId), places)
  if (blocked !== undefined) return exchange.replyProblem(blocked)
  // How the tenant calls its credentials is no news for a partner.
  const reads = { ...attributions, credentialNames: () => new Map<string, string>() }
  return answerWithPage(exchange, caller, `${PARTNER}/attribution ${id}`, reads, { ingestionLayers })
}

const show = (connector: StoredConnector): ShownOwnConnector => ({
  id: connector.id,
  tenant_id: connector.tenant_id,
  name: connector.name,
  scopes: [...connector.scopes],
  source_systems: [...connector.source_systems],
  residency_lane: connector.residency_lane,
  health: shownHealth(connector.health),
})
