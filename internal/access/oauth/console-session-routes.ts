import type { Exchange } from '../../http/exchange.js'
import type { Route } from '../../http/route.js'
import { answerFailure, CREDENTIALS_UNAVAILABLE, formRequests } from './client-requests.js'
import { isConsoleClient, type StoredClient } from './clients.js'
import { type Cookie, consoleCookie } from './console-cookie.js'
import type { Parameters } from './form.js'
import { BEGIN_CONSOLE_SESSION, CONTINUE_CONSOLE_SESSION, END_CONSOLE_SESSIONS } from './oauth-contract.js'
import type { OAuthDeps } from './oauth-deps.js'
import { oauthProblem, oauthProblemForm } from './oauth-errors.js'
import { readRefreshToken } from './refresh-tokens.js'
import type { Refreshing } from './sessions.js'
import { issueToken, recordEnd } from './token-routes.js'

const PATH = '/v1/oauth/console'

/** Tabs that load at once, and a page that is loaded again before its answer came, send one cookie several times. */
const GRACE_MS = 60_000

const FOREIGN = oauthProblem('invalid_request', 'Only the console itself may send this.')
const NO_SESSION = oauthProblem('invalid_grant', 'The browser has no session of the console.')

/**
 * The console's sign-in: a session as of any client (`sessions.ts`), whose refresh token is in a cookie. The page
 * exchanges the code of its sign-in for the cookie, the cookie for access tokens, which it has in memory only, and ends
 * it. All of this is refused to other sites (CSRF): by `SameSite`, and by what every browser says of a request's origin.
 */
export function consoleSessionRoutes(deps: OAuthDeps): readonly Route[] {
  const cookies = consoleCookie(deps.parties.issuer)
  const isOwn = (exchange: Exchange): boolean =>
    exchange.header('origin') === new URL(deps.parties.issuer).origin &&
    ['', 'same-origin'].includes(exchange.header('sec-fetch-site'))
  const common = { method: 'post', access: 'public', isUndescribed: true } as const

  /** A form of the console, with the cookies that came with it. */
  const exchanging = (serve: (exchange: Exchange, asked: Asked) => Promise<void>): ((exchange: Exchange) => void) => {
    const requests = formRequests(deps, 'token.issue')
    return (exchange) => {
      if (!isOwn(exchange)) return exchange.refuseAndClose(FOREIGN)
      const header = exchange.header('cookie')
      requests(exchange, async (_, client, form) => {
        if (!isConsoleClient(client)) return exchange.replyProblem(FOREIGN)
        await serve(exchange, { client, form, token: cookies.read(header, client.id) })
      })
    }
  }

  /** Issues an access token, and sets the cookie for the next one. @returns whether it did */
  const issue = async (
    exchange: Exchange,
    client: StoredClient,
    form: Parameters,
    refreshing?: Refreshing,
  ): Promise<boolean> => {
    const issued = await issueToken(deps, exchange, { client, form, ...(refreshing && { refreshing }) })
    if (issued === undefined) return false
    const user = deps.findUser(issued.subject.person?.userId ?? '')
    exchange.replyJson(`200 OK\r\nSet-Cookie: ${cookies.write(client.id, issued.refreshToken ?? '')}`, {
      ...issued.answer,
      user: { id: user?.id, username: user?.username },
      tenant: { id: client.tenant_id, name: deps.tenantNameOf(client.tenant_id) },
    })
    return true
  }

  return [
    {
      ...common,
      limitsItself: true,
      path: `${PATH}/sign-in`,
      operation: BEGIN_CONSOLE_SESSION,
      handle: exchanging(async (exchange, { client, form, token }) => {
        const began = await issue(exchange, client, new Map([...form, ['grant_type', 'authorization_code']]))
        // The one before, of the same browser. Other tabs are refused from now on, and have the new cookie already.
        if (began && token !== undefined) await end(deps, exchange, token)
      }),
    },
    {
      ...common,
      limitsItself: true,
      path: `${PATH}/token`,
      operation: CONTINUE_CONSOLE_SESSION,
      handle: exchanging(async (exchange, { client, form: sent, token }) => {
        if (token === undefined) return exchange.replyProblem(NO_SESSION)
        const form = new Map([
          ['grant_type', 'refresh_token'],
          ['refresh_token', token],
        ])
        // A page that is open asks by itself, and so would never be idle.
        const idleMs = Math.max(0, 1_000 * (Number(sent.get('idle_s')) || 0))
        await issue(exchange, client, form, { graceMs: GRACE_MS, idleMs })
      }),
    },
    {
      ...common,
      path: `${PATH}/sign-out`,
      operation: END_CONSOLE_SESSIONS,
      handle(exchange: Exchange) {
        if (!isOwn(exchange)) return exchange.refuseAndClose(FOREIGN)
        exchange.keepAddress()
        const held = cookies.all(exchange.header('cookie'))
        // The browser forgets them in any case: a person who leaves it must not find the broker in their way.
        const forgets = held.map(({ name }) => ['Set-Cookie', cookies.remove(name)] as const)
        exchange.problemForm = { ...oauthProblemForm(exchange.header('accept')), headers: forgets }
        if (!deps.isBrokerUp()) return exchange.replyProblem(CREDENTIALS_UNAVAILABLE)
        endAll(deps, exchange, held).then(
          () => exchange.replyEmpty(forgets.reduce((head, line) => `${head}\r\n${line.join(': ')}`, NO_CONTENT)),
          (cause: unknown) => answerFailure(exchange, cause),
        )
      },
    },
  ]
}

const NO_CONTENT = '204 No Content\r\nCache-Control: no-store'

interface Asked {
  readonly client: StoredClient
  readonly form: Parameters
  /** Of the cookie. */
  readonly token: string | undefined
}

async function endAll(deps: OAuthDeps, exchange: Exchange, held: readonly Cookie[]): Promise<void> {
  for (const { token } of held) await end(deps, exchange, token)
}

/** Ends the session of a refresh token, whichever of it. */
async function end(deps: OAuthDeps, exchange: Exchange, token: string): Promise<void> {
  const { sessionId } = readRefreshToken(deps.signInKey, token) ?? {}
  const session = sessionId === undefined ? undefined : await deps.sessions.find(sessionId)
  if (session === undefined || !(await deps.sessions.revoke(session.id))) return
  const { tenant_id: tenantId, user_id: userId, client_id: id } = session
  await recordEnd(deps, exchange, { id, tenant_id: tenantId }, { tenantId, userId })
}
