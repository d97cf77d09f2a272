import { randomBytes } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import { isLostRace } from '../broker/errors.js'
import { ConfigError } from '../config/settings.js'
import type { MasterKeys } from './master-keys.js'
import { seal, unseal } from './seal.js'

/**
 * The instance's own secret keys, by use:
 *
 * - ids: derives ids
 * - cursors: signs cursors
 * - identities, admission: hash identities and Idempotency-Keys
 * - audit: signs the audit log
 * - sign-ins: signs refresh tokens and sign-in forms
 * - mutations: seals the stored responses of mutations
 * - downloads: signs download URLs
 */
export type KeyPurpose =
  | 'ids'
  | 'cursors'
  | 'identities'
  | 'admission'
  | 'audit'
  | 'sign-ins'
  | 'mutations'
  | 'downloads'

/**
 * The instance's key for a purpose, 32 bytes. The first caller creates it; all processes then use the same key.
 *
 * @param bucket signing_keys
 * @throws ConfigError when the master key does not open it
 */
export async function signingKey(bucket: KV, masterKeys: MasterKeys, purpose: KeyPurpose): Promise<Uint8Array> {
  const context = `signing_keys.${purpose}`
  const existing = await bucket.get(purpose)
  if (existing === null) {
    try {
      await bucket.create(purpose, seal(masterKeys, context, randomBytes(32)))
    } catch (cause) {
      if (!isLostRace(cause)) throw cause
    }
    return signingKey(bucket, masterKeys, purpose)
  }
  try {
    return unseal(masterKeys, context, existing.string())
  } catch (cause) {
    throw new ConfigError(`${(cause as Error).message}: was this data sealed with a different master key?`, { cause })
  }
}
