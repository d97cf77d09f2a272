import { createHmac } from 'node:crypto'
import { networkOf } from '../../auth/addresses.js'
import type { Exchange } from '../../http/exchange.js'
import type { Route } from '../../http/route.js'
import { problem } from '../../problems/problem-catalogue.js'
import type { Logger } from '../../telemetry/log.js'
import { type ProviderPerson, personOf } from '../identity-provider/claims.js'
import type { StoredProvider } from '../identity-provider/provider.js'
import { type Began, type Proven, ProviderRefused, type RelyingParty } from '../identity-provider/relying-party.js'
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
import { FINISH_AT_PROVIDER, START_AT_PROVIDER } from './oauth-contract.js'
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
  readonly log: Logger
}

/** Where providers send people back; registered with each. */
export const providerRedirectUri = (issuer: string): string => `${issuer}${CALLBACK_PATH}`

const START_PATH = '/v1/oauth/provider'
const CALLBACK_PATH = '/v1/oauth/callback'

const UNAVAILABLE = problem('SERVICE_UNAVAILABLE', 'The identity provider cannot be reached. Try again.', {
  retryAfterSeconds: 5,
})
const NOT_PROVEN = problem('INVALID_CREDENTIALS', 'The identity provider did not confirm the sign-in.')

/**
 * The way over the company's identity provider: from the sign-in page to the provider, and back with its answer.
 *
 * What the sign-in page carried goes through the provider as `state`, bound to the browser by its cookie as the page's
 * form is; `nonce` and PKCE's verifier follow from it by a key, so that nothing is stored and any gateway takes the
 * answer.
 */
export function providerRoutes(
  deps: OAuthDeps,
  { relyingParty, people, log }: ProviderSignIn,
  limits: SignInLimits,
): readonly Route[] {
  const isHttps = deps.parties.issuer.startsWith('https:')
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

  const goToProvider: GoToProvider = async (exchange, browser, { request, provider }) => {
    const form: SignInForm = { ...formOf(request), atProvider: unguessable() }
    const state = sealForm(deps.signInKey, form, browser, deps.clock())
    try {
      const address = await relyingParty.begin(provider, beganOf(deps.signInKey, state, request))
      redirectTo(exchange, address.href)
    } catch (cause) {
      log.warn({ reason: messageOf(cause), tenant_id: provider.tenant_id }, 'the identity provider cannot be reached')
      exchange.replyProblem(UNAVAILABLE)
    }
  }

  const comeBack = comingBack(deps, { relyingParty, people, log }, limits, replies, goToProvider)

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
    {
      method: 'get',
      path: CALLBACK_PATH,
      access: 'public',
      operation: FINISH_AT_PROVIDER,
      isUndescribed: true,
      handle(exchange) {
        const read = begin(exchange)
        if (read === undefined) return
        const state = read.parameters.get('state') ?? ''
        const found = opened(exchange, state, read.browser)
        if (found === undefined) return
        if (found.form.atProvider === undefined) return exchange.replyProblem(STALE)
        const address = new URL(`${providerRedirectUri(deps.parties.issuer)}?${exchange.query}`)
        const answer = { address, state, browser: read.browser, network: networkOf(exchange.address) }
        comeBack(exchange, answer, found).catch(failed(exchange))
      },
    },
  ]
}

type GoToProvider = (exchange: Exchange, browser: string, to: Pick<Opened, 'request' | 'provider'>) => Promise<void>

/** Handles the answer of a provider: checks it, makes or changes the person, and grants what the client asked for. */
function comingBack(
  deps: OAuthDeps,
  { relyingParty, people, log }: ProviderSignIn,
  limits: SignInLimits,
  replies: Replies,
  goToProvider: GoToProvider,
) {
  return async (exchange: Exchange, answer: Answer, { request, provider }: Opened): Promise<void> => {
    const nowMs = deps.clock()
    const { tenant_id: tenantId, id: clientId } = request.client
    const record = recordingOf(deps, exchange, tenantId)
    const refuse = async (detail: string): Promise<void> => {
      const refusal = problem('INVALID_CREDENTIALS', detail)
      limits.failed(answer.network, deps.clock())
      await record({ actor: null, target: clientId, refusal })
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
      proven = await relyingParty.finish(provider, answer.address, beganOf(deps.signInKey, answer.state, request))
    } catch (cause) {
      log.warn({ reason: messageOf(cause), tenant_id: tenantId }, 'a sign-in at the identity provider failed')
      if (cause instanceof ProviderRefused) return refuse(NOT_PROVEN.detail)
      return exchange.replyProblem(UNAVAILABLE)
    }
    const person = personOf(provider, proven.claims)
    if (typeof person === 'string') return refuse(person)
    const signedIn = await people.signedIn(tenantId, person)
    if (typeof signedIn === 'string') return refuse(signedIn)
    await recordChange(deps, exchange, tenantId, person, signedIn)
    const { user } = signedIn
    const authTimeS = proven.authTimeS ?? 0
    // The person was disabled or has left since they authenticated at the provider.
    if (!isSignedInSince(user, authTimeS))
      return goToProvider(exchange, answer.browser, { request: { ...request, maxAgeS: 0 }, provider })
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

function beganOf(key: Uint8Array, state: string, { maxAgeS }: AuthorizationRequest): Began {
  const derived = (name: string): string => createHmac('sha256', key).update(`${name}\0${state}`).digest('base64url')
  return { state, nonce: derived('provider nonce'), verifier: derived('provider verifier'), maxAgeS }
}
