import { type SipKey, sipHash128 } from './siphash.js'

/** What rows keep of an identity: 16 bytes. @param key the tenant's, so that equal identities of two tenants differ */
export function identityHash(key: SipKey, identity: string): Uint8Array {
  const hash = new Uint8Array(16)
  sipHash128(key, Buffer.from(identity), hash)
  return hash
}
