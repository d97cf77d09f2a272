/**
 * Routes served in this process, without a broker or a store: what a route test needs whose mutations are not asked.
 */

import type { Route } from '../../internal/http/route.js'
import { serve } from '../../internal/http/server.js'
import { createLog, type Logger } from '../../internal/telemetry/log.js'
import { atEnd } from './run/at-end.js'
import { scopeKeys } from './scope-keys.js'

/**
 * Callers are those of `scopeKeys`: `fetch(url + '/v1/things', { headers: { 'x-api-key': 'read:attribution' } })`. The
 * server ends with the test file.
 */
export async function serveRoutes(
  routes: readonly Route[],
  log: Logger = createLog('test', 'silent'),
): Promise<{ readonly url: string; readonly port: number }> {
  const settings = { host: '127.0.0.1', port: 0, errorDocsUrl: 'http://docs/errors' }
  const { port, drain } = await serve(settings, routes, { authenticator: scopeKeys(), credentialsAwayMs: () => 0, log })
  atEnd(drain)
  return { url: `http://127.0.0.1:${port}`, port }
}
