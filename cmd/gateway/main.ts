/**
 * The gateway: every HTTP route, and the admission of invocations. Needs the broker; without the read model it
 * still admits, and answers reads with 503.
 */

import { attributionRoutes } from '../../internal/attribution/routes.js'
import type { StoredApiKey } from '../../internal/auth/api-keys.js'
import { type Authenticator, createAuthenticator } from '../../internal/auth/authenticate.js'
import { connectBroker, ensureStreams } from '../../internal/broker/connect.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { ConfigError, readConfig } from '../../internal/config/settings.js'
import { createGroupCommit } from '../../internal/gateway/admission/group-commit.js'
import { admissionRoutes } from '../../internal/gateway/admission/routes.js'
import { healthRoutes, watchBroker, watchStore } from '../../internal/gateway/health.js'
import { createCursorCodec } from '../../internal/gateway/pages.js'
import { serve } from '../../internal/gateway/server.js'
import { tenantIdsCache } from '../../internal/ids/ids.js'
import { runMain, stopSignal, untilAvailable } from '../../internal/process/main.js'
import { readMasterKey } from '../../internal/secrets/master-key.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { connectStore } from '../../internal/store/client.js'
import { findAttribution, listAttributions } from '../../internal/store/queries/attributions.js'
import { createLog } from '../../internal/telemetry/log.js'
import { API_KEYS, SIGNING_KEYS } from '../../streams/buckets.js'

runMain('gateway', async () => {
  const config = readConfig(
    [
      'host',
      'port',
      'mode',
      'baseUrl',
      'errorDocsUrl',
      'logLevel',
      'partitions',
      'masterKeyFile',
      'natsUrl',
      'natsUser',
      'natsPassword',
      'streamReplicas',
      'invocationsBytesMax',
      'storeUrl',
      'storeUser',
      'storePassword',
      'storeDatabase',
    ],
    process.argv.slice(2),
    process.env,
  )
  const log = createLog('gateway', config.logLevel)
  const masterKey = readMasterKey(config.masterKeyFile)
  const clock = Date.now
  const baseUrl = config.baseUrl === '' ? `http://${config.host}:${config.port}` : config.baseUrl

  const broker = await connectBroker({
    url: config.natsUrl,
    user: config.natsUser,
    password: config.natsPassword,
    name: `gateway-${process.pid}`,
  })
  await untilAvailable(
    'JetStream',
    () => ensureStreams(broker, { replicas: config.streamReplicas, invocationsBytesMax: config.invocationsBytesMax }),
    log,
  )
  const store = connectStore({
    url: config.storeUrl,
    user: config.storeUser,
    password: config.storePassword,
    database: config.storeDatabase,
  })

  const signingKeys = await broker.bucket(SIGNING_KEYS)
  const idsOf = tenantIdsCache(await signingKey(signingKeys, masterKey, 'ids'))
  const cursors = createCursorCodec(await signingKey(signingKeys, masterKey, 'cursors'))

  // A copy of the keys that no longer follows the bucket would let revoked keys in: start over instead.
  let isStopping = false
  const lost = (cause: unknown): void => {
    if (isStopping) return
    log.fatal({ err: cause }, 'the copy of the API keys no longer follows its bucket')
    process.exit(1)
  }
  const authenticators: Authenticator[] = []
  const apiKeys = await mirrorBucket<StoredApiKey>(await broker.bucket(API_KEYS), lost, (keyId) => {
    for (const authenticator of authenticators) authenticator.forget(keyId)
  })
  const authenticator = createAuthenticator(config.mode, (keyId) => apiKeys.get(keyId))
  authenticators.push(authenticator)

  const groups = createGroupCommit(createPublisher(broker.connection), config.partitions)
  const server = await serve(
    {
      host: config.host,
      port: config.port,
      errorDocsUrl: config.errorDocsUrl === '' ? `${baseUrl}/docs/errors` : config.errorDocsUrl,
    },
    [
      ...healthRoutes(watchBroker(broker, clock), watchStore(store, clock)),
      ...admissionRoutes({ groups, partitions: config.partitions, idsOf, clock }),
      ...attributionRoutes({
        list: (question, signal) => listAttributions(store, question, signal),
        find: (tenantId, id, signal) => findAttribution(store, tenantId, id, signal),
        cursors,
        idsOf,
        clock,
      }),
    ],
    authenticator,
    log,
  ).catch((cause: Error) => {
    throw new ConfigError(`${cause.message}: is another process using the port?`, { cause })
  })
  log.info({ port: server.port }, 'listening')

  await stopSignal()
  isStopping = true
  await server.drain()
  await broker.close()
  await store.close()
})
