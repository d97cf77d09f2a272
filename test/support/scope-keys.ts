/** Credentials for tests of everything after authentication: the text of a key is its scope. */
import type { Authenticator, Caller } from '../../internal/auth/authenticate.js'
import { budgetsCache, type RateClass, rateLimitsOf } from '../../internal/auth/rate-limits.js'
import { SCOPES, type Scope } from '../../internal/auth/scopes.js'
import { problem } from '../../internal/problems/problem-catalogue.js'

export const TENANT = 'tnt_one'

/**
 * `X-API-Key: [<tenant>:]<scope>[,<scope>...][@<auth_time, seconds>][#<principal>]`: a caller with these scopes, for a
 * person or for itself.
 */
export function scopeKeys(rates: Partial<Record<RateClass, number>> = {}): Authenticator {
  const all = { ingest: 1_000, read: 1_000, report: 1_000, control: 1_000, token: 1_000, ...rates }
  const budgetsOf = budgetsCache(rateLimitsOf(all))
  return {
    authenticate({ apiKey }) {
      const [, tenantId = TENANT, rest = ''] = /^(?:(tnt_\w+):)?(.*)$/.exec(apiKey) ?? []
      const [before = '', principal = 'key_test'] = rest.split('#')
      const [scopes = '', authTime] = before.split('@')
      if (scopes === '') return { ok: false, problem: problem('INVALID_CREDENTIALS', 'Send a key.') }
      const caller: Caller = {
        tenantId,
        principal,
        scopes: new Set(scopes.split(',').filter((scope): scope is Scope => SCOPES.some((known) => known === scope))),
        ingestionLayers: undefined,
        budgets: budgetsOf(tenantId, principal),
        ...(authTime === undefined ? {} : { authTimeS: Number(authTime) }),
      }
      return { ok: true, caller }
    },
    forget: () => undefined,
  }
}
