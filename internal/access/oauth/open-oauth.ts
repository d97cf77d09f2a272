import type { KV } from '@nats-io/kv'
import {
  AUTHORIZATION_CODES,
  type Bucket,
  CLIENTS,
  IDENTITY_PROVIDERS,
  REVOKED_TOKENS,
  SESSIONS,
  SIGNING_KEYS,
  TOKEN_KEYS,
  USERS,
} from '../../../streams/buckets.js'
import { readAccessToken, type TokenParties } from '../../auth/access-tokens.js'
import type { Mode } from '../../auth/api-keys.js'
import type { AuditSink } from '../../auth/audit-entry.js'
import { bearerTokens, type JudgeToken } from '../../auth/bearer-tokens.js'
import type { Budgets } from '../../auth/rate-limits.js'
import { mirrorBucket } from '../../broker/mirror.js'
import { type WatchedRecords, watchRecords } from '../../broker/watched-records.js'
import type { Operation } from '../../http/contract/operation.js'
import type { Route } from '../../http/route.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import { unseal } from '../../secrets/seal.js'
import { signingKey } from '../../secrets/signing-keys.js'
import type { Logger } from '../../telemetry/log.js'
import type { CredentialsWatch } from '../credentials-watch.js'
import { type StoredProvider, secretContext } from '../identity-provider/provider.js'
import { type RelyingParty, relyingParty } from '../identity-provider/relying-party.js'
import type { FromProviderDeps, PeopleFromProvider } from '../users/from-provider.js'
import { storedCodes } from './authorization-codes.js'
import { oauthRoutes } from './authorization-server.js'
import { findConsoleClient, type StoredClient } from './clients.js'
import { partiesOf, partnerPartiesOf } from './issue-token.js'
import type { KeyRing } from './key-ring.js'
import { maintainKeyRing, openKeyRing } from './key-rotation.js'
import { recordRotation } from './oauth-audit.js'
import type { OAuthDeps } from './oauth-deps.js'
import type { ProviderSignIn } from './provider-routes.js'
import { secondFactors } from './second-factor.js'
import { storedSessions } from './sessions.js'
import { createTokenKeys } from './token-keys.js'
import { issueTokenRoute, revokeTokenRoute } from './token-routes.js'
import { type StoredUser, UserDirectory } from './users.js'

export interface AuthorizationServerSettings {
  readonly bucket: (bucket: Bucket) => Promise<KV>
  readonly masterKeys: MasterKeys
  readonly mode: Mode
  readonly baseUrl: string
  readonly tokenLifeS: number
  readonly budgetsOf: (tenantId: string, principal: string) => Budgets
  /** Every tenant has a client for the console. */
  readonly findTenant: (tenantId: string) => { readonly created_at: string; readonly name: string } | undefined
  /** Whether a tenant wants a second factor of people who sign in by password. */
  readonly requiresSecondFactor: (tenantId: string) => boolean
  readonly hasLeft: OAuthDeps['hasLeft']
  /** Who comes from a tenant's identity provider. */
  readonly peopleOf: (
    known: Pick<FromProviderDeps, 'users' | 'findUser' | 'findUserNamed' | 'findUserAt'>,
  ) => PeopleFromProvider
  /** The client of a partner's connector; `clients` does not contain these. */
  readonly findPartnerClient: (clientId: string) => StoredClient | undefined
  readonly auditSink: AuditSink
  /** Watches the copies that tokens depend on; while these are not current, no request is authenticated. */
  readonly credentials: Pick<CredentialsWatch, 'add' | 'awayMs'>
  /** Called with the id of a changed record that verdicts may depend on: client, person, token, sign-in, token key. */
  readonly onChange: (id: string) => void
  /** Called once when the watch of a bucket is lost. */
  readonly onLost: (cause: unknown) => void
  readonly log: Logger
  readonly clock: () => number
}

export interface RunningAuthorizationServer {
  readonly routes: readonly Route[]
  readonly judgeToken: JudgeToken
  /** The same for partners, whose tokens are valid for their own API only. */
  readonly partner: {
    readonly issueTokenAt: (path: string, operation: Operation) => Route
    readonly revokeTokenAt: (path: string, operation: Operation) => Route
    readonly judgeToken: JudgeToken
  }
  /** By id. */
  readonly clients: WatchedRecords<StoredClient>
  /** By `userKey`. */
  readonly users: WatchedRecords<StoredUser>
  readonly findUser: (id: string) => StoredUser | undefined
  /** Of a tenant. */
  readonly providerOf: (tenantId: string) => StoredProvider | undefined
  readonly checkProvider: RelyingParty['check']
  /** The directory says that somebody has left. */
  readonly endSignIns: PeopleFromProvider['end']
  close(): void
}

const MAINTAIN_KEYS_EVERY_MS = 60_000

/** Opens the buckets, watches those that decide about tokens, and rotates the signing keys when that is due. */
export async function openAuthorizationServer(
  settings: AuthorizationServerSettings,
): Promise<RunningAuthorizationServer> {
  const { bucket, masterKeys, mode, credentials, onChange, onLost, clock } = settings
  const ringBucket = await bucket(TOKEN_KEYS)
  const keys = createTokenKeys(masterKeys, await openKeyRing(ringBucket, masterKeys, mode, clock()))
  const rings = await mirrorBucket<KeyRing>(ringBucket, onLost, (changed, ring) => {
    // A deleted ring is created again by the next maintenance of any gateway.
    if (changed === mode && ring !== undefined) keys.follow(ring).forEach(onChange)
  })
  const clientBucket = await bucket(CLIENTS)
  const clients = await watchRecords<StoredClient>(clientBucket, onLost, onChange)
  const { users, people, providers, signIn } = await openPeople(settings)
  const revokedBucket = await bucket(REVOKED_TOKENS)
  const revoked = await mirrorBucket<object>(revokedBucket, onLost, onChange)
  credentials.add(ringBucket, rings)
  credentials.add(clientBucket, clients)
  credentials.add(revokedBucket, revoked)
  const areCredentialsCurrent = (): boolean => credentials.awayMs() === 0
  const deny = async (id: string): Promise<void> => {
    await revoked.reached(await revokedBucket.put(id, JSON.stringify({ at: new Date(clock()).toISOString() })))
  }

  const parties = partiesOf(mode, settings.baseUrl)
  const partnerParties = partnerPartiesOf(mode, settings.baseUrl)
  const { findPartnerClient } = settings
  const findClient = (id: string): StoredClient | undefined =>
    clients.get(id) ?? findConsoleClient(id, settings.baseUrl, settings.findTenant)
  const findUser = (id: string): StoredUser | undefined => people.withId(id)
  const maintenance = maintainKeys(settings, ringBucket, areCredentialsCurrent)

  const deps: OAuthDeps = {
    mode,
    parties,
    keys,
    findClient,
    findUser,
    findUserNamed: (tenantId, username) => people.named(tenantId, username),
    secondFactors: secondFactors({ users, masterKeys, isRequired: settings.requiresSecondFactor }),
    tenantNameOf: (tenantId) => settings.findTenant(tenantId)?.name ?? tenantId,
    providerOf: providers.get,
    hasLeft: settings.hasLeft,
    codes: storedCodes(await bucket(AUTHORIZATION_CODES)),
    sessions: storedSessions(await bucket(SESSIONS), deny),
    signInKey: await signingKey(await bucket(SIGNING_KEYS), masterKeys, 'sign-ins'),
    deny,
    budgetsOf: settings.budgetsOf,
    tokenLifeS: settings.tokenLifeS,
    auditSink: settings.auditSink,
    isBrokerUp: areCredentialsCurrent,
    clock,
  }
  const partnerDeps: OAuthDeps = { ...deps, parties: partnerParties, findClient: findPartnerClient }
  const judge = (audience: TokenParties, find: typeof findClient): JudgeToken =>
    bearerTokens({
      read: (token, nowMs, mayVerify) => readAccessToken(token, audience, keys.publicKey, nowMs, mayVerify),
      findClient: find,
      findUser,
      isRevoked: (id) => revoked.get(id) !== undefined,
    })
  return {
    routes: oauthRoutes(deps, signIn),
    checkProvider: signIn.relyingParty.check,
    endSignIns: signIn.people.end,
    judgeToken: judge(parties, findClient),
    partner: {
      issueTokenAt: (path, operation) => issueTokenRoute(path, operation, partnerDeps),
      revokeTokenAt: (path, operation) => revokeTokenRoute(path, operation, partnerDeps),
      judgeToken: judge(partnerParties, findPartnerClient),
    },
    clients,
    users,
    findUser,
    providerOf: providers.get,
    close() {
      clearInterval(maintenance)
      for (const mirror of [rings, clients, users, providers, revoked]) mirror.stop()
    },
  }
}

/** Rotates the signing keys when that is due, and audits it. */
function maintainKeys(
  { masterKeys, mode, auditSink, log, clock }: AuthorizationServerSettings,
  ringBucket: KV,
  areCredentialsCurrent: () => boolean,
): NodeJS.Timeout {
  const maintain = async (): Promise<void> => {
    const rotated = await maintainKeyRing(ringBucket, masterKeys, mode, clock())
    if (rotated !== undefined) await recordRotation(auditSink, rotated, clock())
  }
  const timer = setInterval(() => {
    if (!areCredentialsCurrent()) return
    maintain().catch((cause: unknown) => log.warn({ err: cause }, 'could not maintain the token signing keys'))
  }, MAINTAIN_KEYS_EVERY_MS)
  return timer.unref()
}

/** The people who may sign in, and the identity providers of their tenants. */
async function openPeople(settings: AuthorizationServerSettings) {
  const { bucket, credentials, onChange, onLost, peopleOf } = settings
  const people = new UserDirectory()
  const userBucket = await bucket(USERS)
  const users = await watchRecords<StoredUser>(userBucket, onLost, (key, user) =>
    people.follow(key, user).forEach(onChange),
  )
  const providerBucket = await bucket(IDENTITY_PROVIDERS)
  const providers = await mirrorBucket<StoredProvider>(providerBucket, onLost)
  credentials.add(userBucket, users)
  credentials.add(providerBucket, providers)
  const signIn: ProviderSignIn = {
    relyingParty: partyOf(settings),
    people: peopleOf({
      users,
      findUser: (id) => people.withId(id),
      findUserNamed: (tenantId, username) => people.named(tenantId, username),
      findUserAt: (tenantId, account) => people.at(tenantId, account),
    }),
    hasSeveral: () => [...providers.entries()].length > 1,
    log: settings.log,
  }
  return { users, people, providers, signIn }
}

const partyOf = ({ masterKeys, mode, baseUrl, clock }: AuthorizationServerSettings): RelyingParty =>
  relyingParty({
    baseUrl: partiesOf(mode, baseUrl).issuer,
    secretOf: ({ tenant_id: tenantId, sealed_client_secret: sealed }) =>
      unseal(masterKeys, secretContext(tenantId), sealed).toString('utf8'),
    clock,
  })
