import { consoleClientId, consoleLinkUri, consoleRedirectUri } from '../../../auth/console-client.js'

/** The tokens of a sign-in, and who they are for. Kept in memory only. */
export interface Tokens {
  readonly tenantId: string
  readonly accessToken: string
  readonly refreshToken: string
  /** Of the access token, by this browser's clock. */
  readonly expiresAtMs: number
  readonly userId: string
  readonly scopes: readonly string[]
}

/** The authorization server refused: the person must sign in again. */
export class SignInRefused extends Error {}

export const clientIdOf = (tenantId: string): string => consoleClientId(tenantId) ?? ''
export const redirectUri = (): string => consoleRedirectUri(location.origin)

/** @param uri where the code was sent to: a code of the sign-in page is refused in a link, and the other way round */
export const redeemCode = (
  tenantId: string,
  code: string,
  verifier: string,
  uri: string = redirectUri(),
): Promise<Tokens> =>
  requestTokens(tenantId, { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: uri })

/** Of a one-time link. */
export const redeemLink = (tenantId: string, code: string, verifier: string): Promise<Tokens> =>
  redeemCode(tenantId, code, verifier, consoleLinkUri(location.origin))

export const refreshTokens = ({ tenantId, refreshToken }: Tokens): Promise<Tokens> =>
  requestTokens(tenantId, { grant_type: 'refresh_token', refresh_token: refreshToken })

export async function revokeTokens({ tenantId, refreshToken }: Tokens): Promise<void> {
  await postForm('/v1/oauth/revoke', { client_id: clientIdOf(tenantId), token: refreshToken })
}

async function requestTokens(tenantId: string, grant: Readonly<Record<string, string>>): Promise<Tokens> {
  const askedAtMs = Date.now()
  const answer = await postForm('/v1/oauth/token', { client_id: clientIdOf(tenantId), ...grant })
  if (answer.status >= 500 || answer.status === 429) throw new Error('The sign-in service is busy; try again.')
  if (!answer.ok) throw new SignInRefused('Sign in again: the last sign-in has ended.')
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: lifeS, scope } = await answer.json()
  return {
    tenantId,
    accessToken,
    refreshToken,
    expiresAtMs: askedAtMs + lifeS * 1_000,
    userId: claimsOf(accessToken).sub,
    scopes: scope.split(' '),
  }
}

const postForm = (path: string, fields: Readonly<Record<string, string>>): Promise<Response> =>
  fetch(path, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams(fields),
    credentials: 'omit',
  })

/** The token came from its issuer over our own connection: nothing is verified here, the service verifies it. */
function claimsOf(accessToken: string): { readonly sub: string } {
  const payload = accessToken.split('.')[1] ?? ''
  return JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')))
}
