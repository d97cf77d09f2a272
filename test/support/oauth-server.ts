/** The authorization server in the test's process, with buckets of its own. */
import { storedCodes } from '../../internal/access/oauth/authorization-codes.js'
import { oauthRoutes } from '../../internal/access/oauth/authorization-server.js'
import { partiesOf } from '../../internal/access/oauth/issue-token.js'
import { openKeyRing } from '../../internal/access/oauth/key-rotation.js'
import type { OAuthDeps } from '../../internal/access/oauth/oauth-deps.js'
import type { ProviderSignIn } from '../../internal/access/oauth/provider-routes.js'
import { storedSessions } from '../../internal/access/oauth/sessions.js'
import { createTokenKeys } from '../../internal/access/oauth/token-keys.js'
import type { StoredUser } from '../../internal/access/oauth/users.js'
import { serve } from '../../internal/http/server.js'
import { createLog } from '../../internal/telemetry/log.js'
import { AUTHORIZATION_CODES, SESSIONS, TOKEN_KEYS } from '../../streams/buckets.js'
import { budgetsOf } from './authenticators.js'
import { launchBuckets } from './buckets.js'
import { masterKeysOf } from './master-keys.js'
import { publicServer } from './public-server.js'

const notReached = (): never => {
  throw new Error('no tenant has a provider')
}
const NO_PROVIDER: ProviderSignIn = {
  relyingParty: { begin: notReached, finish: notReached, check: notReached },
  people: { signedIn: notReached, end: notReached },
  hasSeveral: notReached,
  log: createLog('test', 'silent'),
}

/** What a test decides. */
type Settings = Pick<OAuthDeps, 'findClient' | 'auditSink' | 'clock'> &
  Partial<OAuthDeps> & {
    readonly people: readonly StoredUser[]
    readonly baseUrl: string
    /** @param id of a session that ends */
    readonly denyTokensOf: (id: string) => Promise<void>
  }

export async function launchOAuth({ people, baseUrl, denyTokensOf, ...stated }: Settings) {
  const buckets = await launchBuckets()
  const masterKeys = masterKeysOf(1)
  const ring = await openKeyRing(await buckets.open(TOKEN_KEYS), masterKeys, 'production', Date.now())
  const deps: OAuthDeps = {
    mode: 'production',
    parties: partiesOf('production', baseUrl),
    keys: createTokenKeys(masterKeys, ring),
    findUser: (id) => people.find((user) => user.id === id),
    findUserNamed: (tenantId, name) => people.find((user) => user.tenant_id === tenantId && user.username === name),
    codes: storedCodes(await buckets.open(AUTHORIZATION_CODES)),
    sessions: storedSessions(await buckets.open(SESSIONS), denyTokensOf),
    signInKey: new Uint8Array(32).fill(1),
    secondFactors: { isAskedOf: () => false, accepts: async () => false },
    tenantNameOf: (tenantId) => tenantId,
    providerOf: () => undefined,
    hasLeft: () => false,
    deny: async () => undefined,
    budgetsOf,
    tokenLifeS: 900,
    isBrokerUp: () => true,
    ...stated,
  }
  const server = await serve(
    { host: '127.0.0.1', port: 0, errorDocsUrl: 'http://docs/errors' },
    oauthRoutes(deps, NO_PROVIDER),
    { ...publicServer('/', () => undefined).deps, log: createLog('test', 'silent') },
  )
  return {
    codes: deps.codes,
    url: `http://127.0.0.1:${server.port}`,
    async close(): Promise<void> {
      await server.drain()
      await buckets.close()
    },
  }
}
