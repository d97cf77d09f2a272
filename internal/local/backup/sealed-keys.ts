import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto'
import { ConfigError } from '../../config/settings.js'

/** Cost of scrypt: 64 MiB and a tenth of a second for each guess of a passphrase (RFC 7914). */
const SCRYPT = { N: 2 ** 16, r: 8, p: 1, maxmem: 128 * 1024 ** 2 } as const
const [SALT_BYTES, IV_BYTES, TAG_BYTES] = [16, 12, 16]

/** What opens the rest, and is kept apart from it or sealed: the texts of the files of the data folder. */
export interface InstanceKeys {
  readonly masterKey: string
  /** The credentials of the first tenant; undefined: there is no file. */
  readonly credentials: string | undefined
}

/** Seals keys by a passphrase: salt, initialization vector, tag, and AES-256-GCM of the text. */
export function sealKeys(keys: InstanceKeys, passphrase: string): Uint8Array {
  const [salt, iv] = [randomBytes(SALT_BYTES), randomBytes(IV_BYTES)]
  const cipher = createCipheriv('aes-256-gcm', scryptSync(passphrase, salt, 32, SCRYPT), iv)
  const sealed = Buffer.concat([cipher.update(JSON.stringify(keys), 'utf8'), cipher.final()])
  return Buffer.concat([salt, iv, cipher.getAuthTag(), sealed])
}

/** @throws ConfigError when the passphrase is another one */
export function unsealKeys(sealed: Uint8Array, passphrase: string): InstanceKeys {
  const bytes = Buffer.from(sealed)
  const iv = bytes.subarray(SALT_BYTES, SALT_BYTES + IV_BYTES)
  const key = scryptSync(passphrase, bytes.subarray(0, SALT_BYTES), 32, SCRYPT)
  const decipher = createDecipheriv('aes-256-gcm', key, iv)
  const text = SALT_BYTES + IV_BYTES + TAG_BYTES
  decipher.setAuthTag(bytes.subarray(SALT_BYTES + IV_BYTES, text))
  try {
    const opened = Buffer.concat([decipher.update(bytes.subarray(text)), decipher.final()])
    return JSON.parse(opened.toString('utf8')) as InstanceKeys
  } catch {
    throw new ConfigError('the passphrase does not open the keys of this backup')
  }
}
