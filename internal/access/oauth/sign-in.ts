import type { Exchange } from '../../http/exchange.js'
import { type Problem, problem } from '../../problems/catalogue.js'
import { recordTokenAction, type TokenAction } from './audit.js'
import type { AuthorizationRequest } from './authorization-request.js'
import type { OAuthDeps } from './authorization-server.js'
import { type Exhausted, tooManyAttempts } from './client-requests.js'
import type { Parameters } from './form.js'
import { unguessable } from './issue-token.js'
import { isPasswordOf, PASSWORD_CHARACTERS_MAX, slotsToSignIn } from './passwords.js'
import { signInLimits } from './sign-in-limits.js'
import { readUsername, type StoredUser } from './users.js'

/** The outcome of a submitted sign-in form. */
export type SignInOutcome =
  | { readonly kind: 'granted'; readonly code: string }
  /** The client is notified over the person's browser. */
  | { readonly kind: 'refused'; readonly error: 'access_denied' | 'invalid_scope'; readonly detail: string }
  /** Wrong user name or password: the person may try again. */
  | { readonly kind: 'failed'; readonly username: string }
  | { readonly kind: 'limited'; readonly problem: Problem; readonly exhausted: Exhausted }
  | { readonly kind: 'busy' }

export type Decision = 'allow' | 'deny'

/** Nobody has to authenticate in order to deny. */
const DENIED = problem('INVALID_CREDENTIALS', 'The person denied the request.')
export const WRONG_PASSWORD = problem('INVALID_CREDENTIALS', 'The user name or password is wrong.')
const NO_COMMON_SCOPE = problem('INSUFFICIENT_SCOPE', 'The person has none of the requested scopes.')
const TOO_MANY = 'Too many sign-in attempts; try again later.'

/** Decides about a submitted sign-in form: limits attempts, checks the password, issues a code, and audits each outcome. */
export function signIns(deps: OAuthDeps) {
  const limits = signInLimits()

  return async (
    exchange: Exchange,
    request: AuthorizationRequest,
    form: Parameters,
    { decision, network }: { readonly decision: Decision; readonly network: string },
  ): Promise<SignInOutcome> => {
    const nowMs = deps.clock()
    const { client } = request
    const record = (entry: Pick<TokenAction, 'actor' | 'target' | 'refusal'>): Promise<void> =>
      recordTokenAction(deps, exchange, { action: 'session.sign_in', tenantId: client.tenant_id, ...entry })
    if (decision === 'deny') {
      await record({ actor: null, target: client.id, refusal: DENIED })
      return { kind: 'refused', error: 'access_denied', detail: DENIED.detail }
    }

    const typed = form.get('username') ?? ''
    const username = readUsername(typed) ?? ''
    const person = `${client.tenant_id} ${username}`
    const claimed = deps.findUserNamed(client.tenant_id, username)
    const unproven = { actor: null, target: claimed?.id ?? null }
    const exhausted = limits.exhausted(network, person, nowMs)
    if (exhausted !== undefined) {
      const refusal = tooManyAttempts(TOO_MANY, exhausted)
      await record({ ...unproven, refusal })
      return { kind: 'limited', problem: refusal, exhausted }
    }
    const user = await slotsToSignIn.run(client.tenant_id, () => checkPassword(claimed, form.get('password') ?? ''))
    if (typeof user === 'string') return { kind: 'busy' }
    if (user === undefined) {
      limits.failed(network, nowMs)
      await record({ ...unproven, refusal: WRONG_PASSWORD })
      return { kind: 'failed', username: typed }
    }
    limits.succeeded(network, person)
    const scopes = request.scopes.filter((scope) => user.scopes.includes(scope))
    if (scopes.length === 0) {
      await record({ actor: user.id, target: client.id, refusal: NO_COMMON_SCOPE })
      return { kind: 'refused', error: 'invalid_scope', detail: NO_COMMON_SCOPE.detail }
    }

    const code = await issueCode(deps, { ...request, scopes }, user, nowMs)
    await record({ actor: user.id, target: client.id })
    return { kind: 'granted', code }
  }
}

const issueCode = (deps: OAuthDeps, request: AuthorizationRequest, user: StoredUser, nowMs: number): Promise<string> =>
  deps.codes.issue(
    {
      tenant_id: request.client.tenant_id,
      client_id: request.client.id,
      user_id: user.id,
      redirect_uri: request.redirectUri,
      scopes: request.scopes,
      code_challenge: request.codeChallenge,
      // The new password may have been set within the same second.
      auth_time: Math.max(Math.floor(nowMs / 1_000), user.signed_in_from ?? 0),
      session_id: unguessable(),
    },
    nowMs,
  )

/** Takes equally long for every user name. @returns the person, if the password is correct and they may sign in */
async function checkPassword(user: StoredUser | undefined, password: string): Promise<StoredUser | undefined> {
  const isPlausible = password.length <= PASSWORD_CHARACTERS_MAX
  const isRight = await isPasswordOf(isPlausible ? user?.password : undefined, isPlausible ? password : '')
  return isRight && user?.status === 'active' ? user : undefined
}
