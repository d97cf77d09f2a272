import { readAccessToken } from '../../auth/access-tokens.js'
import { isLoopback } from '../../auth/addresses.js'
import type { Operation } from '../../http/contract/operation.js'
import type { Exchange } from '../../http/exchange.js'
import type { Route } from '../../http/route.js'
import { clientRequests } from './client-requests.js'
import { isConsoleClient, type StoredClient } from './clients.js'
import { type EndedSignIn, grant, type TokenRequest } from './grants.js'
import { issueAccessToken, type TokenSubject } from './issue-token.js'
import { recordTokenAction } from './oauth-audit.js'
import { ISSUE_TOKEN, REVOKE_TOKEN } from './oauth-contract.js'
import type { OAuthDeps } from './oauth-deps.js'
import { oauthProblem } from './oauth-errors.js'
import { readRefreshToken } from './refresh-tokens.js'

/**
 * `POST /v1/oauth/token` (RFC 6749: client credentials, authorization code with PKCE, refresh) and
 * `POST /v1/oauth/revoke` (RFC 7009). Both authenticate the client themselves.
 */
export const tokenRoutes = (deps: OAuthDeps): readonly Route[] => [
  issueTokenRoute('/v1/oauth/token', ISSUE_TOKEN, deps),
  revokeTokenRoute('/v1/oauth/revoke', REVOKE_TOKEN, deps),
]

/** A token endpoint, for the clients and the audience of `deps`. */
export const issueTokenRoute = (path: string, operation: Operation, deps: OAuthDeps): Route => ({
  method: 'post',
  path,
  access: 'public',
  limitsItself: true,
  operation,
  handle: clientRequests(deps, 'token.issue', async (exchange, client, form) => {
    // Its refresh tokens are in cookies that no script can read (`console-session-routes.ts`).
    if (isConsoleClient(client)) return exchange.replyProblem(NOT_HERE)
    const issued = await issueToken(deps, exchange, { client, form })
    if (issued === undefined) return
    const { answer, refreshToken } = issued
    // RFC 6749 section 5.1.
    exchange.replyJson('200 OK\r\nPragma: no-cache', {
      ...answer,
      ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    })
  }),
})

const NOT_HERE = oauthProblem('unauthorized_client', 'The console has endpoints of its own.')

interface Issued {
  readonly subject: TokenSubject
  /** Undefined for a client without refresh tokens. */
  readonly refreshToken: string | undefined
  /** Without it. */
  readonly answer: object
}

/** Performs and audits the grant of a client's request. @returns undefined when it is refused, which is replied */
export async function issueToken(
  deps: OAuthDeps,
  exchange: Exchange,
  request: Omit<TokenRequest, 'isLoopback'>,
): Promise<Issued | undefined> {
  const { client, form } = request
  const nowMs = deps.clock()
  const action = form.get('grant_type') === 'refresh_token' ? 'token.refresh' : 'token.issue'
  const entry = { action, tenantId: client.tenant_id, actor: client.id, target: client.id } as const
  const granted = await grant({ ...request, isLoopback: isLoopback(exchange.address) }, deps, nowMs)
  if (!granted.ok) {
    if (granted.ended !== undefined) await recordEnd(deps, exchange, client, granted.ended)
    await recordTokenAction(deps, exchange, { ...entry, refusal: granted.problem })
    return void exchange.replyProblem(granted.problem)
  }
  const { subject, refreshToken } = granted
  const token = await issueAccessToken(deps.parties, deps.keys.signer(), subject, deps.tokenLifeS, nowMs)
  await recordTokenAction(deps, exchange, { ...entry, target: subject.person?.userId ?? client.id })
  const answer = {
    access_token: token,
    token_type: 'Bearer',
    expires_in: deps.tokenLifeS,
    scope: subject.scopes.join(' '),
  }
  return { subject, refreshToken, answer }
}

/** A revocation endpoint, for the clients and the audience of `deps`. */
export const revokeTokenRoute = (path: string, operation: Operation, deps: OAuthDeps): Route => ({
  method: 'post',
  path,
  access: 'public',
  limitsItself: true,
  operation,
  handle: clientRequests(deps, 'token.revoke', async (exchange, client, form) => {
    const token = form.get('token')
    if (token === undefined) return exchange.replyProblem(oauthProblem('invalid_request', 'The token is missing.'))
    const entry = { action: 'token.revoke', tenantId: client.tenant_id, actor: client.id, target: client.id } as const
    const revoked = await revoke(token, client, deps)
    if (revoked !== 'other_clients') {
      if (revoked !== 'done') await recordEnd(deps, exchange, client, revoked)
      await recordTokenAction(deps, exchange, entry)
      // An unknown token counts as revoked (RFC 7009 2.2). The hint is ignored: the token shows its type itself.
      return exchange.replyJson('200 OK', {})
    }
    await recordTokenAction(deps, exchange, { ...entry, refusal: OTHER_CLIENTS })
    exchange.replyProblem(OTHER_CLIENTS)
  }),
})

const OTHER_CLIENTS = oauthProblem('invalid_grant', 'The token was issued to another client.')

/**
 * Records that a person was signed out by a client that revoked or misused a token, even a client of another tenant.
 */
export const recordEnd = (
  deps: OAuthDeps,
  exchange: Exchange,
  client: Pick<StoredClient, 'id' | 'tenant_id'>,
  { tenantId, userId }: EndedSignIn,
) =>
  recordTokenAction(deps, exchange, {
    action: 'session.sign_out',
    tenantId,
    actor: client.tenant_id === tenantId ? client.id : null,
    target: userId,
  })

/** @returns `other_clients` for another client's token (RFC 7009 2.1); the sign-in, where the revocation ended one */
async function revoke(
  token: string,
  client: StoredClient,
  deps: OAuthDeps,
): Promise<'done' | 'other_clients' | EndedSignIn> {
  const refreshToken = readRefreshToken(deps.signInKey, token)
  if (refreshToken !== undefined) {
    const session = await deps.sessions.find(refreshToken.sessionId)
    if (session === undefined) return 'done'
    // A session that has ended is revoked again: the first attempt may have failed before it denied the tokens.
    if (session.client_id !== client.id) return session.status === 'active' ? 'other_clients' : 'done'
    const hasEnded = await deps.sessions.revoke(session.id)
    return hasEnded ? { tenantId: session.tenant_id, userId: session.user_id } : 'done'
  }
  const accessToken = readAccessToken(token, deps.parties, deps.keys.publicKey, deps.clock())
  if (accessToken === undefined) return 'done'
  if (accessToken.claims.client_id !== client.id) return 'other_clients'
  await deps.deny(accessToken.claims.jti)
  return 'done'
}
