import type { Exchange } from '../../http/exchange.js'
import { HTML_TYPE, pageHeaders } from '../../http/html.js'
import {
  type AuthorizationAnswer,
  type AuthorizationRequest,
  answerAddress,
  type ReadAuthorizationRequest,
  type RedirectedError,
  readAuthorizationRequest,
} from './authorization-request.js'
import { isConsoleClient } from './clients.js'
import type { Parameters } from './form.js'
import type { OAuthDeps } from './oauth-deps.js'
import { accepts, oauthProblem, oauthProblemForm } from './oauth-errors.js'
import type { SignInOutcome } from './sign-in.js'
import { signInCookie } from './sign-in-cookie.js'
import { type SignInForm, sealForm } from './sign-in-form.js'
import { codePage, formTargetOf, problemPageForm, providerAddress, signInPage } from './sign-in-page.js'

export const STALE = oauthProblem('invalid_request', 'The sign-in form has expired or belongs to another browser.')

export type Replies = ReturnType<typeof authorizationReplies>
type Redirected = Pick<AuthorizationRequest, 'redirectUri' | 'state'>

/** The replies of the endpoint: its page, and redirects back to the client. */
export function authorizationReplies(deps: OAuthDeps, isHttps: boolean) {
  const cookies = signInCookie(isHttps)

  const redirect = (exchange: Exchange, { redirectUri, state }: Redirected, answer: AuthorizationAnswer): void =>
    redirectTo(exchange, answerAddress(redirectUri, deps.parties.issuer, state, answer))

  const refuse = (
    exchange: Exchange,
    { error, detail, ...to }: Redirected & { readonly error: RedirectedError; readonly detail: string },
  ): void => redirect(exchange, to, { error, error_description: detail })

  return {
    redirect,
    refuse,

    /** Replies to an invalid request. @returns the request where it is valid */
    validOrReplied(exchange: Exchange, read: ReadAuthorizationRequest): AuthorizationRequest | undefined {
      switch (read.kind) {
        case 'valid':
          return read.request
        case 'refused':
          refuse(exchange, read)
          return undefined
        case 'untrusted':
          exchange.replyProblem(oauthProblem('invalid_request', read.detail))
          return undefined
      }
    },

    showPage(exchange: Exchange, request: AuthorizationRequest, browser: string, retry?: Retry): void {
      const { client, redirectUri, scopes } = request
      const form = sealForm(deps.signInKey, formOf(request), browser, deps.clock())
      const provider = deps.providerOf(client.tenant_id)
      const isConsole = isConsoleClient(client)
      // Nothing to ask here: neither for consent, nor by what to sign in.
      if (isConsole && provider?.only === true)
        return redirectTo(exchange, providerAddress(form), `\r\nSet-Cookie: ${cookies.write(browser)}`)
      const body = signInPage({
        clientName: client.name,
        isConsole,
        tenantName: deps.tenantNameOf(client.tenant_id),
        redirectUri,
        scopes,
        form,
        username: retry?.username ?? '',
        failure: retry?.failure ?? '',
        provider: provider && { name: provider.name, host: new URL(provider.issuer).host, isOnly: provider.only },
      })
      showHtml(exchange, body, { browser, redirectUri, isRetry: retry !== undefined, isHttps })
    },

    /** The second page of a sign-in: a code is needed. */
    showCodePage(exchange: Exchange, request: AuthorizationRequest, browser: string, asked: CodeAsked): void {
      const { proven, username, failure } = asked
      const body = codePage({
        form: sealForm(deps.signInKey, { ...formOf(request), proven }, browser, deps.clock()),
        username,
        failure,
        freshSecret: proven.freshSecret,
      })
      showHtml(exchange, body, { browser, redirectUri: request.redirectUri, isRetry: failure !== '', isHttps })
    },
  }
}

/** Replies with a page of the sign-in, tied to the browser by its cookie. */
function showHtml(exchange: Exchange, body: string, { browser, redirectUri, isRetry, isHttps }: Shown): void {
  // Browsers open no password dialog for a challenge whose scheme they do not support.
  const status = !isRetry ? '200 OK' : '401 Unauthorized\r\nWWW-Authenticate: Bearer realm="attribution"'
  const headers = [
    ['Content-Type', HTML_TYPE],
    ['Cache-Control', 'no-store'],
    ...pageHeaders(isHttps, [formTargetOf(redirectUri)]),
    ['Set-Cookie', signInCookie(isHttps).write(browser)],
  ]
  exchange.reply(
    headers.reduce((head, [name, value]) => `${head}\r\n${name}: ${value}`, status),
    body,
  )
}

interface Shown {
  readonly browser: string
  readonly redirectUri: string
  readonly isRetry: boolean
  readonly isHttps: boolean
}

/** The part of a request that a form carries. */
export const formOf = ({
  client,
  redirectUri,
  scopes,
  state,
  codeChallenge,
  maxAgeS,
}: AuthorizationRequest): SignInForm => ({
  clientId: client.id,
  redirectUri,
  scopes,
  state,
  codeChallenge,
  ...(maxAgeS !== undefined && { maxAgeS }),
})

type CodeAsked = Extract<SignInOutcome, { readonly kind: 'needs_code' }>

interface Retry {
  readonly username: string
  readonly failure: string
}

/** A browser, which asks for HTML by name, is shown a page; every other client gets the problem itself. */
export const formFor = (exchange: Exchange, isHttps: boolean) =>
  wantsHtml(exchange) ? problemPageForm(isHttps) : oauthProblemForm(exchange.header('accept'))

export const wantsHtml = (exchange: Exchange): boolean => accepts(exchange.header('accept'), 'text/html')

/** After a 303 the browser sends a GET without the password (RFC 9700 4.12). */
export function redirectTo(exchange: Exchange, address: string, more = ''): void {
  const lines = `Location: ${address}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer${more}`
  exchange.reply(`303 See Other\r\n${lines}`, '')
}

/** The request that a form carries, checked again: the client may have changed since the page was shown. */
export const readRequestOf = (form: SignInForm, deps: Pick<OAuthDeps, 'findClient'>): ReadAuthorizationRequest =>
  readAuthorizationRequest(asParameters(form), deps.findClient)

const asParameters = ({ clientId, redirectUri, scopes, state, codeChallenge, maxAgeS }: SignInForm): Parameters =>
  new Map<string, string>([
    ['response_type', 'code'],
    ['client_id', clientId],
    ['redirect_uri', redirectUri],
    ['scope', scopes.join(' ')],
    ['state', state],
    ['code_challenge', codeChallenge],
    ['code_challenge_method', 'S256'],
    ...(maxAgeS === undefined ? [] : [['max_age', String(maxAgeS)] as const]),
  ])
