import { createHmac } from 'node:crypto'
import { networkOf } from '../../auth/addresses.js'
import type { Exchange } from '../../http/exchange.js'
import type { Route } from '../../http/route.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { Logger } from '../../telemetry/log.js'
import { type ProviderPerson, personOf } from '../identity-provider/claims.js'
import { kindOf } from '../identity-provider/known-providers.js'
import { CALLBACK_PATH, redirectUriOf, type StoredProvider } from '../identity-provider/provider.js'
import {
  type Began,
  type Proven,
  ProviderRefused,
  ProviderUnavailable,
  type RelyingParty,
} from '../identity-provider/relying-party.js'
import { isStubborn, recencyOf } from '../identity-provider/token-times.js'
import type { PeopleFromProvider, SignedIn } from '../users/from-provider.js'
import {
  authorizationReplies,
  formFor,
  formOf,
  type Replies,
  readRequestOf,
  redirectTo,
  STALE,
} from './authorization-replies.js'
import type { AuthorizationRequest } from './authorization-request.js'
import { answerFailure, CREDENTIALS_UNAVAILABLE, tooManyAttempts } from './client-requests.js'
import { type Parameters, readParameters } from './form.js'
import { unguessable } from './issue-token.js'
import { recordTokenAction } from './oauth-audit.js'
import { FINISH_AT_PROVIDER, FINISH_AT_SHARED_ADDRESS, START_AT_PROVIDER } from './oauth-contract.js'
import type { OAuthDeps } from './oauth-deps.js'
import { grantTo, recordingOf, TOO_MANY } from './sign-in.js'
import { signInCookie } from './sign-in-cookie.js'
import { openForm, type SignInForm, sealForm } from './sign-in-form.js'
import type { SignInLimits } from './sign-in-limits.js'
import { isSignedInSince } from './users.js'

/** Sign-in at the tenant's own identity provider (`internal/access/identity-provider`). */
export interface ProviderSignIn {
  readonly relyingParty: RelyingParty
  readonly people: PeopleFromProvider
  /** Whether another tenant has a provider, too. */
  readonly hasSeveral: () => boolean
  readonly log: Logger
}

const START_PATH = '/v1/oauth/provider'

const unavailable = (cause: unknown): Problem => {
  const why = cause instanceof ProviderUnavailable ? `: ${cause.message}` : ''
  return problem('SERVICE_UNAVAILABLE', `The identity provider cannot be used now${why}.`, { retryAfterSeconds: 5 })
}
const NOT_PROVEN = problem('INVALID_CREDENTIALS', 'The identity provider did not confirm the sign-in.')
const OTHERS_ANSWER = problem(
  'INVALID_CREDENTIALS',
  'The answer came to the address of another identity provider than the one where this sign-in began.',
)

/**
 * The way over the company's identity provider: from the sign-in page to the provider, and back with its answer.
 *
 * What the sign-in page carried goes through the provider as `state`, bound to the browser by its cookie as the page's
 * form is; `nonce` and PKCE's verifier follow from it by a key, so that nothing is stored and any gateway takes the
 * answer.
 */
export function providerRoutes(deps: OAuthDeps, signIn: ProviderSignIn, limits: SignInLimits): readonly Route[] {
  const { relyingParty, hasSeveral, log } = signIn
  const { issuer } = deps.parties
  const isHttps = issuer.startsWith('https:')
  const cookies = signInCookie(isHttps)
  const replies = authorizationReplies(deps, isHttps)

  /** The request and provider of a sealed form, or the reply that there is none. */
  const opened = (exchange: Exchange, sealed: string | undefined, browser: string): Opened | undefined => {
    const form = openForm(deps.signInKey, sealed ?? '', browser, deps.clock())
    if (form === undefined) return void exchange.replyProblem(STALE)
    const request = replies.validOrReplied(exchange, readRequestOf(form, deps))
    if (request === undefined) return undefined
    const provider = deps.providerOf(request.client.tenant_id)
    return provider === undefined ? void exchange.replyProblem(STALE) : { form, request, provider }
  }

  /** What both routes read before anything is awaited. */
  const begin = (exchange: Exchange): { readonly browser: string; readonly parameters: Parameters } | undefined => {
    exchange.problemForm = formFor(exchange, isHttps)
    if (!deps.isBrokerUp()) return void exchange.replyProblem(CREDENTIALS_UNAVAILABLE)
    exchange.keepAddress()
    const [browser, parameters] = [cookies.read(exchange.header('cookie')), readParameters(exchange.query)]
    if (browser === undefined || parameters === undefined) return void exchange.replyProblem(STALE)
    return { browser, parameters }
  }

  const goToProvider: GoToProvider = async (exchange, browser, { request, provider, timesAsked = 0 }) => {
    const form: SignInForm = {
      ...formOf(request),
      atProvider: unguessable(),
      ...(timesAsked > 0 && { timesAsked }),
    }
    const state = sealForm(deps.signInKey, form, browser, deps.clock())
    try {
      const address = await relyingParty.begin(provider, beganOf(deps.signInKey, state, request, timesAsked > 0))
      redirectTo(exchange, address.href)
    } catch (cause) {
      log.warn({ reason: messageOf(cause), tenant_id: provider.tenant_id }, 'the identity provider cannot be used')
      exchange.replyProblem(unavailable(cause))
    }
  }

  const comeBack = comingBack(deps, signIn, limits, replies, goToProvider)

  const finish = (exchange: Exchange): void => {
    const read = begin(exchange)
    if (read === undefined) return
    const state = read.parameters.get('state') ?? ''
    const found = opened(exchange, state, read.browser)
    if (found === undefined) return
    if (found.form.atProvider === undefined) return exchange.replyProblem(STALE)
    // Mix-up (RFC 9700 4.4): the address to which an answer came says whose it is. On the shared address of earlier
    // versions `iss` has to, which is compared with the provider's, unless there is no other provider.
    const isSure = found.provider.id !== undefined || read.parameters.has('iss') || !hasSeveral()
    if (exchange.parameter !== (found.provider.id ?? '') || !isSure) {
      const { tenant_id } = found.provider
      log.warn({ tenant_id }, 'an answer came to the address of another identity provider, or to a shared one')
      return exchange.replyProblem(OTHERS_ANSWER)
    }
    const address = new URL(`${redirectUriOf(issuer, found.provider)}?${exchange.query}`)
    const answer = { address, state, browser: read.browser, network: networkOf(exchange.address) }
    comeBack(exchange, answer, found).catch(failed(exchange))
  }
  const callback = { method: 'get', access: 'public', isUndescribed: true, handle: finish } as const

  return [
    {
      method: 'get',
      path: START_PATH,
      access: 'public',
      operation: START_AT_PROVIDER,
      isUndescribed: true,
      handle(exchange) {
        const read = begin(exchange)
        if (read === undefined) return
        const found = opened(exchange, read.parameters.get('request'), read.browser)
        if (found !== undefined) goToProvider(exchange, read.browser, found).catch(failed(exchange))
      },
    },
    { ...callback, path: `${CALLBACK_PATH}/:id`, operation: FINISH_AT_PROVIDER },
    { ...callback, path: CALLBACK_PATH, operation: FINISH_AT_SHARED_ADDRESS },
  ]
}

type GoToProvider = (
  exchange: Exchange,
  browser: string,
  to: Pick<Opened, 'request' | 'provider'> & { readonly timesAsked?: number },
) => Promise<void>

/** Handles the answer of a provider: checks it, makes or changes the person, and grants what the client asked for. */
function comingBack(
  deps: OAuthDeps,
  { relyingParty, people, log }: Omit<ProviderSignIn, 'hasSeveral'>,
  limits: SignInLimits,
  replies: Replies,
  goToProvider: GoToProvider,
) {
  return async (exchange: Exchange, answer: Answer, { form, request, provider }: Opened): Promise<void> => {
    const nowMs = deps.clock()
    const { tenant_id: tenantId, id: clientId } = request.client
    const record = recordingOf(deps, exchange, tenantId)
    const refuse = async (detail: string): Promise<void> => {
      const refusal = problem('INVALID_CREDENTIALS', detail)
      limits.failed(answer.network, deps.clock())
      await record({ actor: null, target: clientId, refusal, changes: { after: { reason: detail } } })
      replies.refuse(exchange, { ...request, error: 'access_denied', detail })
    }
    const exhausted = limits.exhaustedOf(answer.network, nowMs)
    if (exhausted !== undefined) {
      const refusal = tooManyAttempts(TOO_MANY, exhausted)
      await record({ actor: null, target: clientId, refusal })
      return exchange.replyProblem(refusal)
    }

    let proven: Proven
    try {
      proven = await relyingParty.finish(
        provider,
        answer.address,
        beganOf(deps.signInKey, answer.state, request, false),
      )
    } catch (cause) {
      log.warn({ reason: messageOf(cause), tenant_id: tenantId }, 'a sign-in at the identity provider failed')
      if (cause instanceof ProviderRefused) return refuse(NOT_PROVEN.detail)
      return exchange.replyProblem(unavailable(cause))
    }
    const person = personOf(provider, proven.claims)
    if (typeof person === 'string') return refuse(person)
    const signedIn = await people.signedIn(tenantId, person)
    if (typeof signedIn === 'string') return refuse(signedIn)
    await recordChange(deps, exchange, tenantId, person, signedIn)
    const { user } = signedIn
    const authTimeS = proven.authTimeS ?? 0
    // The person was disabled or has left since they authenticated at the provider.
    const isOutdated = !isSignedInSince(user, authTimeS)
    const nowS = Math.floor(nowMs / 1_000)
    const recency = recencyOf(proven.authTimeS, isOutdated ? 0 : request.maxAgeS, nowS)
    if (recency === 'unknown') return refuse(withoutAuthTime(provider))
    if (isOutdated || recency === 'old') {
      // Of somebody who came back within the second in which they left, the next answer may be too old as well.
      const { timesAsked = 0 } = form
      if (isStubborn(timesAsked, proven.authTimeS, nowS))
        return refuse(`${provider.name} did not ask you to sign in again.`)
      const again = isOutdated ? { ...request, maxAgeS: 0 } : request
      return goToProvider(exchange, answer.browser, { request: again, provider, timesAsked: timesAsked + 1 })
    }
    const outcome = await grantTo(deps, request, user, { record, authTimeS, nowMs })
    if (outcome.kind === 'granted') return replies.redirect(exchange, request, { code: outcome.code })
    if (outcome.kind === 'refused')
      replies.refuse(exchange, { ...request, error: outcome.error, detail: outcome.detail })
  }
}

async function recordChange(
  deps: OAuthDeps,
  exchange: Exchange,
  tenantId: string,
  { scopes, isOwner }: ProviderPerson,
  { user, change }: SignedIn,
): Promise<void> {
  if (change === undefined) return
  const after = { username: user.username, scopes: [...scopes], ...(isOwner !== undefined && { owner: isOwner }) }
  const action = change === 'made' ? 'user.create' : 'user.update'
  await recordTokenAction(deps, exchange, { action, tenantId, actor: user.id, target: user.id, changes: { after } })
}

const withoutAuthTime = ({ name, issuer }: StoredProvider): string =>
  `${name} does not say when you signed in (the claim auth_time), which a recent sign-in has to show. ${kindOf(issuer).authTime}`

const failed =
  (exchange: Exchange) =>
  (cause: unknown): void =>
    answerFailure(exchange, cause)

/** The message alone: the rest of these errors may hold codes and claims. */
const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

interface Opened {
  readonly form: SignInForm
  readonly request: AuthorizationRequest
  readonly provider: StoredProvider
}

interface Answer {
  /** As the provider sent the browser to it. */
  readonly address: URL
  readonly state: string
  readonly browser: string
  readonly network: string
}

function beganOf(key: Uint8Array, state: string, { maxAgeS }: AuthorizationRequest, asksAgain: boolean): Began {
  const derived = (name: string): string => createHmac('sha256', key).update(`${name}\0${state}`).digest('base64url')
  return { state, nonce: derived('provider nonce'), verifier: derived('provider verifier'), maxAgeS, asksAgain }
}
