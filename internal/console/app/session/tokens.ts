import { consoleClientId, consoleLinkUri, consoleRedirectUri } from '../../../auth/console-client.js'
import { idleS } from './activity.js'

/** An access token, who it is of, and where. Kept in memory only: what renews it is a cookie that no script can read. */
export interface Tokens {
  readonly tenantId: string
  readonly tenantName: string
  readonly accessToken: string
  /** Of the access token, by this browser's clock. */
  readonly expiresAtMs: number
  readonly userId: string
  readonly username: string
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
): Promise<Tokens> => tokensOf('sign-in', tenantId, { code, code_verifier: verifier, redirect_uri: uri })

/** Of a one-time link. */
export const redeemLink = (tenantId: string, code: string, verifier: string): Promise<Tokens> =>
  redeemCode(tenantId, code, verifier, consoleLinkUri(location.origin))

/** Of the session that the browser has at the tenant. @throws SignInRefused when there is none, or it has ended */
export const renewTokens = (tenantId: string): Promise<Tokens> =>
  tokensOf('token', tenantId, { idle_s: String(idleS()) })

/** Ends the sessions of this browser, at all tenants. */
export async function endSessions(): Promise<void> {
  if (!(await post('sign-out', {})).ok) throw new Error('The sessions were not ended.')
}

async function tokensOf(
  path: 'sign-in' | 'token',
  tenantId: string,
  fields: Readonly<Record<string, string>>,
): Promise<Tokens> {
  const askedAtMs = Date.now()
  const answer = await post(path, { client_id: clientIdOf(tenantId), ...fields })
  if (answer.status >= 500 || answer.status === 429) throw new Error('The sign-in service is busy; try again.')
  if (!answer.ok) throw new SignInRefused('Sign in again: the last sign-in has ended.')
  const { access_token: accessToken, expires_in: lifeS, scope, user, tenant } = await answer.json()
  return {
    tenantId,
    tenantName: tenant.name,
    accessToken,
    expiresAtMs: askedAtMs + lifeS * 1_000,
    userId: user.id,
    username: user.username,
    scopes: scope.split(' '),
  }
}

const post = (path: string, fields: Readonly<Record<string, string>>): Promise<Response> =>
  fetch(`/v1/oauth/console/${path}`, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams(fields),
    credentials: 'same-origin',
  })
