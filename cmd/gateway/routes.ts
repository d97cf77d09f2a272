import { accessRoutes } from '../../internal/access/access-routes.js'
import { openAttributionRoutes } from '../../internal/attribution/open-attribution-routes.js'
import { PATH as UNKNOWN_NAMES_PATH } from '../../internal/attribution/unknown-names/unknown-name-contract.js'
import { auditRoutes } from '../../internal/audit/audit-routes.js'
import { settingsOf } from '../../internal/auth/tenant.js'
import { consoleRoutes } from '../../internal/console/console-routes.js'
import { openViews } from '../../internal/console/views/view-routes.js'
import { keptCostObjects } from '../../internal/directory/cost-objects.js'
import { workloadHashes } from '../../internal/directory/directory.js'
import { eventLogRoutes } from '../../internal/event-log/event-log-routes.js'
import { openBlobs } from '../../internal/exports/blobs/open-blobs.js'
import { openExportRoutes } from '../../internal/exports/export-routes.js'
import { openScheduleRoutes } from '../../internal/exports/schedules/schedule-routes.js'
import { errorPageRoutes } from '../../internal/http/error-pages.js'
import { healthRoutes, type ReadinessOf, readinessOf, watchStore } from '../../internal/http/health.js'
import { withDescription } from '../../internal/http/openapi/openapi-routes.js'
import { rateLimitRoutes } from '../../internal/http/rate-limit-routes.js'
import { readsWithinRegion } from '../../internal/http/residency-guard.js'
import type { Route } from '../../internal/http/route.js'
import { passedOverTelemetry } from '../../internal/ingest/received/passed-over.js'
import { sourceRoutes } from '../../internal/ingest/received/source-routes.js'
import { partnerRoutes } from '../../internal/partner/partner-routes.js'
import { openAnnotationRoutes } from '../../internal/reports/annotations/annotation-routes.js'
import { openReports } from '../../internal/reports/open-reports.js'
import { openSentinelRoutes } from '../../internal/sentinel/sentinel-routes.js'
import { listAuditLog } from '../../internal/store/queries/audit-log.js'
import { type EventQuestion, listEvents } from '../../internal/store/queries/event-log.js'
import { listWebhookAttempts } from '../../internal/store/queries/webhook-attempts.js'
import { openBookRoutes } from '../../internal/valuation/books/book-routes.js'
import { openPrices } from '../../internal/valuation/open-prices.js'
import { openWebhookRoutes } from '../../internal/webhooks/webhook-routes.js'
import type { Gateway } from './gateway.js'

export interface OpenRoutes {
  readonly routes: readonly Route[]
  readonly readiness: ReadinessOf
  close(): Promise<void>
}

/** Records, and the names that their events state. */
const readsRecords = (path: string): boolean => path.startsWith('/v1/attribution') || path === UNKNOWN_NAMES_PATH

/**
 * Every route of the service, each area's own list after the other, and the OpenAPI document of all.
 *
 * @param extraCa PEM of authorities that tenants' targets may have besides the public ones
 */
export async function openRoutes(gateway: Gateway, extraCa: string | undefined): Promise<OpenRoutes> {
  const { access, admission, config, directory, store } = gateway
  const attribution = await openAttributionRoutes(gateway)
  const cohortMin = (tenantId: string): number => settingsOf(access.tenants.get(tenantId)).min_cohort
  const costObjectsOf = keptCostObjects(directory.directory, directory.revision)
  const reports = openReports({
    ...gateway,
    costObjectsOf: (tenantId) =>
      settingsOf(access.tenants.get(tenantId)).cohort_scope === 'people' ? costObjectsOf(tenantId) : undefined,
    prices: await openPrices(gateway),
    notPeople: (tenantId) => workloadHashes(directory.directory, tenantId, gateway.identityKeyOf(tenantId)),
    cohortMin,
  })
  const eventLog = {
    listEvents: (question: EventQuestion, signal: AbortSignal) => listEvents(store, question, signal),
    keptDays: config.eventLogDays,
  }
  const blobs = await openBlobs(config)
  const readiness = readinessOf(
    {
      broker: gateway.brokerWatch,
      store: watchStore(store, gateway.clock),
      credentials: access.credentials,
      ...admission.space,
    },
    gateway.leaving,
  )
  const views = await openViews({
    ...gateway,
    nameOf: (tenantId, id) => access.oauth.findUser(id)?.username ?? gateway.credentialNames(tenantId).get(id),
  })
  const routes = [
    ...healthRoutes(readiness),
    ...errorPageRoutes(gateway.baseUrl.startsWith('https:')),
    ...consoleRoutes(gateway.builtConsole, gateway.baseUrl, config.intakePort),
    ...admission.routes,
    ...views.routes,
    ...accessRoutes(access, { ...gateway, onDeleted: views.leave }),
    ...readsWithinRegion(await openBookRoutes({ ...gateway, cohortMin }), gateway),
    ...attribution.routes.flatMap((one) => (readsRecords(one.path) ? readsWithinRegion([one], gateway) : [one])),
    ...readsWithinRegion(reports.routes, gateway),
    ...(await openAnnotationRoutes(gateway)),
    ...readsWithinRegion(
      await openSentinelRoutes({
        ...gateway,
        ...eventLog,
        sourcesOf: (tenantId) => directory.directory.sources(tenantId),
        passedOverOf: async (tenantId, nowMs) => passedOverTelemetry(await gateway.received.read(tenantId, nowMs)),
        zoneOf: (tenantId) => settingsOf(access.tenants.get(tenantId)).time_zone,
      }),
      gateway,
    ),
    ...readsWithinRegion(sourceRoutes(gateway), gateway),
    ...partnerRoutes({
      ...gateway,
      ...access.oauth.partner,
      connectors: access.connectors,
      withClient: access.withClient,
      attributions: attribution.reads,
      admission: admission.deps,
    }),
    ...(await openWebhookRoutes({
      ...gateway,
      targets: config,
      listAttempts: (question, signal) => listWebhookAttempts(store, question, signal),
    })),
    ...(await openExportRoutes({
      ...gateway,
      blobs,
      downloadsKey: await gateway.signingKey('downloads'),
      downloadBudgetOf: (tenantId) => access.budgetsOf(tenantId, 'downloads').report,
    })),
    ...(await openScheduleRoutes({ ...gateway, blobs, targets: config, extraCa })),
    ...rateLimitRoutes(gateway),
    ...readsWithinRegion(eventLogRoutes({ ...gateway, ...eventLog }), gateway),
    ...auditRoutes({ ...gateway, list: (question, signal) => listAuditLog(store, question, signal) }),
  ]
  return { routes: withDescription(gateway, routes), readiness, close: reports.close }
}
