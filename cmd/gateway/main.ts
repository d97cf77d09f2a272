/**
 * The gateway: every HTTP route, and the admission of invocations. It needs the broker to start; later it admits without
 * the broker for a while (spool). Without the read model it admits, and answers reads with 503.
 */
import { openHttp } from '../../internal/http/open.js'
import { runMain } from '../../internal/process/main.js'
import { configureRole, connectRole } from '../role.js'
import { GATEWAY_SETTINGS, openGateway } from './gateway.js'
import { openRoutes } from './routes.js'

runMain('gateway', async () => {
  const configured = configureRole('gateway', GATEWAY_SETTINGS)
  const http = await openHttp(configured.config, configured.log)
  const role = await connectRole(configured)
  const gateway = await openGateway(role, http)
  const routes = await openRoutes(gateway)
  const { authenticator, partnerAuthenticator, credentials } = gateway.access
  const server = await http.serve(routes.routes, {
    authenticator,
    partnerAuthenticator,
    credentialsAwayMs: credentials.awayMs,
    log: role.log,
  })
  role.log.info({ port: server.port }, 'listening')

  await role.stopped()
  await server.drain()
  await gateway.drain()
  await role.close()
  await gateway.records.close()
  await routes.close()
})
