/** Access tokens of one issuer, valid or invalid in every way. A test states only the members of its case. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { AccessTokenClaims, TokenParties } from '../../internal/auth/access-tokens.js'
import { exampleBits } from './ids.js'
import { NOW_MS } from './invocations.js'

export const PARTIES: TokenParties = { issuer: 'https://attribution.example', audience: 'urn:attribution:production' }
export const CLIENT_ID = `cli_${exampleBits}`
export const USER_ID = `usr_${exampleBits}`
export const TENANT_ID = `tnt_${exampleBits}`
export const KID = 'k'.repeat(43)
const NOW_S = NOW_MS / 1_000

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
export const PRIVATE_KEY: KeyObject = pair.privateKey
export const PUBLIC_KEY: KeyObject = pair.publicKey
/** A key that no issuer publishes. */
export const STRANGERS_KEY: KeyObject = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

export const findKey = (kid: string): KeyObject | undefined => (kid === KID ? PUBLIC_KEY : undefined)

export const HEADER = { alg: 'RS256', kid: KID, typ: 'at+jwt' } as const

export const claimsOf = (claims: Record<string, unknown> = {}): AccessTokenClaims & Record<string, unknown> => ({
  iss: PARTIES.issuer,
  aud: PARTIES.audience,
  sub: CLIENT_ID,
  client_id: CLIENT_ID,
  tenant_id: TENANT_ID,
  scope: 'read:attribution',
  jti: 'j'.repeat(22),
  iat: NOW_S,
  nbf: NOW_S,
  exp: NOW_S + 900,
  ...claims,
})

/** The additional claims of a person's token. */
export const PERSON = { sub: USER_ID, sid: 's'.repeat(22), auth_time: NOW_S - 60 } as const

export const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Signs any header and claims, given as base64url texts. */
export function signedParts(header: string, claims: string, key: KeyObject = PRIVATE_KEY): string {
  const signed = `${header}.${claims}`
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`
}

export const token = (
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
  key: KeyObject = PRIVATE_KEY,
): string => signedParts(part({ ...HEADER, ...header }), part(claimsOf(claims)), key)
