import type { Exchange } from '../../http/exchange.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { AuthorizationRequest } from './authorization-request.js'
import { type Exhausted, tooManyAttempts } from './client-requests.js'
import type { Parameters } from './form.js'
import { unguessable } from './issue-token.js'
import { recordTokenAction, type TokenAction } from './oauth-audit.js'
import type { OAuthDeps } from './oauth-deps.js'
import { isPasswordOf, PASSWORD_CHARACTERS_MAX, slotsToSignIn } from './passwords.js'
import { newSecret } from './second-factor.js'
import type { ProvenPerson } from './sign-in-form.js'
import type { SignInLimits } from './sign-in-limits.js'
import { isSignedInSince, readUsername, type StoredUser } from './users.js'

/** The outcome of a submitted sign-in form. */
export type SignInOutcome =
  | { readonly kind: 'granted'; readonly code: string }
  /** The client is notified over the person's browser. */
  | { readonly kind: 'refused'; readonly error: 'access_denied' | 'invalid_scope'; readonly detail: string }
  /** Wrong user name or password: the person may try again. */
  | { readonly kind: 'failed'; readonly username: string }
  /** The password is right; a code is needed. */
  | {
      readonly kind: 'needs_code'
      readonly proven: ProvenPerson
      readonly username: string
      /** Why the code given was refused; empty the first time. */
      readonly failure: string
    }
  | { readonly kind: 'limited'; readonly problem: Problem; readonly exhausted: Exhausted }
  | { readonly kind: 'busy' }
  /** The first step is no longer valid. */
  | { readonly kind: 'stale' }

export type Decision = 'allow' | 'deny'

/** A submitted form, beside its fields. */
export interface Submission {
  readonly decision: Decision
  /** Of the browser's address. */
  readonly network: string
  /** The person whose password was already correct. */
  readonly proven: ProvenPerson | undefined
}

/** Nobody has to authenticate in order to deny. */
const DENIED = problem('INVALID_CREDENTIALS', 'The person denied the request.')
export const WRONG_PASSWORD = problem('INVALID_CREDENTIALS', 'The user name or password is wrong.')
export const WRONG_CODE = problem('INVALID_CREDENTIALS', 'The code is wrong, too old, or was used before.')
const NO_COMMON_SCOPE = problem('INSUFFICIENT_SCOPE', 'The person has none of the requested scopes.')
export const TOO_MANY = 'Too many sign-in attempts; try again later.'

/**
 * Decides about a submitted sign-in form: limits attempts, checks the password and then, where one is asked for, the
 * code of the second factor; issues a code, and audits each outcome. Only a sign-in that is complete restores the
 * person's attempts.
 */
export function signIns(deps: OAuthDeps, limits: SignInLimits) {
  return async (
    exchange: Exchange,
    request: AuthorizationRequest,
    form: Parameters,
    { decision, network, proven }: Submission,
  ): Promise<SignInOutcome> => {
    const nowMs = deps.clock()
    const { client } = request
    const record = recordingOf(deps, exchange, client.tenant_id)
    if (decision === 'deny') {
      await record({ actor: null, target: client.id, refusal: DENIED })
      return { kind: 'refused', error: 'access_denied', detail: DENIED.detail }
    }

    const typed = form.get('username') ?? ''
    const claimed =
      proven === undefined
        ? deps.findUserNamed(client.tenant_id, readUsername(typed) ?? '')
        : deps.findUser(proven.userId)
    const person = `${client.tenant_id} ${claimed?.username ?? readUsername(typed) ?? ''}`
    const unproven = { actor: null, target: claimed?.id ?? null }
    const exhausted = limits.exhausted(network, person, nowMs)
    if (exhausted !== undefined) {
      const refusal = tooManyAttempts(TOO_MANY, exhausted)
      await record({ ...unproven, refusal })
      return { kind: 'limited', problem: refusal, exhausted }
    }
    const fail = (refusal: Problem): Promise<void> => {
      limits.failed(network, deps.clock())
      return record({ ...unproven, refusal })
    }

    const step = { claimed, fail, record, nowMs }
    const user = await (proven === undefined
      ? checkFirst(deps, client.tenant_id, form, step)
      : checkSecond(deps, proven, form, step))
    if ('kind' in user) return user
    limits.succeeded(network, person)
    // The new password may have been set within the same second.
    const authTimeS = Math.max(Math.floor(nowMs / 1_000), user.signed_in_from ?? 0)
    return grantTo(deps, request, user, { record, authTimeS, nowMs })
  }
}

interface Step {
  readonly claimed: StoredUser | undefined
  /** Counts and audits a failure. */
  readonly fail: (refusal: Problem) => Promise<void>
  readonly record: Recording
  readonly nowMs: number
}

/** Checks name and password. @returns the person, where that is enough */
async function checkFirst(
  { secondFactors, providerOf, hasLeft }: OAuthDeps,
  tenantId: string,
  form: Parameters,
  { claimed, fail, nowMs }: Step,
): Promise<StoredUser | SignInOutcome> {
  const user = await slotsToSignIn.run(tenantId, () => checkPassword(claimed, form.get('password') ?? ''))
  if (typeof user === 'string') return { kind: 'busy' }
  if (user === undefined || providerOf(tenantId)?.only === true || hasLeft(tenantId, user.username)) {
    await fail(WRONG_PASSWORD)
    return { kind: 'failed', username: form.get('username') ?? '' }
  }
  if (!secondFactors.isAskedOf(user)) return user
  const proven: ProvenPerson = {
    userId: user.id,
    atMs: Math.max(nowMs, (user.signed_in_from ?? 0) * 1_000),
    ...(user.second_factor === undefined && { freshSecret: newSecret() }),
  }
  return { kind: 'needs_code', proven, username: user.username, failure: '' }
}

/** Checks the code of a person whose password was right. */
async function checkSecond(
  { secondFactors }: OAuthDeps,
  proven: ProvenPerson,
  form: Parameters,
  { claimed: user, fail, record, nowMs }: Step,
): Promise<StoredUser | SignInOutcome> {
  if (user?.status !== 'active' || !isSignedInSince(user, Math.floor(proven.atMs / 1_000))) return { kind: 'stale' }
  if (!(await secondFactors.accepts(user, form.get('code') ?? '', proven.freshSecret, nowMs))) {
    await fail(WRONG_CODE)
    return { kind: 'needs_code', proven, username: user.username, failure: WRONG_CODE.detail }
  }
  if (proven.freshSecret !== undefined) {
    await record({ action: 'session.set_up_second_factor', actor: user.id, target: user.id })
  }
  return user
}

type Recording = ReturnType<typeof recordingOf>

export const recordingOf =
  (deps: OAuthDeps, exchange: Exchange, tenantId: string) =>
  (
    entry: Pick<TokenAction, 'actor' | 'target' | 'refusal' | 'changes'> & Partial<Pick<TokenAction, 'action'>>,
  ): Promise<void> =>
    recordTokenAction(deps, exchange, { action: 'session.sign_in', tenantId, ...entry })

/**
 * Issues a code for a person who has authenticated.
 *
 * @param authTimeS when they did, in seconds since the epoch
 */
export async function grantTo(
  deps: OAuthDeps,
  request: AuthorizationRequest,
  user: StoredUser,
  { record, authTimeS, nowMs }: { readonly record: Recording; readonly authTimeS: number; readonly nowMs: number },
): Promise<SignInOutcome> {
  const { client } = request
  const scopes = request.scopes.filter((scope) => user.scopes.includes(scope))
  if (scopes.length === 0) {
    await record({ actor: user.id, target: client.id, refusal: NO_COMMON_SCOPE })
    return { kind: 'refused', error: 'invalid_scope', detail: NO_COMMON_SCOPE.detail }
  }
  const code = await deps.codes.issue(
    {
      tenant_id: client.tenant_id,
      client_id: client.id,
      user_id: user.id,
      redirect_uri: request.redirectUri,
      scopes,
      code_challenge: request.codeChallenge,
      auth_time: authTimeS,
      session_id: unguessable(),
    },
    nowMs,
  )
  await record({ actor: user.id, target: client.id })
  return { kind: 'granted', code }
}

/**
 * Takes equally long for every user name.
 *
 * @returns the person, if the password is correct and they may sign in by it
 */
async function checkPassword(user: StoredUser | undefined, password: string): Promise<StoredUser | undefined> {
  const isPlausible = password.length <= PASSWORD_CHARACTERS_MAX
  const isRight = await isPasswordOf(isPlausible ? user?.password : undefined, isPlausible ? password : '')
  return isRight && user?.status === 'active' && user.provider === undefined ? user : undefined
}
