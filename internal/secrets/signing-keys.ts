import { randomBytes } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import { isLostRace } from '../broker/errors.js'
import { ConfigError } from '../config/settings.js'
import type { MasterKeys } from './master-keys.js'
import { seal, unseal } from './seal.js'

/** The instance's own secrets: what ids derive from, what signs cursors, what identities and Idempotency-Keys are hashed with, what signs the audit log, what signs refresh tokens and sign-in forms, what seals the answers of mutations, what signs download addresses. */
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
 * The instance's key for a purpose, 32 bytes; made by whoever asks first, the same for all from then on.
 *
 * @param bucket signing_keys
 * @throws ConfigError when the master key is another one
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
    throw new ConfigError(`${(cause as Error).message}: is it the one that this data was sealed with?`, { cause })
  }
}
