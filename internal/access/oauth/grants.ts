import { SCOPES, type Scope } from '../../auth/scopes.js'
import { type AuthorizationCodes, isVerifierOf } from './authorization-codes.js'
import type { GrantType, StoredClient } from './clients.js'
import type { Parameters } from './form.js'
import type { TokenSubject } from './issue-token.js'
import { type OAuthProblem, oauthProblem } from './oauth-errors.js'
import { formatRefreshToken, readRefreshToken } from './refresh-tokens.js'
import type { Refreshing, Sessions } from './sessions.js'
import { isSignedInSince, type StoredUser } from './users.js'

export interface GrantDeps {
  readonly codes: AuthorizationCodes
  readonly sessions: Sessions
  readonly findUser: (userId: string) => StoredUser | undefined
  /** 32 bytes: the instance's key for refresh tokens and sign-in forms. */
  readonly signInKey: Uint8Array
}

/** The outcome of a grant: the subject of the access token to sign, and the next refresh token. */
export type Granted =
  | { readonly ok: true; readonly subject: TokenSubject; readonly refreshToken?: string }
  | { readonly ok: false; readonly problem: OAuthProblem; readonly ended?: EndedSignIn }

/** A sign-in that was ended because its single-use code or refresh token was used twice. */
export interface EndedSignIn {
  readonly tenantId: string
  readonly userId: string
}

const refused = (error: OAuthProblem['error'], detail: string): Granted & { readonly ok: false } => ({
  ok: false,
  problem: oauthProblem(error, detail),
})

/** The reasons are not given: the caller may be an attacker. */
const BAD_CODE = refused('invalid_grant', 'The authorization code is not valid.')
const BAD_REFRESH_TOKEN = refused('invalid_grant', 'The refresh token is not valid.')
const BAD_SCOPE = refused('invalid_scope', 'A scope is unknown, or none of those requested may be granted.')

/** A token request of an authenticated client. */
export interface TokenRequest {
  readonly client: StoredClient
  readonly form: Parameters
  /** Whether it comes from the gateway's own machine. */
  readonly isLoopback: boolean
  readonly refreshing?: Refreshing
}

type Grant = (request: TokenRequest, deps: GrantDeps, nowMs: number) => Promise<Granted>

/** Performs the grant of a token request. */
export async function grant(request: TokenRequest, deps: GrantDeps, nowMs: number): Promise<Granted> {
  const { client, form } = request
  const wanted = form.get('grant_type')
  if (wanted === undefined) return refused('invalid_request', 'The grant_type is missing.')
  const known = (Object.keys(GRANTS) as GrantType[]).find((type) => type === wanted)
  if (known === undefined) return refused('unsupported_grant_type', 'The grant_type is not supported.')
  if (!client.grant_types.includes(known)) {
    return refused('unauthorized_client', 'The client may not use this grant_type.')
  }
  return GRANTS[known](request, deps, nowMs)
}

const clientCredentials: Grant = async ({ client, form }) => {
  const scopes = grantableScopes(form.get('scope'), client.scopes)
  if (scopes === undefined) return BAD_SCOPE
  return { ok: true, subject: { tenantId: client.tenant_id, clientId: client.id, scopes } }
}

const authorizationCode: Grant = async (request, { codes, sessions, findUser, signInKey }, nowMs) => {
  const { client, form, isLoopback } = request
  const [code, verifier] = [form.get('code'), form.get('code_verifier')]
  if (code === undefined) return refused('invalid_request', 'The code is missing.')
  const redeemed = await codes.redeem(code, nowMs)
  if (redeemed.kind === 'unknown') return BAD_CODE
  const { grant: granted } = redeemed
  if (redeemed.kind === 'reused') {
    const hasEnded = await sessions.revoke(granted.session_id)
    return { ...BAD_CODE, ...(hasEnded && { ended: { tenantId: granted.tenant_id, userId: granted.user_id } }) }
  }
  const user = findUser(granted.user_id)
  const isMeant =
    granted.client_id === client.id &&
    (isLoopback || granted.is_loopback_only !== true) &&
    granted.redirect_uri === form.get('redirect_uri') &&
    verifier !== undefined &&
    isVerifierOf(granted.code_challenge, verifier)
  if (!isMeant || user?.status !== 'active' || !isSignedInSince(user, granted.auth_time)) return BAD_CODE

  const subject: TokenSubject = {
    tenantId: granted.tenant_id,
    clientId: client.id,
    scopes: granted.scopes,
    person: { userId: user.id, authTimeS: granted.auth_time, sessionId: granted.session_id },
  }
  // A client without refresh tokens has a session too: its access tokens are revoked by it.
  const began = await sessions.begin({
    id: granted.session_id,
    tenant_id: granted.tenant_id,
    client_id: client.id,
    user_id: user.id,
    scopes: granted.scopes,
    auth_time: granted.auth_time,
    generation: 0,
    status: 'active',
  })
  if (!began) return BAD_CODE
  if (!client.grant_types.includes('refresh_token')) return { ok: true, subject }
  const refreshToken = formatRefreshToken(signInKey, { sessionId: granted.session_id, generation: 0 })
  return { ok: true, subject, refreshToken }
}

const refresh: Grant = async ({ client, form, refreshing }, { sessions, findUser, signInKey }, nowMs) => {
  const text = form.get('refresh_token')
  if (text === undefined) return refused('invalid_request', 'The refresh_token is missing.')
  const presented = readRefreshToken(signInKey, text)
  if (presented === undefined) return BAD_REFRESH_TOKEN
  const { sessionId, generation } = presented
  const session = await sessions.find(sessionId)
  if (session?.client_id !== client.id) return BAD_REFRESH_TOKEN
  if (session.status === 'revoked') {
    // The request that ended it may have failed before it denied the tokens.
    await sessions.revoke(sessionId)
    return BAD_REFRESH_TOKEN
  }
  const user = findUser(session.user_id)
  if (user?.status !== 'active' || !isSignedInSince(user, session.auth_time)) return BAD_REFRESH_TOKEN

  // Never more than was granted, nor more than client and person may have now. Checked before the token is used up, so
  // that the client can correct its request.
  const asked = readScopes(form.get('scope')) ?? (form.has('scope') ? [] : session.scopes)
  if (asked.length === 0 || !asked.every((scope) => session.scopes.includes(scope))) return BAD_SCOPE
  const scopes = asked.filter((scope) => client.scopes.includes(scope) && user.scopes.includes(scope))
  if (scopes.length === 0) return BAD_REFRESH_TOKEN

  const refreshed = await sessions.refresh(sessionId, generation, nowMs, refreshing)
  if (refreshed.kind === 'reused' && (await sessions.revoke(sessionId))) {
    return { ...BAD_REFRESH_TOKEN, ended: { tenantId: session.tenant_id, userId: user.id } }
  }
  if (refreshed.kind !== 'refreshed') return BAD_REFRESH_TOKEN
  return {
    ok: true,
    subject: {
      tenantId: session.tenant_id,
      clientId: client.id,
      scopes,
      person: { userId: user.id, authTimeS: session.auth_time, sessionId },
    },
    refreshToken: formatRefreshToken(signInKey, { sessionId, generation: refreshed.session.generation }),
  }
}

const GRANTS: Readonly<Record<GrantType, Grant>> = {
  client_credentials: clientCredentials,
  authorization_code: authorizationCode,
  refresh_token: refresh,
}

/**
 * The scopes to grant: those requested that are allowed, or all allowed ones when the request names none.
 *
 * @returns undefined when a requested scope is unknown, or none is left
 */
export function grantableScopes(asked: string | undefined, allowed: readonly Scope[]): readonly Scope[] | undefined {
  if (asked === undefined) return allowed.length === 0 ? undefined : allowed
  const left = readScopes(asked)?.filter((scope) => allowed.includes(scope))
  return left === undefined || left.length === 0 ? undefined : left
}

/** @returns undefined when one is unknown. Their order and repetition do not matter (RFC 6749 3.3). */
function readScopes(text: string | undefined): readonly Scope[] | undefined {
  if (text === undefined) return undefined
  const names = new Set(text.split(' '))
  const known = SCOPES.filter((scope) => names.has(scope))
  return known.length === names.size ? known : undefined
}
