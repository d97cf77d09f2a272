import { randomBytes } from 'node:crypto'
import { SignJWT } from 'jose'
import { type AccessTokenClaims, ALGORITHM, TOKEN_TYPE, type TokenParties } from '../../auth/access-tokens.js'
import type { Scope } from '../../auth/scopes.js'
import type { SigningKey } from './token-keys.js'

/** On whose behalf a token is issued, and for which scopes. */
export interface TokenSubject {
  readonly tenantId: string
  readonly clientId: string
  readonly scopes: readonly Scope[]
  /** The person who signed in, when, and which sign-in it was; undefined when the client acts for itself. */
  readonly person?: { readonly userId: string; readonly authTimeS: number; readonly sessionId: string }
}

/** A value for `jti` and `sid`: 128 random bits. */
export const unguessable = (): string => randomBytes(16).toString('base64url')

/** Signs an access token (RFC 9068). @param lifeS seconds, `TOKEN_LIFE_S_MAX` at most */
export function issueAccessToken(
  { issuer, audience }: TokenParties,
  { kid, privateKey }: SigningKey,
  { tenantId, clientId, scopes, person }: TokenSubject,
  lifeS: number,
  nowMs: number,
): Promise<string> {
  const nowS = Math.floor(nowMs / 1_000)
  const claims: AccessTokenClaims = {
    iss: issuer,
    aud: audience,
    sub: person?.userId ?? clientId,
    client_id: clientId,
    tenant_id: tenantId,
    scope: scopes.join(' '),
    jti: unguessable(),
    iat: nowS,
    nbf: nowS,
    exp: nowS + lifeS,
    ...(person === undefined ? {} : { auth_time: person.authTimeS, sid: person.sessionId }),
  }
  return new SignJWT({ ...claims }).setProtectedHeader({ alg: ALGORITHM, kid, typ: TOKEN_TYPE }).sign(privateKey)
}
