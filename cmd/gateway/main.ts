/**
 * The gateway: every HTTP route, and the admission of invocations. It needs the broker to start; later it admits
 * without the broker for a while (spool). Without the read model it admits, and answers reads with 503.
 */
import { settingsOf, trustedFieldsOf } from '../../internal/auth/tenant.js'
import { serviceVersion } from '../../internal/config/version.js'
import { PARSER_ENVIRONMENT } from '../../internal/http/builds.js'
import { openHttp } from '../../internal/http/open-http.js'
import { openIntake } from '../../internal/ingest/open-intake.js'
import { openProbe } from '../../internal/ingest/probe/probe.js'
import { readExtraCa } from '../../internal/outbound/extra-ca.js'
import { runMain } from '../../internal/process/main.js'
import { openSql } from '../../internal/sql/sql-answers.js'
import { setBuildInfo } from '../../internal/telemetry/build-info.js'
import { configureRole, connectRole } from '../role.js'
import { GATEWAY_SETTINGS, openGateway } from './gateway.js'
import { openRoutes } from './routes.js'

Object.assign(process.env, PARSER_ENVIRONMENT)
runMain('gateway', async () => {
  const configured = configureRole('gateway', GATEWAY_SETTINGS)
  const http = openHttp(configured.config)
  const extraCa = readExtraCa(configured.config.webhookCaFile)
  const role = await connectRole(configured, { decidesPartitions: true, makesSpans: true })
  const gateway = await openGateway(role, http)
  const routes = await openRoutes(gateway, extraCa)
  const { authenticator, partnerAuthenticator, credentials } = gateway.access
  const server = await http.serve(routes.routes, {
    authenticator,
    partnerAuthenticator,
    credentialsAwayMs: credentials.awayMs,
    leaving: role.leaving,
    readiness: routes.readiness,
    log: role.log,
  })
  setBuildInfo(serviceVersion(), http.httpBuild)
  role.log.info({ port: server.port, http: http.httpBuild, node: process.version }, 'listening')
  const beside = { ...configured.config, leaving: role.leaving }
  const healthOf = (surface?: 'ingestion') => ({ ...http, readiness: () => routes.readiness(surface) })
  const intake = await openIntake(
    { ...beside, health: healthOf('ingestion') },
    {
      ...gateway,
      authenticator,
      credentialsAwayMs: credentials.awayMs,
      admission: gateway.admission.deps,
      trustedFieldsOf: (tenantId, source) => trustedFieldsOf(settingsOf(gateway.access.tenants.get(tenantId)), source),
    },
  )

  const probing = openProbe(
    {
      ...gateway,
      everyMs: configured.config.probeEveryMs,
      admission: gateway.admission.deps,
      budgetsOf: gateway.access.budgetsOf,
    },
    role.signal,
  )

  const sql = await openSql(
    { ...beside, port: beside.sqlPort, health: healthOf() },
    {
      ...gateway,
      findUser: gateway.access.sqlUsers.get,
      budgetsOf: gateway.access.budgetsOf,
      credentialsAwayMs: credentials.awayMs,
    },
  )

  const isReplaced = await role.stopped(configured.config.drainSeconds)
  await probing
  await Promise.all([server, intake, sql].map((each) => each.drain(isReplaced)))
  await gateway.drain()
  await role.close()
  await gateway.records.close()
  await sql.close()
  await routes.close()
})
