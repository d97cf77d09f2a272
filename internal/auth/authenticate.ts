import { type Problem, problem } from '../problems/catalogue.js'
import type { MayVerify } from './access-tokens.js'
import { addressBudgets } from './addresses.js'
import { isSecretOf, type Mode, parseApiKey, type StoredApiKey } from './api-keys.js'
import type { JudgeToken } from './bearer-tokens.js'
import type { Budget, Budgets, RateLimit } from './rate-limits.js'
import type { Scope } from './scopes.js'
import { type Verdict, Verdicts } from './verdicts.js'

/** Who calls: the tenant whose data is read or written, and the credential that acts. */
export interface Caller {
  readonly tenantId: string
  /** Id of the API key (`key_`), of the client that acts for itself (`cli_`), or of the person (`usr_`). */
  readonly principal: string
  readonly scopes: ReadonlySet<Scope>
  /** Layers whose events it may ingest; undefined: all. */
  readonly ingestionLayers: ReadonlySet<string> | undefined
  /** When the person for whom it acts signed in, seconds since the epoch; absent where it acts for itself. */
  readonly authTimeS?: number | undefined
  /** What its principal may still ask for, shared by all of the principal's credentials. */
  readonly budgets: Budgets
}

export type Authentication =
  | { readonly ok: true; readonly caller: Caller }
  | {
      readonly ok: false
      readonly problem: Problem
      /** That of the address, when too many of its attempts have failed, or too many of its tokens are new. */
      readonly exhausted?: Budget
    }

export interface Credentials {
  /** Value of X-API-Key, empty when absent. */
  readonly apiKey: string
  /** Value of Authorization, empty when absent. */
  readonly authorization: string
}

/** Where credentials come from. Its address is asked for only when they are new or fail. */
export interface Origin {
  readonly address: string
}

export interface Authenticator {
  authenticate(credentials: Credentials, nowMs: number, origin: Origin): Authentication
  /** Forgets the verdicts that rest on an API key, token, token key, client, person or sign-in; to be called when it changes. */
  forget(id: string): void
}

export interface AuthenticatorDeps {
  readonly mode: Mode
  readonly findKey: (keyId: string) => StoredApiKey | undefined
  readonly judgeToken: JudgeToken
  readonly budgetsOf: (tenantId: string, principal: string) => Budgets
  /** Where the uses of an API key are noted. */
  readonly useOf: (keyId: string) => KeyUse
  /** How many attempts of one address may fail; the usual of what needs no credential unless told. */
  readonly failureLimit?: RateLimit
  /** How many signatures are verified for one address. */
  readonly signatureLimit?: RateLimit
}

/** When an API key was last used, milliseconds since the epoch. Each request sets it, and does nothing else for it. */
export interface KeyUse {
  atMs: number
}

interface KeyVerdict extends Verdict {
  readonly use: KeyUse
}

/** A verdict on a token is made anew after a minute, should word of a change ever be missed. */
const TOKEN_VERDICT_MS = 60_000

const TOKEN_PLACE_CHARACTERS = 43

/** Some tens of microseconds each: as many as take a tenth of one core. */
const SIGNATURES_PER_ADDRESS: RateLimit = { perSecond: 2_000, burst: 4_000 }

const refused = (code: 'INVALID_CREDENTIALS' | 'EXPIRED', detail: string, challenge?: string): Authentication => ({
  ok: false,
  problem: problem(code, detail, { challenge }),
})
/** RFC 6750 3: `error` only when a token was sent. */
const BAD_TOKEN = 'Bearer realm="attribution", error="invalid_token"'
const MISSING = refused('INVALID_CREDENTIALS', 'Send X-API-Key or Authorization: Bearer.')
const INVALID = refused('INVALID_CREDENTIALS', 'The credential is not valid.')
const INVALID_TOKEN = refused('INVALID_CREDENTIALS', 'The credential is not valid.', BAD_TOKEN)
const DISAGREEING = refused('INVALID_CREDENTIALS', 'The two credentials do not agree; send one.', BAD_TOKEN)
const TOO_MANY_FAILURES = 'Too many attempts to authenticate have failed; try again later.'
const TOO_MANY_TOKENS = 'Too many tokens come from this address; try again.'
const EXPIRED = refused('EXPIRED', 'The API key has expired.')

/**
 * Checks credentials against the watched copies of keys, clients, people and revocations. Verdicts are cached; a
 * change of what one rests on empties it at once, and its times are looked at on every call.
 *
 * An API key and a token sent together must both be good, of one tenant and with the same scopes and layers; the
 * token then is the credential that acts. Anything else is refused, whichever of the two is at fault; a key that has
 * expired is told so.
 *
 * Failures are limited by address, and hold up nobody who shares it: what is good is let in however many have failed.
 * Only signatures cost something to verify. They have a budget of their own, far larger, from which nothing is taken for
 * what is no token that we could have signed, nor for a token that is known.
 */
export function createAuthenticator(deps: AuthenticatorDeps): Authenticator {
  const { mode, findKey, judgeToken, budgetsOf, useOf, failureLimit, signatureLimit = SIGNATURES_PER_ADDRESS } = deps
  const failuresOf = addressBudgets(failureLimit)
  const signaturesOf = addressBudgets(signatureLimit)
  const onKeys = new Verdicts<KeyVerdict>()
  const onTokens = new Verdicts<Verdict>()

  const judgeKey = (text: string): KeyVerdict | undefined => {
    const presented = parseApiKey(mode, text)
    const stored = presented && findKey(presented.id)
    if (presented === undefined || stored === undefined || !isSecretOf(stored, presented.secret)) return undefined
    const caller: Caller = {
      tenantId: stored.tenant_id,
      principal: stored.id,
      scopes: new Set(stored.scopes),
      ingestionLayers: stored.ingestion_layers && new Set(stored.ingestion_layers),
      authTimeS: undefined,
      budgets: budgetsOf(stored.tenant_id, stored.id),
    }
    return {
      text,
      authentication: stored.status === 'active' ? { ok: true, caller } : INVALID,
      fromMs: 0,
      untilMs: stored.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(stored.expires_at),
      rests: [stored.id],
      use: useOf(stored.id),
    }
  }

  const ofKey = (text: string, nowMs: number): Authentication => {
    let verdict = onKeys.get(text)
    if (verdict === undefined) {
      verdict = judgeKey(text)
      if (verdict === undefined) return INVALID
      onKeys.set(text, verdict)
    }
    // Expired comes before revoked (spec 3: "regardless of lifecycle state"). An expiry that cannot be read is past.
    if (!(nowMs < verdict.untilMs)) return EXPIRED
    if (verdict.authentication.ok) verdict.use.atMs = nowMs
    return verdict.authentication
  }

  const judgeBearer = (authorization: string, nowMs: number, mayVerify: MayVerify): Verdict | undefined => {
    const token = BEARER.exec(authorization)?.[1]
    const judged = token === undefined ? undefined : judgeToken(token, nowMs, mayVerify)
    if (judged === undefined) return undefined
    const caller: Caller = {
      tenantId: judged.tenantId,
      principal: judged.principal,
      scopes: new Set(judged.scopes),
      ingestionLayers: undefined,
      authTimeS: judged.authTimeS,
      budgets: budgetsOf(judged.tenantId, judged.principal),
    }
    return {
      text: authorization,
      authentication: { ok: true, caller },
      fromMs: judged.notBeforeMs,
      untilMs: Math.min(judged.expiresAtMs, nowMs + TOKEN_VERDICT_MS),
      rests: judged.rests,
    }
  }

  const ofBearer = (authorization: string, nowMs: number, origin: Origin): Authentication => {
    // Found by the end of its signature, and then compared: to hash all of a token would cost ten times as much.
    const place = authorization.slice(-TOKEN_PLACE_CHARACTERS)
    const known = onTokens.get(place)
    const isKnown = known?.text === authorization
    if (isKnown && nowMs < known.untilMs && nowMs >= known.fromMs) return known.authentication
    let limited: Authentication | undefined
    const mayVerify = (): boolean => {
      if (!isKnown) limited = taken(signaturesOf(origin.address, nowMs), nowMs, TOO_MANY_TOKENS)
      return limited === undefined
    }
    const verdict = judgeBearer(authorization, nowMs, mayVerify)
    if (limited !== undefined) return limited
    if (verdict === undefined) return INVALID_TOKEN
    onTokens.set(place, verdict)
    return verdict.authentication
  }

  const judge = ({ apiKey, authorization }: Credentials, nowMs: number, origin: Origin): Authentication => {
    if (authorization === '') return apiKey === '' ? MISSING : ofKey(apiKey, nowMs)
    const bearer = ofBearer(authorization, nowMs, origin)
    if (apiKey === '' || !bearer.ok) return bearer
    const key = ofKey(apiKey, nowMs)
    // Also beside a token that is good (spec 5 rule 6); a bad one is told first.
    if (key === EXPIRED) return EXPIRED
    return key.ok && agree(key.caller, bearer.caller) ? bearer : DISAGREEING
  }

  /** Takes the failure from its address. */
  const counted = (failure: Authentication, nowMs: number, origin: Origin): Authentication =>
    taken(failuresOf(origin.address, nowMs), nowMs, TOO_MANY_FAILURES) ?? failure

  return {
    authenticate(credentials, nowMs, origin) {
      const judged = judge(credentials, nowMs, origin)
      return judged.ok || judged.exhausted !== undefined ? judged : counted(judged, nowMs, origin)
    },
    forget(id) {
      onKeys.forget(id)
      onTokens.forget(id)
    },
  }
}

/** Takes one from the budget of an address. @returns the refusal when it is exhausted */
function taken(budget: Budget, nowMs: number, detail: string): Authentication | undefined {
  const waitMs = budget.take(1, nowMs)
  if (waitMs === 0) return undefined
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000))
  return { ok: false, problem: problem('RATE_LIMITED', detail, { retryAfterSeconds }), exhausted: budget }
}

/** RFC 9110 11.1: the scheme's letters may be of either case. */
const BEARER = /^bearer ([^ ]+)$/i

const agree = (key: Caller, bearer: Caller): boolean =>
  key.tenantId === bearer.tenantId &&
  key.ingestionLayers === undefined &&
  key.scopes.size === bearer.scopes.size &&
  [...key.scopes].every((scope) => bearer.scopes.has(scope))
