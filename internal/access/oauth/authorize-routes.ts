import { randomBytes } from 'node:crypto'
import { networkOf } from '../../auth/addresses.js'
import type { Exchange } from '../../http/exchange.js'
import type { Route } from '../../http/route.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import {
  authorizationReplies,
  formFor,
  type Replies,
  readRequestOf,
  STALE,
  wantsHtml,
} from './authorization-replies.js'
import { readAuthorizationRequest } from './authorization-request.js'
import { answerFailure, CREDENTIALS_UNAVAILABLE } from './client-requests.js'
import { isFormType, type Parameters, readParameters } from './form.js'
import { SHOW_SIGN_IN, SIGN_IN } from './oauth-contract.js'
import type { OAuthDeps } from './oauth-deps.js'
import { oauthProblem } from './oauth-errors.js'
import { signIns, WRONG_CODE, WRONG_PASSWORD } from './sign-in.js'
import { signInCookie } from './sign-in-cookie.js'
import { openForm } from './sign-in-form.js'
import type { SignInLimits } from './sign-in-limits.js'

const PATH = '/v1/oauth/authorize'
const BODY_BYTES_MAX = 16 * 1024

const UNDECIDED = oauthProblem('invalid_request', 'The decision must be allow or deny.')
const BUSY = problem('RATE_LIMITED', 'Too many people are signing in; try again.', { retryAfterSeconds: 2 })

/**
 * `/v1/oauth/authorize`: the authorization endpoint of the code flow (RFC 6749 4.1, RFC 7636, RFC 9207) with its
 * sign-in page. Each grant needs the password: the browser has no session with us that another site could exploit.
 */
export function authorizeRoutes(deps: OAuthDeps, limits: SignInLimits): readonly Route[] {
  const isHttps = deps.parties.issuer.startsWith('https:')
  const cookies = signInCookie(isHttps)
  const replies = authorizationReplies(deps, isHttps)
  const submit = formSubmission(deps, limits, replies)

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
function formSubmission(
  deps: OAuthDeps,
  limits: SignInLimits,
  { validOrReplied, showPage, showCodePage, redirect, refuse }: Replies,
) {
  const signIn = signIns(deps, limits)

  return async (exchange: Exchange, post: Posted, form: Parameters): Promise<void> => {
    const sealed = openForm(deps.signInKey, form.get('request') ?? '', post.browser, deps.clock())
    if (sealed === undefined || !post.isSameOrigin) return exchange.replyProblem(STALE)
    const request = validOrReplied(exchange, readRequestOf(sealed, deps))
    if (request === undefined) return
    const decision = form.get('decision')
    if (decision !== 'allow' && decision !== 'deny') return exchange.replyProblem(UNDECIDED)

    const outcome = await signIn(exchange, request, form, { decision, network: post.network, proven: sealed.proven })
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
      case 'stale':
        return exchange.replyProblem(STALE)
      case 'needs_code':
        if (outcome.failure !== '' && !post.wantsHtml) return exchange.replyProblem(WRONG_CODE)
        return showCodePage(exchange, request, post.browser, outcome)
      case 'failed':
        if (!post.wantsHtml) return exchange.replyProblem(WRONG_PASSWORD)
        return showPage(exchange, request, post.browser, { username: outcome.username, failure: WRONG_PASSWORD.detail })
    }
  }
}

/** The parts of a submission that are not in the form. */
interface Posted {
  /** The cookie's value; empty when absent. */
  readonly browser: string
  readonly isSameOrigin: boolean
  readonly wantsHtml: boolean
  readonly network: string
}

/** @returns why the body is not read; undefined where it is */
function unreadable(exchange: Exchange, deps: OAuthDeps): Problem | undefined {
  if (!deps.isBrokerUp()) return CREDENTIALS_UNAVAILABLE
  if (exchange.query !== '') return STALE
  if (isFormType(exchange.headers.contentType)) return undefined
  return problem('UNSUPPORTED_MEDIA_TYPE', 'The body must be application/x-www-form-urlencoded.')
}
