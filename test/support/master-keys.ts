/** Master keys in memory. */
import { type MasterKeys, newMasterKey, readMasterKeys, writeMasterKeys } from '../../internal/secrets/master-keys.js'

/** Keys with fixed content; the first one encrypts. */
export const masterKeysOf = (...fills: readonly number[]): MasterKeys =>
  readMasterKeys({
    masterKey: fills.map((fill) => Buffer.alloc(32, fill).toString('base64url')).join(','),
    masterKeyFile: '',
  })

/** The text of a file with one new key. */
export const masterKeyText = (): string => writeMasterKeys([newMasterKey()])
