import { type Problem, problem } from '../problems/problem-catalogue.js'
import type { MayVerify } from './access-tokens.js'
import { addressBudgets } from './addresses.js'
import { isSecretOf, type Mode, parseApiKey, type StoredApiKey } from './api-keys.js'
import type { JudgeToken } from './bearer-tokens.js'
import type { Billing } from './billing.js'
import type { Budget, Budgets, RateLimit } from './rate-limits.js'
import type { Scope } from './scopes.js'
import { Verdicts } from './verdicts.js'

/** Who calls: the tenant whose data is read or written, and the credential that acts. */
export interface Caller {
  readonly tenantId: string
  /** Id of the API key (`key_`), of the client that acts for itself (`cli_`), or of the person (`usr_`). */
  readonly principal: string
  readonly scopes: ReadonlySet<Scope>
  /** Layers whose events it may ingest; undefined: all. */
  readonly ingestionLayers: ReadonlySet<string> | undefined
  /** Whether costs that its events state count. Absent: they do. */
  readonly trustsCost?: boolean
  /** Whether it is a gateway's, whose word on who called counts. Absent: it is not. */
  readonly isGateway?: boolean
  /** Who pays for the calls that it sends, where they do not say it. Absent: auto. */
  readonly billing?: Exclude<Billing, 'auto'>
  /** When the person on whose behalf it acts signed in, seconds since the epoch; absent where it acts for itself. */
  readonly authTimeS?: number | undefined
  /** The principal's budgets of requests, shared by all of its credentials. */
  readonly budgets: Budgets
}

export type Authentication =
  | { readonly ok: true; readonly caller: Caller }
  | {
      readonly ok: false
      readonly problem: Problem
      /** The budget of the address, when it has too many failed attempts or sends too many new tokens. */
      readonly exhausted?: Budget
    }

export interface Credentials {
  /** Value of X-API-Key, empty when absent. */
  readonly apiKey: string
  /** Value of Authorization, empty when absent. */
  readonly authorization: string
}

/** Where credentials come from. Its address is read only when they are new or fail. */
export interface Origin {
  readonly address: string
}

export interface Authenticator {
  authenticate(credentials: Credentials, nowMs: number, origin: Origin): Authentication
  /**
   * Drops the verdicts that depend on an API key, token, token key, client, person or sign-in; to be called when it
   * changes.
   */
  forget(id: string): void
}

export interface AuthenticatorDeps {
  readonly mode: Mode
  readonly findKey: (keyId: string) => StoredApiKey | undefined
  readonly judgeToken: JudgeToken
  readonly budgetsOf: (tenantId: string, principal: string) => Budgets
  /** Where the uses of an API key are recorded. */
  readonly useOf: (keyId: string) => KeyUse
  /** Failed attempts per address. Default: the limit of routes that need no credential. */
  readonly failureLimit?: RateLimit
  /** Signatures verified per address. */
  readonly signatureLimit?: RateLimit
}

/** When an API key was last used, milliseconds since the epoch. Each request sets it, and does nothing else for it. */
export interface KeyUse {
  atMs: number
}

/** What the authenticator decided about one credential. */
interface Verdict {
  /** The whole credential. */
  readonly text: string
  readonly authentication: Authentication
  /** Valid from this instant, until the next one. */
  readonly fromMs: number
  readonly untilMs: number
  /** Ids of the records that the verdict depends on. */
  readonly dependsOn: readonly string[]
}

interface KeyVerdict extends Verdict {
  readonly use: KeyUse
}

/** A verdict on a token is reached again after a minute, in case a change was missed. */
const TOKEN_VERDICT_MS = 60_000

const SIGNATURE_END_CHARACTERS = 43

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
const DISAGREEING = refused('INVALID_CREDENTIALS', 'The API key and the token do not match; send only one.', BAD_TOKEN)
const TOO_MANY_FAILURES = 'Too many failed authentication attempts; try again later.'
const TOO_MANY_TOKENS = 'Too many new tokens from this address; try again later.'
const DISAGREEING_KEYS = refused('INVALID_CREDENTIALS', 'Two different API keys were sent; send only one.')
const EXPIRED = refused('EXPIRED', 'The API key has expired.')

/**
 * Checks credentials against the watched copies of keys, clients, people and revocations. An API key may be sent as
 * X-API-Key or as a bearer. Verdicts are cached; a change of a record that one depends on drops it at once, and its
 * times are checked on every call.
 *
 * An API key and a token sent together must both be valid, belong to one tenant and have the same scopes and layers;
 * the token is then the credential that acts. Any other pair is refused, whichever of the two is at fault, but an
 * expired key beside a valid token is reported as expired.
 *
 * Failures are limited per address, and affect nobody else at the same address: a valid credential is always accepted.
 * Only signatures are costly to verify. They have a far larger budget of their own, which neither a text that cannot be
 * our token nor a known token uses.
 */
export function createAuthenticator(deps: AuthenticatorDeps): Authenticator {
  const failuresOf = addressBudgets(deps.failureLimit)
  const ofKey = keyAuthenticator(deps)
  const ofBearer = bearerAuthenticator(deps)

  const judge = ({ apiKey, authorization }: Credentials, nowMs: number, origin: Origin): Authentication => {
    if (authorization === '') return apiKey === '' ? MISSING : ofKey.authenticate(apiKey, nowMs)
    const asBearer = BEARER_KEY.exec(authorization)?.[1]
    if (asBearer !== undefined) {
      return apiKey === '' || apiKey === asBearer ? ofKey.authenticate(asBearer, nowMs) : DISAGREEING_KEYS
    }
    const bearer = ofBearer.authenticate(authorization, nowMs, origin)
    if (apiKey === '' || !bearer.ok) return bearer
    const key = ofKey.authenticate(apiKey, nowMs)
    // An expired key is refused beside a valid token too; an invalid token is reported first.
    if (key === EXPIRED) return EXPIRED
    return key.ok && agree(key.caller, bearer.caller) ? bearer : DISAGREEING
  }

  return {
    authenticate(credentials, nowMs, origin) {
      const judged = judge(credentials, nowMs, origin)
      if (judged.ok || judged.exhausted !== undefined) return judged
      return takeOne(failuresOf(origin.address, nowMs), nowMs, TOO_MANY_FAILURES) ?? judged
    },
    forget(id) {
      ofKey.forget(id)
      ofBearer.forget(id)
    },
  }
}

function keyAuthenticator({ mode, findKey, budgetsOf, useOf }: AuthenticatorDeps) {
  const verdicts = new Verdicts<KeyVerdict>()

  const judge = (text: string): KeyVerdict | undefined => {
    const presented = parseApiKey(mode, text)
    const stored = presented && findKey(presented.id)
    if (presented === undefined || stored === undefined || !isSecretOf(stored, presented.secret)) return undefined
    const caller: Caller = {
      tenantId: stored.tenant_id,
      principal: stored.id,
      scopes: new Set(stored.scopes),
      ingestionLayers: stored.ingestion_layers && new Set(stored.ingestion_layers),
      ...(stored.trusts_cost === false && { trustsCost: false }),
      ...(stored.is_gateway === true && { isGateway: true }),
      ...payerOf(stored.billing),
      authTimeS: undefined,
      budgets: budgetsOf(stored.tenant_id, stored.id),
    }
    return {
      text,
      authentication: stored.status === 'active' ? { ok: true, caller } : INVALID,
      fromMs: 0,
      untilMs: stored.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(stored.expires_at),
      dependsOn: [stored.id],
      use: useOf(stored.id),
    }
  }

  return {
    authenticate(text: string, nowMs: number): Authentication {
      let verdict = verdicts.get(text)
      if (verdict === undefined) {
        verdict = judge(text)
        if (verdict === undefined) return INVALID
        verdicts.set(text, verdict)
      }
      // Expired comes before revoked ("regardless of lifecycle state"). An expiry that cannot be read is past.
      if (!(nowMs < verdict.untilMs)) return EXPIRED
      if (verdict.authentication.ok) verdict.use.atMs = nowMs
      return verdict.authentication
    },
    forget: (id: string): void => verdicts.forget(id),
  }
}

function bearerAuthenticator({ judgeToken, budgetsOf, signatureLimit = SIGNATURES_PER_ADDRESS }: AuthenticatorDeps) {
  const verdicts = new Verdicts<Verdict>()
  const signaturesOf = addressBudgets(signatureLimit)

  const judge = (authorization: string, nowMs: number, mayVerify: MayVerify): Verdict | undefined => {
    const token = BEARER.exec(authorization)?.[1]
    const judged = token === undefined ? undefined : judgeToken(token, nowMs, mayVerify)
    if (judged === undefined) return undefined
    const caller: Caller = {
      tenantId: judged.tenantId,
      principal: judged.principal,
      scopes: new Set(judged.scopes),
      ingestionLayers: undefined,
      ...(!judged.trustsCost && { trustsCost: false }),
      ...(judged.isGateway && { isGateway: true }),
      ...payerOf(judged.billing),
      authTimeS: judged.authTimeS,
      budgets: budgetsOf(judged.tenantId, judged.principal),
    }
    return {
      text: authorization,
      authentication: { ok: true, caller },
      fromMs: judged.notBeforeMs,
      untilMs: Math.min(judged.expiresAtMs, nowMs + TOKEN_VERDICT_MS),
      dependsOn: judged.dependsOn,
    }
  }

  return {
    authenticate(authorization: string, nowMs: number, origin: Origin): Authentication {
      // Found by the end of its signature, then compared: to hash all of a token would cost ten times as much.
      const signatureEnd = authorization.slice(-SIGNATURE_END_CHARACTERS)
      const known = verdicts.get(signatureEnd)
      const isKnown = known?.text === authorization
      if (isKnown && nowMs < known.untilMs && nowMs >= known.fromMs) return known.authentication
      let limited: Authentication | undefined
      const mayVerify = (): boolean => {
        if (!isKnown) limited = takeOne(signaturesOf(origin.address, nowMs), nowMs, TOO_MANY_TOKENS)
        return limited === undefined
      }
      const verdict = judge(authorization, nowMs, mayVerify)
      if (limited !== undefined) return limited
      if (verdict === undefined) return INVALID_TOKEN
      verdicts.set(signatureEnd, verdict)
      return verdict.authentication
    },
    forget: (id: string): void => verdicts.forget(id),
  }
}

/** Takes one from the budget of an address. @returns the refusal when it is exhausted */
function takeOne(budget: Budget, nowMs: number, detail: string): Authentication | undefined {
  const waitMs = budget.take(1, nowMs)
  if (waitMs === 0) return undefined
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000))
  return { ok: false, problem: problem('RATE_LIMITED', detail, { retryAfterSeconds }), exhausted: budget }
}

/** RFC 9110 11.1: the scheme's letters may be of either case. */
const BEARER = /^bearer ([^ ]+)$/i

/** An API key where a client can send nothing but a bearer: tokens begin otherwise. */
const BEARER_KEY = /^bearer (ak_[^ ]+)$/i

const payerOf = (billing: Billing = 'auto'): Pick<Caller, 'billing'> => (billing === 'auto' ? {} : { billing })

const agree = (key: Caller, bearer: Caller): boolean =>
  key.tenantId === bearer.tenantId &&
  key.ingestionLayers === undefined &&
  key.trustsCost === bearer.trustsCost &&
  key.isGateway === bearer.isGateway &&
  key.billing === bearer.billing &&
  key.scopes.size === bearer.scopes.size &&
  [...key.scopes].every((scope) => bearer.scopes.has(scope))
