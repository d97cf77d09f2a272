import { type KeyObject, verify } from 'node:crypto'
import { SCOPES, type Scope } from './scopes.js'

/**
 * Access tokens in the form of RFC 9068: JWTs signed with RS256, and every check that needs no knowledge of
 * clients or revocations.
 *
 * This service is the only issuer, so that it accepts a token only in exactly the form that it writes: anything else
 * (other base64 or JSON spellings of the same content, repeated members, further header parameters) is refused unread.
 */
export interface AccessTokenClaims {
  readonly iss: string
  readonly aud: string
  /** The client itself (`cli_`), or the person who granted it access (`usr_`). */
  readonly sub: string
  readonly client_id: string
  readonly tenant_id: string
  /** Names of scopes, separated by single spaces. */
  readonly scope: string
  readonly jti: string
  /** Seconds since the epoch, like all times here. */
  readonly iat: number
  readonly nbf: number
  readonly exp: number
  /** When the person signed in; only on a person's token. */
  readonly auth_time?: number
  /** The sign-in that the token came from; only on a person's token. */
  readonly sid?: string
}

/** Production and sandbox differ in both, and in their signing keys. */
export interface TokenParties {
  /** `iss`: the address of the discovery document, without a trailing slash. */
  readonly issuer: string
  readonly audience: string
}

export const ALGORITHM = 'RS256'
export const TOKEN_TYPE = 'at+jwt'
export const TOKEN_LIFE_S_MAX = 3_600
/** How far the clocks of two gateways may differ. */
export const CLOCK_SKEW_S = 30

/** Whether the sender's budget allows to verify a signature now. */
export type MayVerify = () => boolean

export interface ReadToken {
  readonly claims: AccessTokenClaims
  readonly kid: string
  readonly scopes: readonly Scope[]
}

/** Header, claims and signature; 2048 bits of signature are 342 characters. */
const COMPACT = /^([A-Za-z0-9_-]{1,256})\.([A-Za-z0-9_-]{1,3072})\.([A-Za-z0-9_-]{342})$/
const KID = /^[A-Za-z0-9_-]{43}$/
const TENANT = /^tnt_[0-9A-Za-z]+$/
const CLIENT = /^cli_[0-9a-z]{26}$/
const USER = /^usr_[0-9a-z]{26}$/
/** `jti` and `sid`: 128 random bits or more. */
const UNGUESSABLE = /^[A-Za-z0-9_-]{22,64}$/

/**
 * Reads a token and checks its content and signature.
 *
 * @param findKey a published key by its kid
 * @param mayVerify called for a token with correct content, before its signature is verified
 * @returns undefined for a text that is not a valid token now; the reason is deliberately not given
 */
export function readAccessToken(
  token: string,
  { issuer, audience }: TokenParties,
  findKey: (kid: string) => KeyObject | undefined,
  nowMs: number,
  mayVerify: MayVerify = () => true,
): ReadToken | undefined {
  const parts = COMPACT.exec(token)
  if (parts === null) return undefined
  const [, headerText = '', claimsText = '', signatureText = ''] = parts
  const header = readObject(headerText)
  const claims = readObject(claimsText)
  const signature = decodePart(signatureText)
  if (header === undefined || claims === undefined || signature === undefined) return undefined

  const { kid } = header
  const isOurs =
    Object.keys(header).sort().join() === 'alg,kid,typ' && header['alg'] === ALGORITHM && header['typ'] === TOKEN_TYPE
  if (!isOurs || typeof kid !== 'string' || !KID.test(kid)) return undefined
  const key = findKey(kid)
  if (key === undefined) return undefined

  if (claims['iss'] !== issuer || claims['aud'] !== audience) return undefined
  if (!areTimesValid(claims, nowMs / 1_000) || !areNamesValid(claims)) return undefined
  const scopes = readScopes(claims['scope'])
  if (scopes === undefined) return undefined

  // Last, because it is the most costly check.
  if (!mayVerify()) return undefined
  const signed = Buffer.from(token.slice(0, headerText.length + 1 + claimsText.length), 'latin1')
  if (!verify('RSA-SHA256', signed, key, signature)) return undefined
  return { claims: claims as unknown as AccessTokenClaims, kid, scopes }
}

function areTimesValid({ iat, nbf, exp, auth_time: authTime }: Record<string, unknown>, nowS: number): boolean {
  if (!isInstant(iat) || !isInstant(nbf) || !isInstant(exp)) return false
  if (authTime !== undefined && (!isInstant(authTime) || authTime > nowS + CLOCK_SKEW_S)) return false
  return (
    nowS < exp &&
    nbf <= nowS + CLOCK_SKEW_S &&
    iat <= nowS + CLOCK_SKEW_S &&
    exp - iat <= TOKEN_LIFE_S_MAX &&
    exp - nbf <= TOKEN_LIFE_S_MAX
  )
}

const isInstant = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

function areNamesValid(claims: Record<string, unknown>): boolean {
  const { sub, client_id: clientId, tenant_id: tenantId, jti, sid, auth_time: authTime } = claims
  if (!matches(tenantId, TENANT) || !matches(clientId, CLIENT) || !matches(jti, UNGUESSABLE)) return false
  // A client acts for itself, or for a person who has signed in.
  if (sub === clientId) return sid === undefined && authTime === undefined
  return matches(sub, USER) && matches(sid, UNGUESSABLE) && authTime !== undefined
}

const matches = (value: unknown, pattern: RegExp): value is string => typeof value === 'string' && pattern.test(value)

function readScopes(value: unknown): readonly Scope[] | undefined {
  if (typeof value !== 'string') return undefined
  const names = value.split(' ')
  const known = SCOPES.filter((scope) => names.includes(scope))
  return known.length === names.length ? known : undefined
}

/** @returns the bytes of a base64url text; undefined unless it is the canonical encoding of them */
function decodePart(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * @returns the JSON object, if it is written as `JSON.stringify` writes it. Parsing loses repeated members, white space
 *   and unusual spellings of numbers, so that the comparison finds them.
 */
function readObject(text: string): Record<string, unknown> | undefined {
  const bytes = decodePart(text)
  if (bytes === undefined) return undefined
  try {
    const json = utf8.decode(bytes)
    const value: unknown = JSON.parse(json)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject && JSON.stringify(value) === json ? (value as Record<string, unknown>) : undefined
  } catch {
    // Not UTF-8 or not JSON; the reply is the same as for every invalid token.
    return undefined
  }
}
