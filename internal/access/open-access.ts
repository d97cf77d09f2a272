import type { KV } from '@nats-io/kv'
import { API_KEY_USES, API_KEYS, CONNECTORS, SQL_USERS, TENANTS } from '../../streams/buckets.js'
import type { Mode, StoredApiKey } from '../auth/api-keys.js'
import type { AuditSink } from '../auth/audit-entry.js'
import { type Authenticator, createAuthenticator } from '../auth/authenticate.js'
import { type BudgetExchange, createBudgetExchange } from '../auth/budget-exchange.js'
import { type BudgetsCache, budgetsCache, type RateLimits } from '../auth/rate-limits.js'
import type { StoredSqlUser } from '../auth/sql-users.js'
import { type DeclaredDimension, retentionCutoff, settingsOf, type Tenant } from '../auth/tenant.js'
import type { Broker } from '../broker/connect.js'
import { type Mirror, mirrorBucket } from '../broker/mirror.js'
import { bucketRecords } from '../broker/records.js'
import { type WatchedRecords, watchRecords } from '../broker/watched-records.js'
import type { MasterKeys } from '../secrets/master-keys.js'
import type { Logger } from '../telemetry/log.js'
import { type StoredKeyUse, trackKeyUses } from './api-keys/last-use.js'
import { clientOf, type WatchedConnectors, watchConnectors } from './connectors/connector.js'
import { type CredentialsWatch, watchCredentials } from './credentials-watch.js'
import { openAuthorizationServer, type RunningAuthorizationServer } from './oauth/open-oauth.js'
import { limitsOf } from './tenants/tenant-settings.js'
import { type FromProviderDeps, peopleFromProvider } from './users/from-provider.js'
import { type PrepareLeaving, prepareLeaving } from './users/leaving.js'

export interface AccessSettings {
  readonly broker: Broker
  readonly isBrokerUp: () => boolean
  readonly masterKeys: MasterKeys
  readonly mode: Mode
  readonly baseUrl: string
  readonly accessTokenSeconds: number
  /** For tenants without limits of their own. */
  readonly instanceLimits: RateLimits
  /** This gateway's name among the others; new at each start. */
  readonly gatewayName: string
  readonly auditSink: AuditSink
  readonly idsOf: FromProviderDeps['idsOf']
  /** Who has left, according to the directory; it also stores the teams that the provider names. */
  readonly directory: Pick<FromProviderDeps, 'hasLeft' | 'setTeam'>
  /** Called once when the watch of a bucket is lost. */
  readonly onLost: (cause: unknown) => void
  readonly log: Logger
  readonly clock: () => number
}

/** A gateway's view of who may do what, and how much. */
export interface RunningAccess extends WatchedConnectors {
  /** Whether this view is current. */
  readonly credentials: CredentialsWatch
  readonly authenticator: Authenticator
  /** Of the partners' own API. */
  readonly partnerAuthenticator: Authenticator
  readonly oauth: RunningAuthorizationServer
  readonly prepareLeaving: PrepareLeaving
  readonly tenantBucket: KV
  readonly tenants: Mirror<Tenant>
  readonly residencyRegionOf: (tenantId: string) => string | null
  /** The instant before which a tenant keeps no calls. */
  readonly retainedFromMs: (tenantId: string, nowMs: number) => number
  /** The tag keys that a tenant has declared. */
  readonly dimensionsOf: (tenantId: string) => readonly DeclaredDimension[]
  readonly apiKeys: WatchedRecords<StoredApiKey>
  /** Names of a tenant’s keys, clients and connectors, by id; also of those that are revoked. */
  readonly credentialNames: (tenantId: string) => ReadonlyMap<string, string>
  readonly sqlUsers: WatchedRecords<StoredSqlUser>
  /** When a key was last used; null when no use is stored. */
  readonly lastUsedAt: (keyId: string) => string | null
  readonly deleteUse: (keyId: string) => Promise<void>
  readonly budgetsOf: BudgetsCache
  readonly budgetExchange: BudgetExchange
  /** Resolves when the last uses of keys are stored. */
  close(): Promise<void>
}

/** Opens and watches the buckets that decide about access: a revoked credential is refused at once. */
export async function openAccess(settings: AccessSettings): Promise<RunningAccess> {
  const { broker, isBrokerUp, masterKeys, mode, onLost, log, clock } = settings
  const { connection } = broker
  const credentials = watchCredentials({ connection, clock, log })
  const authenticators: Authenticator[] = []
  const forget = (id: string): void => {
    for (const authenticator of authenticators) authenticator.forget(id)
  }
  const { apiKeys, keyUses, lastUsedAt, deleteUse } = await openApiKeys(settings, credentials, forget)
  const budgetExchange = createBudgetExchange({ connection, self: settings.gatewayName, isBrokerUp, clock, log })
  const retuning: BudgetsCache[] = []
  const tenantBucket = await broker.bucket(TENANTS)
  const tenants = await mirrorBucket<Tenant>(tenantBucket, onLost, (tenantId) => {
    for (const budgets of retuning) budgets.retune(tenantId, clock())
  })
  credentials.add(tenantBucket, tenants)
  const tenantRecords = bucketRecords<Tenant>(tenantBucket, tenants.reached)
  const budgetsOf = budgetsCache(settings.instanceLimits, {
    overridesOf: (tenantId) => limitsOf(tenants.get(tenantId), settings.instanceLimits),
    sharing: budgetExchange.sharing,
  })
  retuning.push(budgetsOf)
  budgetExchange.listen(budgetsOf)
  const connectorBucket = await broker.bucket(CONNECTORS)
  const { connectors, withClient } = await watchConnectors(connectorBucket, onLost, forget)
  credentials.add(connectorBucket, connectors)
  const oauth = await openAuthorizationServer({
    bucket: (bucket) => broker.bucket(bucket),
    masterKeys,
    mode,
    baseUrl: settings.baseUrl,
    tokenLifeS: settings.accessTokenSeconds,
    budgetsOf,
    findTenant: tenants.get,
    requiresSecondFactor: (tenantId) => settingsOf(tenants.get(tenantId)).require_second_factor,
    hasLeft: settings.directory.hasLeft,
    peopleOf: (known) => peopleFromProvider({ ...known, ...settings, ...settings.directory, tenants: tenantRecords }),
    findPartnerClient(clientId) {
      const connector = withClient(clientId)
      return connector && clientOf(connector)
    },
    auditSink: settings.auditSink,
    credentials,
    onChange: forget,
    onLost,
    log,
    clock,
  })
  const authentication = { mode, budgetsOf, useOf: keyUses.of }
  const findKey = (keyId: string): StoredApiKey | undefined => apiKeys.get(keyId)
  const authenticator = createAuthenticator({ ...authentication, findKey, judgeToken: oauth.judgeToken })
  const { judgeToken } = oauth.partner
  const partnerAuthenticator = createAuthenticator({ ...authentication, findKey: () => undefined, judgeToken })
  authenticators.push(authenticator, partnerAuthenticator)
  return {
    credentials,
    authenticator,
    partnerAuthenticator,
    oauth,
    prepareLeaving: prepareLeaving({ tenants: tenantRecords, ...oauth, clock }),
    tenantBucket,
    tenants,
    ...settingsReaders(tenants),
    apiKeys,
    credentialNames: namesOf(apiKeys, oauth.clients, connectors),
    sqlUsers: await openSqlUsers(settings, credentials),
    lastUsedAt,
    deleteUse,
    connectors,
    withClient,
    budgetsOf,
    budgetExchange,
    async close() {
      credentials.stop()
      oauth.close()
      await keyUses.close()
    },
  }
}

const namesOf =
  (...of: readonly Pick<WatchedRecords<{ readonly id: string; readonly name: string }>, 'of'>[]) =>
  (tenantId: string): ReadonlyMap<string, string> =>
    new Map(of.flatMap((watched) => [...watched.of(tenantId)].map(({ id, name }) => [id, name])))

/** Settings of tenants that other parts of a gateway read. */
const settingsReaders = (tenants: Mirror<Tenant>) => ({
  residencyRegionOf: (tenantId: string) => settingsOf(tenants.get(tenantId)).residency_region,
  retainedFromMs: (tenantId: string, nowMs: number) =>
    retentionCutoff(nowMs, settingsOf(tenants.get(tenantId)).retention_days),
  dimensionsOf: (tenantId: string) => settingsOf(tenants.get(tenantId)).dimensions,
})

/** @param forget called with the id of a changed key, on which verdicts may depend */
async function openApiKeys(
  { broker, isBrokerUp, onLost, log }: AccessSettings,
  credentials: CredentialsWatch,
  forget: (id: string) => void,
) {
  const useBucket = await broker.bucket(API_KEY_USES)
  const uses = await mirrorBucket<StoredKeyUse>(useBucket, onLost)
  const keyUses = trackKeyUses({ bucket: useBucket, stored: (keyId) => uses.get(keyId), isBrokerUp, log })
  const keyBucket = await broker.bucket(API_KEYS)
  const apiKeys = await watchRecords<StoredApiKey>(keyBucket, onLost, (keyId, key) => {
    forget(keyId)
    if (key === undefined) keyUses.forget(keyId)
  })
  credentials.add(keyBucket, apiKeys)
  return {
    apiKeys,
    keyUses,
    lastUsedAt: keyUses.lastAt,
    deleteUse: (keyId: string) => useBucket.delete(keyId),
  }
}

async function openSqlUsers(
  { broker, onLost }: AccessSettings,
  credentials: CredentialsWatch,
): Promise<WatchedRecords<StoredSqlUser>> {
  const bucket = await broker.bucket(SQL_USERS)
  const users = await watchRecords<StoredSqlUser>(bucket, onLost)
  credentials.add(bucket, users)
  return users
}
