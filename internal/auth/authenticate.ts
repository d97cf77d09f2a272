import { type Problem, problem } from '../problems/catalogue.js'
import { isSecretOf, type Mode, parseApiKey, type StoredApiKey } from './api-keys.js'
import type { Budgets } from './rate-limits.js'
import type { Scope } from './scopes.js'

/** Who calls: the tenant whose data is read or written, and the credential that acts. */
export interface Caller {
  readonly tenantId: string
  /** Id of the credential: `key_...`. */
  readonly principal: string
  readonly scopes: ReadonlySet<Scope>
  /** Layers whose events it may ingest; undefined: all. */
  readonly ingestionLayers: ReadonlySet<string> | undefined
  /** When the person for whom it acts signed in, seconds since the epoch; absent where it acts for itself. */
  readonly authTimeS?: number
  /** What its principal may still ask for, shared by all of the principal's credentials. */
  readonly budgets: Budgets
}

export type Authentication =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly problem: Problem }

export interface Credentials {
  /** Value of X-API-Key, empty when absent. */
  readonly apiKey: string
  /** Value of Authorization, empty when absent. */
  readonly authorization: string
}

export interface Authenticator {
  authenticate(credentials: Credentials, nowMs: number): Authentication
  /** Forgets the verdict on a key; to be called when the key changes. */
  forget(keyId: string): void
}

interface Verdict {
  readonly keyId: string
  readonly authentication: Authentication
  readonly expiresAtMs: number
}

/** Verdicts kept; a flood of invented keys must not grow memory, so only verdicts on real keys are kept. */
const VERDICTS_MAX = 10_000

const refused = (code: 'INVALID_CREDENTIALS' | 'EXPIRED', detail: string): Authentication => ({
  ok: false,
  problem: problem(code, detail),
})
const MISSING = refused('INVALID_CREDENTIALS', 'Send X-API-Key or Authorization: Bearer.')
const INVALID = refused('INVALID_CREDENTIALS', 'The credential is not valid.')
const EXPIRED = refused('EXPIRED', 'The API key has expired.')

/**
 * Checks credentials against the watched copy of the keys. The verdict on a key is cached; a change of the key
 * empties it at once, and its expiry is looked at on every call.
 */
export function createAuthenticator(
  mode: Mode,
  findKey: (keyId: string) => StoredApiKey | undefined,
  budgetsOf: (tenantId: string, principal: string) => Budgets,
): Authenticator {
  const verdicts = new Map<string, Verdict>()
  const textsOfKey = new Map<string, Set<string>>()

  const remember = (text: string, verdict: Verdict): void => {
    if (verdicts.size >= VERDICTS_MAX) {
      verdicts.clear()
      textsOfKey.clear()
    }
    verdicts.set(text, verdict)
    const texts = textsOfKey.get(verdict.keyId) ?? new Set()
    textsOfKey.set(verdict.keyId, texts.add(text))
  }

  const judge = (text: string): Verdict | undefined => {
    const presented = parseApiKey(mode, text)
    const stored = presented && findKey(presented.id)
    if (presented === undefined || stored === undefined || !isSecretOf(stored, presented.secret)) return undefined
    const expiresAtMs = stored.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(stored.expires_at)
    const caller: Caller = {
      tenantId: stored.tenant_id,
      principal: stored.id,
      scopes: new Set(stored.scopes),
      ingestionLayers: stored.ingestion_layers && new Set(stored.ingestion_layers),
      budgets: budgetsOf(stored.tenant_id, stored.id),
    }
    const authentication: Authentication = stored.status === 'active' ? { ok: true, caller } : INVALID
    return { keyId: stored.id, authentication, expiresAtMs }
  }

  return {
    authenticate({ apiKey, authorization }, nowMs) {
      if (apiKey === '' && authorization === '') return MISSING
      // Bearer tokens are not issued yet, so that none can be valid; and two credentials must agree.
      if (authorization !== '') return INVALID
      let verdict = verdicts.get(apiKey)
      if (verdict === undefined) {
        verdict = judge(apiKey)
        if (verdict === undefined) return INVALID
        remember(apiKey, verdict)
      }
      // Expired comes before revoked (spec 3: "regardless of lifecycle state"). An expiry that cannot be read is past.
      return nowMs < verdict.expiresAtMs ? verdict.authentication : EXPIRED
    },

    forget(keyId) {
      for (const text of textsOfKey.get(keyId) ?? []) verdicts.delete(text)
      textsOfKey.delete(keyId)
    },
  }
}
