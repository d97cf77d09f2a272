/** An intake listener in front of a log that the test sees. */
import { createApiKey } from '../../internal/auth/api-keys.js'
import { createAuthenticator } from '../../internal/auth/authenticate.js'
import { budgetsCache, rateLimitsOf } from '../../internal/auth/rate-limits.js'
import type { ListenerHealth } from '../../internal/http/listener-health.js'
import { deriveTenantIds } from '../../internal/ids/ids.js'
import { adapterRoutes } from '../../internal/ingest/adapters/adapter-routes.js'
import { startGrpcIntake } from '../../internal/ingest/grpc/grpc-listener.js'
import { intakeRoom } from '../../internal/ingest/intake/intake-requests.js'
import type { IntakeRoute } from '../../internal/ingest/intake/intake-route.js'
import { startIntake } from '../../internal/ingest/intake/listener.js'
import { otlpRoutes } from '../../internal/ingest/otlp/otlp-routes.js'
import { decodeGroup } from '../../internal/invocations/invocation-group.js'
import type { InvocationEvent } from '../../internal/invocations/invocation-schema.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { createLog } from '../../internal/telemetry/log.js'
import { type AdmissionGatewayOptions, startAdmissionGateway } from './admission-gateway.js'
import { BESIDE_API } from './beside-api.js'
import { TENANT } from './scope-keys.js'

const ids = deriveTenantIds(new Uint8Array(32).fill(7), TENANT)
const keyOf = (isGateway: boolean, ingestionLayers?: readonly string[]) =>
  createApiKey(
    'production',
    TENANT,
    ids,
    { name: 'intake', scopes: ['read:attribution'], expiresAt: null, isGateway, ingestionLayers },
    new Date(),
  )

export interface IntakeGatewayOptions extends AdmissionGatewayOptions {
  readonly routes?: readonly IntakeRoute[]
  readonly declaredTags?: readonly string[]
  /** Its answer to probes. */
  readonly readiness?: ListenerHealth['readiness']
  /** Whether it also takes OTLP over gRPC. */
  readonly hasGrpc?: boolean
  /** For how long the copy of the credentials has been stale. */
  readonly credentialsAwayMs?: number
}

export async function startIntakeGateway(options: IntakeGatewayOptions = {}) {
  const { ingestPerSecond = 100_000, credentialsAwayMs = 0, routes = adapterRoutes() } = options
  const gateway = await startAdmissionGateway(options)
  const keys = { plain: keyOf(false), gateway: keyOf(true), restricted: keyOf(false, ['batch']) }
  const stored = new Map(Object.values(keys).map((key) => [key.stored.id, key.stored]))
  const rest = { read: 1, report: 1, control: 1, token: 1 }
  const authenticator = createAuthenticator({
    mode: 'production',
    findKey: (id) => stored.get(id),
    judgeToken: () => undefined,
    budgetsOf: budgetsCache(rateLimitsOf({ ...rest, ingest: ingestPerSecond })),
    useOf: () => ({ atMs: 0 }),
  })
  const port = await freePort()
  const { readiness = BESIDE_API.health.readiness } = options
  const settings = { ...BESIDE_API, port, health: { ...BESIDE_API.health, readiness } }
  const deps = {
    authenticator,
    credentialsAwayMs: () => credentialsAwayMs,
    clientAddressOf: (peer: string) => peer,
    admission: gateway.admission,
    trustedFieldsOf: () => [],
    declaredTagsOf: () => new Set(options.declaredTags),
    room: intakeRoom(),
    errorDocsUrl: 'http://localhost/docs/errors',
    log: createLog('test', 'silent'),
  }
  const intake = await startIntake(settings, routes, deps)
  const grpcPort = options.hasGrpc === true ? await freePort() : 0
  const grpc = await startGrpcIntake({ ...settings, port: grpcPort }, otlpRoutes({ dimensionsOf: () => [] }), deps)
  return {
    ...gateway,
    port,
    grpcPort,
    url: `http://127.0.0.1:${port}`,
    plainKey: keys.plain.secret,
    gatewayKey: keys.gateway.secret,
    restrictedKey: keys.restricted.secret,
    /** Events that the log holds. */
    events: (): InvocationEvent[] =>
      gateway.stored.flatMap((message) => decodeGroup(message, 1).map(({ event }) => event)),
    async stop() {
      await Promise.all([intake.drain(), grpc.drain()])
      await gateway.stop()
    },
  }
}

export type IntakeGateway = Awaited<ReturnType<typeof startIntakeGateway>>

export interface IntakePosted {
  readonly status: number
  readonly headers: Headers
  readonly json: Record<string, unknown>
}

export async function postIntake(
  { url, plainKey }: Pick<IntakeGateway, 'url' | 'plainKey'>,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<IntakePosted> {
  const answer = await fetch(url + path, {
    method: 'POST',
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
    headers: { 'x-api-key': plainKey, 'content-type': 'application/json', ...headers },
  })
  return { status: answer.status, headers: answer.headers, json: (await answer.json()) as Record<string, unknown> }
}
