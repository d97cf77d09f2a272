import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { type PublicDocument, publicDocument } from '../../http/public-document.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import { unseal } from '../../secrets/seal.js'
import { type KeyRing, keyInState } from './key-ring.js'
import { privateKeyContext } from './key-rotation.js'

export interface SigningKey {
  readonly kid: string
  readonly privateKey: KeyObject
}

/** A gateway's view of the ring: the signing key, the keys that verify, and the published document. */
export interface TokenKeys {
  /** Adopts a new state of the ring. @returns the kids that are no longer valid */
  follow(ring: KeyRing): readonly string[]
  signer(): SigningKey
  publicKey(kid: string): KeyObject | undefined
  /** The JWKS (RFC 7517), ready to send. */
  document(): PublicDocument
}

export function createTokenKeys(masterKeys: MasterKeys, first: KeyRing): TokenKeys {
  let publicKeys = new Map<string, KeyObject>()
  let signer: SigningKey
  let document: PublicDocument

  const follow = (ring: KeyRing): readonly string[] => {
    const published = ring.keys.map(({ kid, n, e }) => ({ kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e }))
    const known = publicKeys
    publicKeys = new Map(
      published.map((jwk) => [jwk.kid, known.get(jwk.kid) ?? createPublicKey({ key: jwk, format: 'jwk' })]),
    )
    const { kid, sealed_private_key: sealed } = keyInState(ring, 'current')
    const der = unseal(masterKeys, privateKeyContext(kid), sealed)
    signer = { kid, privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) }
    document = publicDocument(JSON.stringify({ keys: published }), ['Content-Type: application/json'])
    return [...known.keys()].filter((kid) => !publicKeys.has(kid))
  }
  follow(first)

  return {
    follow,
    signer: () => signer,
    publicKey: (kid) => publicKeys.get(kid),
    document: () => document,
  }
}
