import { oauthRoutes } from '../../internal/access/oauth/authorization-server.js'
import { issueTokenRoute, revokeTokenRoute } from '../../internal/access/oauth/token-routes.js'
import type { Operation } from '../../internal/http/contract/operation.js'
import { createMutations } from '../../internal/http/mutations/mutations.js'
import { describeRoutes } from '../../internal/http/openapi/document.js'
import { admissionRoutes } from '../../internal/ingest/invocation-routes.js'
import { invocationStatusRoutes } from '../../internal/ingest/invocation-status-routes.js'
import { observationRoutes } from '../../internal/ingest/observations/observation-routes.js'
import type { Gateway } from './gateway.js'
import { openRoutes } from './routes.js'

/**
 * What `GET /openapi.json` answers, without a service: the types of the API are written from it before anything is
 * compiled.
 *
 * Routes are opened on stand-ins, and only asked what they promise. A part of the gateway that an area gets by a
 * spread, and uses while it opens its routes, is listed in `PARTS`; one that is missing fails the build.
 */
export async function describeApi(baseUrl = 'http://127.0.0.1') {
  const addresses = { baseUrl, errorDocsUrl: `${baseUrl}/docs/errors` }
  const { routes } = await openRoutes(gateway(addresses), undefined)
  return describeRoutes(routes, addresses)
}

const PARTS: readonly (keyof Gateway)[] = ['onLost', 'records', 'broker', 'signal', 'rules']

/** Has the given members; every other one is a stand-in too. It is also a function, an empty list and an empty text. */
const standIn = (given: object = {}): never =>
  new Proxy(
    Object.assign(() => standIn(), given),
    { get: (_, name) => (Object.hasOwn(given, name) ? Reflect.get(given, name) : memberOf(name)) },
  ) as never

function memberOf(name: string | symbol): unknown {
  // `await` must not wait for a stand-in.
  if (name === 'then') return undefined
  if (name === Symbol.iterator) return () => [].values()
  return name === Symbol.toPrimitive ? () => '' : standIn()
}

/** Routes that the gateway opens before `openRoutes` are opened here. */
function gateway(addresses: Pick<Gateway, 'baseUrl' | 'errorDocsUrl'>): Gateway {
  const partner = {
    issueTokenAt: (path: string, operation: Operation) => issueTokenRoute(path, operation, standIn()),
    revokeTokenAt: (path: string, operation: Operation) => revokeTokenRoute(path, operation, standIn()),
  }
  const ingest = [admissionRoutes, observationRoutes, invocationStatusRoutes].flatMap((routesOf) => routesOf(standIn()))
  return standIn({
    ...Object.fromEntries(PARTS.map((name) => [name, standIn()])),
    ...addresses,
    builtConsole: { document: '', files: new Map() },
    mutate: createMutations(standIn()),
    // Export files in a folder, which opening does not touch.
    config: standIn({ exportsS3Bucket: '', exportsDir: '.' }),
    access: standIn({ oauth: standIn({ routes: oauthRoutes(standIn(), standIn()), partner }) }),
    admission: standIn({ routes: ingest }),
    directory: standIn({ recordsOf: standIn() }),
  })
}
