import type { KV } from '@nats-io/kv'
import type { Broker } from '../../internal/broker/connect.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { WatchedDirectory, workloadHashes } from '../../internal/directory/directory.js'
import { identityKeysCache } from '../../internal/ids/ids.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { DIRECTORY, SIGNING_KEYS } from '../../streams/buckets.js'

/** The identities of a tenant that its directory calls workloads, as hashes of 32 hex digits. */
export async function readWorkloads(
  broker: Broker,
  config: Parameters<typeof readMasterKeys>[0],
): Promise<(tenantId: string) => ReadonlySet<string>> {
  const directory = await readDirectory(await broker.bucket(DIRECTORY))
  const keyOf = identityKeysCache(
    await signingKey(await broker.bucket(SIGNING_KEYS), readMasterKeys(config), 'identities'),
  )
  const known = new Map<string, ReadonlySet<string>>()
  return (tenantId) => {
    const hashes = known.get(tenantId) ?? new Set(workloadHashes(directory, tenantId, keyOf(tenantId)))
    known.set(tenantId, hashes)
    return hashes
  }
}

/** The directory as it is now. @param bucket directory */
export async function readDirectory(bucket: KV): Promise<WatchedDirectory> {
  const directory = new WatchedDirectory()
  const entries = await mirrorBucket(
    bucket,
    () => undefined,
    (key, value) => directory.apply(key, value),
  )
  entries.stop()
  return directory
}
