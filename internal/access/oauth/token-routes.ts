import { readAccessToken } from '../../auth/access-tokens.js'
import type { Operation } from '../../http/contract/operation.js'
import type { Exchange } from '../../http/exchange.js'
import type { Route } from '../../http/route.js'
import { recordDeed } from './audit.js'
import type { OAuthDeps } from './authorization-server.js'
import { clientRequests } from './client-requests.js'
import type { StoredClient } from './clients.js'
import { ISSUE_TOKEN, REVOKE_TOKEN } from './contract.js'
import { oauthProblem } from './errors.js'
import { type EndedSignIn, grant } from './grants.js'
import { issueAccessToken } from './issue-token.js'
import { readRefreshToken } from './refresh-tokens.js'

/**
 * `POST /v1/oauth/token` (RFC 6749: client credentials, authorization code with PKCE, refresh) and
 * `POST /v1/oauth/revoke` (RFC 7009). Both authenticate the client themselves.
 */
export const tokenRoutes = (deps: OAuthDeps): readonly Route[] => [
  issueTokenRoute('/v1/oauth/token', ISSUE_TOKEN, deps),
  revokeTokenRoute('/v1/oauth/revoke', REVOKE_TOKEN, deps),
]

/** A token endpoint: for the clients that `deps` finds, of the audience that it names. */
export const issueTokenRoute = (path: string, operation: Operation, deps: OAuthDeps): Route => ({
  method: 'post',
  path,
  access: 'public',
  limitsItself: true,
  operation,
  handle: clientRequests(deps, 'token.issue', async (exchange, client, form) => {
    const nowMs = deps.clock()
    const action = form.get('grant_type') === 'refresh_token' ? 'token.refresh' : 'token.issue'
    const deed = { action, tenantId: client.tenant_id, actor: client.id, target: client.id } as const
    const granted = await grant(client, form, deps, nowMs)
    if (!granted.ok) {
      if (granted.ended !== undefined) await recordEnd(deps, exchange, client, granted.ended)
      await recordDeed(deps, exchange, { ...deed, refusal: granted.problem })
      return exchange.replyProblem(granted.problem)
    }
    const { subject, refreshToken } = granted
    const token = await issueAccessToken(deps.parties, deps.keys.signer(), subject, deps.tokenLifeS, nowMs)
    await recordDeed(deps, exchange, { ...deed, target: subject.person?.userId ?? client.id })
    // RFC 6749 section 5.1.
    exchange.replyJson('200 OK\r\nPragma: no-cache', {
      access_token: token,
      token_type: 'Bearer',
      expires_in: deps.tokenLifeS,
      scope: subject.scopes.join(' '),
      ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    })
  }),
})

/** A revocation endpoint, likewise. */
export const revokeTokenRoute = (path: string, operation: Operation, deps: OAuthDeps): Route => ({
  method: 'post',
  path,
  access: 'public',
  limitsItself: true,
  operation,
  handle: clientRequests(deps, 'token.revoke', async (exchange, client, form) => {
    const token = form.get('token')
    if (token === undefined) return exchange.replyProblem(oauthProblem('invalid_request', 'A token is needed.'))
    const deed = { action: 'token.revoke', tenantId: client.tenant_id, actor: client.id, target: client.id } as const
    const revoked = await revoke(token, client, deps)
    if (revoked !== 'other_clients') {
      if (revoked !== 'done') await recordEnd(deps, exchange, client, revoked)
      await recordDeed(deps, exchange, deed)
      // An unknown token is as good as revoked (RFC 7009 2.2); its hint says nothing that it does not say itself.
      return exchange.replyJson('200 OK', {})
    }
    await recordDeed(deps, exchange, { ...deed, refusal: OTHER_CLIENTS })
    exchange.replyProblem(OTHER_CLIENTS)
  }),
})

const OTHER_CLIENTS = oauthProblem('invalid_grant', 'The token was issued to another client.')

/** A person is signed out: by the client that revokes or misuses what it has, be it a client of another tenant. */
const recordEnd = (deps: OAuthDeps, exchange: Exchange, client: StoredClient, { tenantId, userId }: EndedSignIn) =>
  recordDeed(deps, exchange, {
    action: 'session.sign_out',
    tenantId,
    actor: client.tenant_id === tenantId ? client.id : null,
    target: userId,
  })

/** @returns `other_clients` when the token is another client's (RFC 7009 2.1), and the sign-in that has ended with it */
async function revoke(
  token: string,
  client: StoredClient,
  deps: OAuthDeps,
): Promise<'done' | 'other_clients' | EndedSignIn> {
  const refreshToken = readRefreshToken(deps.signInKey, token)
  if (refreshToken !== undefined) {
    const session = await deps.sessions.find(refreshToken.sessionId)
    if (session === undefined) return 'done'
    // One that has ended is ended again: the first attempt may have ended before its tokens were denied.
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
