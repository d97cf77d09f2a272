import { randomBytes } from 'node:crypto'
import { SignJWT } from 'jose'
import { type AccessTokenClaims, ALGORITHM, TOKEN_TYPE, type TokenParties } from '../../auth/access-tokens.js'
import type { Mode } from '../../auth/api-keys.js'
import type { Scope } from '../../auth/scopes.js'
import type { SigningKey } from './token-keys.js'

/**
 * Issuer and audience of tokens. The issuer is the instance's address, where its discovery document is found (RFC 8414
 * 3); production and sandbox have different addresses, and always different audiences.
 */
export const partiesOf = (mode: Mode, baseUrl: string): TokenParties => ({
  issuer: baseUrl.replace(/\/+$/, ''),
  audience: `urn:attribution:${mode}`,
})

/** The partner API has its own audience: it accepts only connectors' tokens, and no other API accepts those. */
export const partnerPartiesOf = (mode: Mode, baseUrl: string): TokenParties => ({
  ...partiesOf(mode, baseUrl),
  audience: `urn:attribution:${mode}:partner`,
})

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
