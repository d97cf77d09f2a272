import { randomBytes } from 'node:crypto'
import { networkOf } from '../../auth/addresses.js'
import type { Exchange } from '../../http/exchange.js'
import { HTML_TYPE, pageHeaders } from '../../http/html.js'
import type { Route } from '../../http/route.js'
import { type Problem, problem } from '../../problems/catalogue.js'
import {
  type AuthorizationAnswer,
  type AuthorizationRequest,
  answerAddress,
  type ReadAuthorizationRequest,
  type RedirectedError,
  readAuthorizationRequest,
} from './authorization-request.js'
import type { OAuthDeps } from './authorization-server.js'
import { answerFailure, CREDENTIALS_UNAVAILABLE } from './client-requests.js'
import { SHOW_SIGN_IN, SIGN_IN } from './contract.js'
import { accepts, oauthProblem, oauthProblemForm } from './errors.js'
import { isFormType, type Parameters, readParameters } from './form.js'
import { signIns, WRONG_PASSWORD } from './sign-in.js'
import { signInCookie } from './sign-in-cookie.js'
import { openForm, type SignInForm, sealForm } from './sign-in-form.js'
import { formTargetOf, problemPageForm, signInPage } from './sign-in-page.js'

const PATH = '/v1/oauth/authorize'
const BODY_BYTES_MAX = 16 * 1024

const STALE = oauthProblem('invalid_request', 'The sign-in form has expired or belongs to another browser.')
const UNDECIDED = oauthProblem('invalid_request', 'The decision must be allow or deny.')
const BUSY = problem('RATE_LIMITED', 'Too many people are signing in; try again.', { retryAfterSeconds: 2 })

/**
 * `/v1/oauth/authorize`: the authorization endpoint of the code flow (RFC 6749 4.1, RFC 7636, RFC 9207) with its
 * sign-in page. Each grant needs the password: the browser has no session with us that another site could exploit.
 */
export function authorizeRoutes(deps: OAuthDeps): readonly Route[] {
  const isHttps = deps.parties.issuer.startsWith('https:')
  const cookies = signInCookie(isHttps)
  const replies = authorizationReplies(deps, isHttps)
  const submit = formSubmission(deps, replies)

  return [
    {
      method: 'get',
      path: PATH,
      access: 'public',
      operation: SHOW_SIGN_IN,
      handle: (exchange) => {
        exchange.problemForm = formFor(exchange, isHttps)
        if (!deps.isBrokerUp()) return exchange.replyProblem(CREDENTIALS_UNAVAILABLE)
        const browser = cookies.read(exchange.header('cookie')) ?? randomBytes(16).toString('base64url')
        const read = readAuthorizationRequest(readParameters(exchange.query), deps.findClient)
        const request = replies.validOrReplied(exchange, read)
        if (request !== undefined) replies.showPage(exchange, request, browser)
      },
    },
    {
      method: 'post',
      path: PATH,
      access: 'public',
      operation: SIGN_IN,
      handle: (exchange) => {
        exchange.problemForm = formFor(exchange, isHttps)
        const refusal = unreadable(exchange, deps)
        if (refusal !== undefined) return exchange.refuseAndClose(refusal)
        exchange.keepAddress()
        const post: Posted = {
          browser: cookies.read(exchange.header('cookie')) ?? '',
          // Every browser that supports the header sends it; the form's signature and cookie protect without it too.
          isSameOrigin: ['', 'same-origin'].includes(exchange.header('sec-fetch-site')),
          wantsHtml: wantsHtml(exchange),
          network: networkOf(exchange.address),
        }
        exchange.readBody(BODY_BYTES_MAX, (body) => {
          const form = readParameters(body.toString('utf8'))
          if (form === undefined || post.browser === '') return exchange.replyProblem(STALE)
          submit(exchange, post, form).catch((cause: unknown) => answerFailure(exchange, cause))
        })
      },
    },
  ]
}

/** Handles a submitted sign-in form. */
function formSubmission(deps: OAuthDeps, { validOrReplied, showPage, redirect, refuse }: Replies) {
  const signIn = signIns(deps)

  return async (exchange: Exchange, post: Posted, form: Parameters): Promise<void> => {
    const sealed = openForm(deps.signInKey, form.get('request') ?? '', post.browser, deps.clock())
    if (sealed === undefined || !post.isSameOrigin) return exchange.replyProblem(STALE)
    // The client may have changed since the page was shown.
    const request = validOrReplied(exchange, readAuthorizationRequest(asParameters(sealed), deps.findClient))
    if (request === undefined) return
    const decision = form.get('decision')
    if (decision !== 'allow' && decision !== 'deny') return exchange.replyProblem(UNDECIDED)

    const outcome = await signIn(exchange, request, form, { decision, network: post.network })
    switch (outcome.kind) {
      case 'granted':
        return redirect(exchange, request, { code: outcome.code })
      case 'refused':
        return refuse(exchange, { ...request, error: outcome.error, detail: outcome.detail })
      case 'limited':
        exchange.budget = outcome.exhausted.budget
        return exchange.replyProblem(outcome.problem)
      case 'busy':
        return exchange.replyProblem(BUSY)
      case 'failed':
        if (!post.wantsHtml) return exchange.replyProblem(WRONG_PASSWORD)
        return showPage(exchange, request, post.browser, { username: outcome.username, failure: WRONG_PASSWORD.detail })
    }
  }
}

type Replies = ReturnType<typeof authorizationReplies>
type Redirected = Pick<AuthorizationRequest, 'redirectUri' | 'state'>

/** The replies of the endpoint: its page, and redirects back to the client. */
function authorizationReplies(deps: OAuthDeps, isHttps: boolean) {
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
      const { client, redirectUri, scopes, state, codeChallenge } = request
      const form: SignInForm = { clientId: client.id, redirectUri, scopes, state, codeChallenge }
      const body = signInPage({
        clientName: client.name,
        redirectUri,
        scopes,
        form: sealForm(deps.signInKey, form, browser, deps.clock()),
        username: retry?.username ?? '',
        failure: retry?.failure ?? '',
      })
      // Browsers open no password dialog for a challenge whose scheme they do not support.
      const status = retry === undefined ? '200 OK' : '401 Unauthorized\r\nWWW-Authenticate: Bearer realm="attribution"'
      const headers = [
        ['Content-Type', HTML_TYPE],
        ['Cache-Control', 'no-store'],
        ...pageHeaders(isHttps, [formTargetOf(redirectUri)]),
        ['Set-Cookie', cookies.write(browser)],
      ]
      exchange.reply(
        headers.reduce((head, [name, value]) => `${head}\r\n${name}: ${value}`, status),
        body,
      )
    },
  }
}

interface Retry {
  readonly username: string
  readonly failure: string
}

/** The parts of a submission that are not in the form. */
interface Posted {
  /** The cookie's value; empty when absent. */
  readonly browser: string
  readonly isSameOrigin: boolean
  readonly wantsHtml: boolean
  readonly network: string
}

/** A browser, which asks for HTML by name, is shown a page; every other client gets the problem itself. */
const formFor = (exchange: Exchange, isHttps: boolean) =>
  wantsHtml(exchange) ? problemPageForm(isHttps) : oauthProblemForm(exchange.header('accept'))

const wantsHtml = (exchange: Exchange): boolean => accepts(exchange.header('accept'), 'text/html')

/** @returns why the body is not read; undefined where it is */
function unreadable(exchange: Exchange, deps: OAuthDeps): Problem | undefined {
  if (!deps.isBrokerUp()) return CREDENTIALS_UNAVAILABLE
  if (exchange.query !== '') return STALE
  if (isFormType(exchange.headers.contentType)) return undefined
  return problem('UNSUPPORTED_MEDIA_TYPE', 'The body must be application/x-www-form-urlencoded.')
}

/** After a 303 the browser sends a GET without the password (RFC 9700 4.12). */
const redirectTo = (exchange: Exchange, address: string): void =>
  exchange.reply(`303 See Other\r\nLocation: ${address}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer`, '')

const asParameters = ({ clientId, redirectUri, scopes, state, codeChallenge }: SignInForm): Parameters =>
  new Map([
    ['response_type', 'code'],
    ['client_id', clientId],
    ['redirect_uri', redirectUri],
    ['scope', scopes.join(' ')],
    ['state', state],
    ['code_challenge', codeChallenge],
    ['code_challenge_method', 'S256'],
  ])
