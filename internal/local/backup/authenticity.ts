import { createHmac, timingSafeEqual } from 'node:crypto'
import { ConfigError } from '../../config/settings.js'
import { type MasterKey, type MasterKeys, readMasterKeys } from '../../secrets/master-keys.js'
import type { SignedManifest } from './backup-manifest.js'
import type { Repository } from './repository.js'
import { type InstanceKeys, unsealKeys } from './sealed-keys.js'

/**
 * Who made a backup. Its place is often less protected than the instance, and a restore puts tables, credentials and
 * settings in force: so the manifest, which has the digest of all else, is signed by a key of the master key's.
 */

/** HMAC-SHA256 of a manifest, hex. */
export const signatureOf = (manifest: Uint8Array, key: MasterKey): string =>
  createHmac('sha256', key.signingBackups).update(manifest).digest('hex')

/**
 * @param acceptsUnsigned for backups of versions before there were signatures
 * @returns why a backup is not known to be one of this master key's; undefined: it is
 */
export function authenticityFault(
  { manifest, bytes, signature }: SignedManifest,
  keys: MasterKeys,
  acceptsUnsigned = false,
): string | undefined {
  const key = keys.find(manifest.master_key_id)
  if (key === undefined) {
    return (
      `this is not the master key of the backup: it is ${keys.current().id}, the backup's is ` +
      `${manifest.master_key_id}; if it was replaced since, write the older one on a second line of the file`
    )
  }
  if (signature === undefined) {
    if (acceptsUnsigned) return undefined
    return (
      `the backup ${manifest.id} is not signed: 0.3.0 or an older version made it, or somebody else did. If nobody ` +
      'else can write to its place, add --accept-unsigned'
    )
  }
  const [stated, right] = [Buffer.from(signature, 'hex'), Buffer.from(signatureOf(bytes, key), 'hex')]
  if (stated.length === right.length && timingSafeEqual(stated, right)) return undefined
  return `the backup ${manifest.id} was changed, or was not made by this instance: its signature is wrong`
}

/** Where the keys of a backup are: with the operator, or in the backup under a passphrase. */
export interface KeySource {
  readonly repository: Repository
  /** Undefined: they are in the backup. */
  readonly keys: InstanceKeys | undefined
  readonly passphrase: string | undefined
}

/** @throws ConfigError when they cannot be had */
export async function keysOf({ manifest }: SignedManifest, { repository, keys, passphrase }: KeySource) {
  if (keys !== undefined) return keys
  if (manifest.keys === null) {
    throw new ConfigError('the backup has no keys: give the master key with --master-key-file')
  }
  if (passphrase === undefined || passphrase === '') {
    throw new ConfigError('the keys of the backup are sealed: give the passphrase, or --master-key-file')
  }
  return unsealKeys(await repository.bytesOf(manifest.keys), passphrase)
}

/** The key may have been replaced since: then the file has both, and the newer one seals. */
export const masterKeysIn = ({ masterKey }: InstanceKeys): MasterKeys =>
  readMasterKeys({ masterKey: masterKey.trim().replaceAll('\n', ','), masterKeyFile: '' })
