import type { KV } from '@nats-io/kv'
import {
  AUTHORIZATION_CODES,
  type Bucket,
  CLIENTS,
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
import { signingKey } from '../../secrets/signing-keys.js'
import type { Logger } from '../../telemetry/log.js'
import type { CredentialsWatch } from '../credentials-watch.js'
import { recordRotation } from './audit.js'
import { storedCodes } from './authorization-codes.js'
import { type OAuthDeps, oauthRoutes } from './authorization-server.js'
import type { StoredClient } from './clients.js'
import type { KeyRing } from './key-ring.js'
import { openKeyRing, tendKeyRing } from './key-rotation.js'
import { partiesOf, partnerPartiesOf } from './parties.js'
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
  /** The client of a partner's connector; `clients` holds none of them. */
  readonly findPartnerClient: (clientId: string) => StoredClient | undefined
  readonly auditSink: AuditSink
  /** Told of the copies on which it rests; while they are not current, nobody is let in. */
  readonly credentials: Pick<CredentialsWatch, 'add' | 'awayMs'>
  /** Told the id of whatever changes on which a verdict may rest: client, person, token, sign-in, token key. */
  readonly forget: (id: string) => void
  /** Called once when a watched copy no longer follows its bucket. */
  readonly lost: (cause: unknown) => void
  readonly log: Logger
  readonly clock: () => number
}

export interface RunningAuthorizationServer {
  readonly routes: readonly Route[]
  readonly judgeToken: JudgeToken
  /** The same for partners, whose tokens are good for their own API only. */
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
  close(): void
}

const TEND_KEYS_EVERY_MS = 60_000

/** Opens the buckets, follows those that decide about tokens, and keeps the signing keys fresh. */
export async function openAuthorizationServer(
  settings: AuthorizationServerSettings,
): Promise<RunningAuthorizationServer> {
  const { bucket, masterKeys, mode, credentials, forget, lost, log, clock } = settings
  const ringBucket = await bucket(TOKEN_KEYS)
  const keys = createTokenKeys(masterKeys, await openKeyRing(ringBucket, masterKeys, mode, clock()))
  const rings = await mirrorBucket<KeyRing>(ringBucket, lost, (changed, ring) => {
    // A ring that somebody has deleted is made anew by whoever tends it next.
    if (changed === mode && ring !== undefined) keys.follow(ring).forEach(forget)
  })
  const clientBucket = await bucket(CLIENTS)
  const clients = await watchRecords<StoredClient>(clientBucket, lost, forget)
  const people = new UserDirectory()
  const userBucket = await bucket(USERS)
  const users = await watchRecords<StoredUser>(userBucket, lost, (key, user) =>
    people.follow(key, user).forEach(forget),
  )
  const revokedBucket = await bucket(REVOKED_TOKENS)
  const revoked = await mirrorBucket<object>(revokedBucket, lost, forget)
  credentials.add(ringBucket, rings)
  credentials.add(clientBucket, clients)
  credentials.add(userBucket, users)
  credentials.add(revokedBucket, revoked)
  const areCredentialsCurrent = (): boolean => credentials.awayMs() === 0
  const deny = async (id: string): Promise<void> => {
    await revoked.reached(await revokedBucket.put(id, JSON.stringify({ at: new Date(clock()).toISOString() })))
  }

  const parties = partiesOf(mode, settings.baseUrl)
  const partnerParties = partnerPartiesOf(mode, settings.baseUrl)
  const { findPartnerClient } = settings
  const findClient = (id: string): StoredClient | undefined => clients.get(id)
  const findUser = (id: string): StoredUser | undefined => people.withId(id)
  const tend = async (): Promise<void> => {
    const rotated = await tendKeyRing(ringBucket, masterKeys, mode, clock())
    if (rotated !== undefined) await recordRotation(settings.auditSink, rotated, clock())
  }
  const tending = setInterval(() => {
    if (!areCredentialsCurrent()) return
    tend().catch((cause: unknown) => log.warn({ err: cause }, 'the token keys could not be tended'))
  }, TEND_KEYS_EVERY_MS)
  tending.unref()

  const deps: OAuthDeps = {
    mode,
    parties,
    keys,
    findClient,
    findUser,
    findUserNamed: (tenantId, username) => people.named(tenantId, username),
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
    routes: oauthRoutes(deps),
    judgeToken: judge(parties, findClient),
    partner: {
      issueTokenAt: (path, operation) => issueTokenRoute(path, operation, partnerDeps),
      revokeTokenAt: (path, operation) => revokeTokenRoute(path, operation, partnerDeps),
      judgeToken: judge(partnerParties, findPartnerClient),
    },
    clients,
    users,
    findUser,
    close() {
      clearInterval(tending)
      for (const mirror of [rings, clients, users, revoked]) mirror.stop()
    },
  }
}
