import { randomBytes } from 'node:crypto'
import { networkOf } from '../../auth/addresses.js'
import type { Exchange } from '../../http/exchange.js'
import { HTML_TYPE, pageHeaders } from '../../http/html.js'
import type { Route } from '../../http/route.js'
import { type Problem, problem } from '../../problems/catalogue.js'
import { recordDeed } from './audit.js'
import {
  type AuthorizationRequest,
  answerAddress,
  type ReadAuthorizationRequest,
  type RedirectedError,
  readAuthorizationRequest,
} from './authorization-request.js'
import type { OAuthDeps } from './authorization-server.js'
import { AWAY, answerFailure, tooManyAttempts } from './client-requests.js'
import { SHOW_SIGN_IN, SIGN_IN } from './contract.js'
import { accepts, oauthProblem, oauthProblemForm } from './errors.js'
import { isFormType, type Parameters, readParameters } from './form.js'
import { unguessable } from './issue-token.js'
import { isPasswordOf, PASSWORD_CHARACTERS_MAX, slotsToSignIn } from './passwords.js'
import { FORM_LIFE_S, openForm, type SignInForm, sealForm } from './sign-in-form.js'
import { signInLimits } from './sign-in-limits.js'
import { formTargetOf, problemPageForm, signInPage } from './sign-in-page.js'
import { readUsername, type StoredUser } from './users.js'

const PATH = '/v1/oauth/authorize'
const BODY_BYTES_MAX = 16 * 1024

const TOO_MANY = 'Too many attempts to sign in; try again later.'
const FAILURE = 'The user name or the password is not right.'
const REFUSED = problem('INVALID_CREDENTIALS', FAILURE)
/** Whoever says no need not say who they are. */
const DENIED = problem('INVALID_CREDENTIALS', 'The person did not allow it.')
const NO_COMMON_SCOPE = problem('INSUFFICIENT_SCOPE', 'The person has none of them.')
const STALE = oauthProblem('invalid_request', 'The sign-in form is too old, or was made for another browser.')
const UNDECIDED = oauthProblem('invalid_request', 'The decision must be allow or deny.')
const BUSY = problem('RATE_LIMITED', 'Too many people are signing in; try again.', { retryAfterSeconds: 2 })

/**
 * `/v1/oauth/authorize`: the authorization endpoint of the code flow (RFC 6749 4.1, RFC 7636, RFC 9207) with its
 * sign-in page. Each grant needs the password: there is no session of ours in the browser that could be ridden.
 */
export function authorizeRoutes(deps: OAuthDeps): readonly Route[] {
  const isHttps = deps.parties.issuer.startsWith('https:')
  const cookies = signInCookie(isHttps)
  const limits = signInLimits()

  const show = (exchange: Exchange, request: AuthorizationRequest, browser: string, retry?: Retry): void => {
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
    // A browser asks nobody for a name and password over a challenge that it does not know.
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
  }

  /** Answers a request that is not good. @returns the request that is */
  const goodOrAnswered = (exchange: Exchange, read: ReadAuthorizationRequest): AuthorizationRequest | undefined => {
    switch (read.kind) {
      case 'good':
        return read.request
      case 'refused':
        refuse(exchange, read.redirectUri, read.state, read.error, read.detail)
        return undefined
      case 'untrusted':
        exchange.replyProblem(oauthProblem('invalid_request', read.detail))
        return undefined
    }
  }

  const refuse = (exchange: Exchange, redirectUri: string, state: string, error: RedirectedError, detail: string) =>
    redirect(exchange, answerAddress(redirectUri, deps.parties.issuer, state, { error, error_description: detail }))

  const signIn = async (exchange: Exchange, post: Posted, form: Parameters): Promise<void> => {
    const nowMs = deps.clock()
    const sealed = openForm(deps.signInKey, form.get('request') ?? '', post.browser, nowMs)
    if (sealed === undefined || !post.isSameOrigin) return exchange.replyProblem(STALE)
    // What was good when the page was shown may have changed since.
    const request = goodOrAnswered(exchange, readAuthorizationRequest(asParameters(sealed), deps.findClient))
    if (request === undefined) return
    const { client, redirectUri, state, codeChallenge } = request
    const deed = { action: 'session.sign_in', tenantId: client.tenant_id } as const
    const decision = form.get('decision')
    if (decision !== 'allow' && decision !== 'deny') return exchange.replyProblem(UNDECIDED)
    if (decision === 'deny') {
      await recordDeed(deps, exchange, { ...deed, actor: null, target: client.id, refusal: DENIED })
      return refuse(exchange, redirectUri, state, 'access_denied', DENIED.detail)
    }

    const typed = form.get('username') ?? ''
    const username = readUsername(typed) ?? ''
    const person = `${client.tenant_id} ${username}`
    const claimed = deps.findUserNamed(client.tenant_id, username)
    const unproven = { ...deed, actor: null, target: claimed?.id ?? null } as const
    const exhausted = limits.exhausted(post.network, person, nowMs)
    if (exhausted !== undefined) {
      const refusal = tooManyAttempts(TOO_MANY, exhausted)
      await recordDeed(deps, exchange, { ...unproven, refusal })
      exchange.budget = exhausted.budget
      return exchange.replyProblem(refusal)
    }
    const user = await slotsToSignIn.run(client.tenant_id, () => checkPassword(claimed, form.get('password') ?? ''))
    if (typeof user === 'string') return exchange.replyProblem(BUSY)
    if (user === undefined) {
      limits.failed(post.network, nowMs)
      await recordDeed(deps, exchange, { ...unproven, refusal: REFUSED })
      if (!post.wantsHtml) return exchange.replyProblem(REFUSED)
      return show(exchange, request, post.browser, { username: typed, failure: FAILURE })
    }
    limits.succeeded(post.network, person)
    const scopes = request.scopes.filter((scope) => user.scopes.includes(scope))
    if (scopes.length === 0) {
      await recordDeed(deps, exchange, { ...deed, actor: user.id, target: client.id, refusal: NO_COMMON_SCOPE })
      return refuse(exchange, redirectUri, state, 'invalid_scope', NO_COMMON_SCOPE.detail)
    }

    const code = await deps.codes.issue(
      {
        tenant_id: client.tenant_id,
        client_id: client.id,
        user_id: user.id,
        redirect_uri: redirectUri,
        scopes,
        code_challenge: codeChallenge,
        // The new password may have been set within the same second.
        auth_time: Math.max(Math.floor(nowMs / 1_000), user.signed_in_from ?? 0),
        session_id: unguessable(),
      },
      nowMs,
    )
    await recordDeed(deps, exchange, { ...deed, actor: user.id, target: client.id })
    redirect(exchange, answerAddress(redirectUri, deps.parties.issuer, state, { code }))
  }

  return [
    {
      method: 'get',
      path: PATH,
      access: 'public',
      operation: SHOW_SIGN_IN,
      handle: (exchange) => {
        exchange.problemForm = formFor(exchange, isHttps)
        if (!deps.isBrokerUp()) return exchange.replyProblem(AWAY)
        const browser = cookies.read(exchange.header('cookie')) ?? randomBytes(16).toString('base64url')
        const read = readAuthorizationRequest(readParameters(exchange.query), deps.findClient)
        const request = goodOrAnswered(exchange, read)
        if (request !== undefined) show(exchange, request, browser)
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
          // Browsers that know it always send it; the form's signature and cookie hold without it.
          isSameOrigin: ['', 'same-origin'].includes(exchange.header('sec-fetch-site')),
          wantsHtml: wantsHtml(exchange),
          network: networkOf(exchange.address),
        }
        exchange.readBody(BODY_BYTES_MAX, (body) => {
          const form = readParameters(body.toString('utf8'))
          if (form === undefined || post.browser === '') return exchange.replyProblem(STALE)
          signIn(exchange, post, form).catch((cause: unknown) => answerFailure(exchange, cause))
        })
      },
    },
  ]
}

interface Retry {
  readonly username: string
  readonly failure: string
}

/** What a posted form comes with. */
interface Posted {
  /** The cookie's value; empty when there is none. */
  readonly browser: string
  readonly isSameOrigin: boolean
  readonly wantsHtml: boolean
  readonly network: string
}

/** A browser, which asks for HTML by name, is shown a page; everybody else gets the problem itself. */
const formFor = (exchange: Exchange, isHttps: boolean) =>
  wantsHtml(exchange) ? problemPageForm(isHttps) : oauthProblemForm(exchange.header('accept'))

const wantsHtml = (exchange: Exchange): boolean => accepts(exchange.header('accept'), 'text/html')

function unreadable(exchange: Exchange, deps: OAuthDeps): Problem | undefined {
  if (!deps.isBrokerUp()) return AWAY
  if (exchange.query !== '') return STALE
  if (isFormType(exchange.headers.contentType)) return undefined
  return problem('UNSUPPORTED_MEDIA_TYPE', 'The body must be application/x-www-form-urlencoded.')
}

/** With 303 a browser comes by GET and leaves the password behind (RFC 9700 4.12). */
const redirect = (exchange: Exchange, address: string): void =>
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

/** @returns the person, if the password is theirs and they may sign in; takes as long for everybody */
async function checkPassword(user: StoredUser | undefined, password: string): Promise<StoredUser | undefined> {
  const isPlausible = password.length <= PASSWORD_CHARACTERS_MAX
  const isRight = await isPasswordOf(isPlausible ? user?.password : undefined, isPlausible ? password : '')
  return isRight && user?.status === 'active' ? user : undefined
}

/** The cookie that ties a form to a browser. Browsers keep a `__Host-` one for this very host, and only over https. */
function signInCookie(isHttps: boolean) {
  const name = isHttps ? '__Host-sign-in' : 'attribution-sign-in'
  const attributes = `; Path=/; Max-Age=${FORM_LIFE_S}; HttpOnly; SameSite=Lax${isHttps ? '; Secure' : ''}`
  return {
    write: (browser: string): string => `${name}=${browser}${attributes}`,
    read: (header: string): string | undefined =>
      header
        .split(';')
        .map((pair) => pair.trim().split('='))
        .find(([key, value]) => key === name && /^[A-Za-z0-9_-]{22}$/.test(value ?? ''))?.[1],
  }
}
