/** Authenticators with the keys and tokens of a test. */
import type { StoredApiKey } from '../../internal/auth/api-keys.js'
import {
  type Authentication,
  type Authenticator,
  type Credentials,
  createAuthenticator,
  type KeyUse,
} from '../../internal/auth/authenticate.js'
import type { JudgedToken } from '../../internal/auth/bearer-tokens.js'
import { budgetsCache, rateLimitsOf } from '../../internal/auth/rate-limits.js'
import { TENANT } from './api-keys.js'

export const budgetsOf = budgetsCache(rateLimitsOf({ ingest: 10, read: 10, report: 10, control: 10, token: 10 }))

/** So slow that no token is refilled while a test runs. */
const FAILURE_LIMIT = { perSecond: 0.001, burst: 20 }
const SIGNATURE_LIMIT = { perSecond: 0.001, burst: 100 }

/** Valid tokens, by their text. */
export type Tokens = Record<string, Partial<JudgedToken>>

const judgedToken = (stated: Partial<JudgedToken>): JudgedToken => ({
  tenantId: TENANT,
  principal: 'cli_one',
  scopes: ['read:attribution'],
  trustsCost: true,
  isGateway: false,
  billing: 'auto',
  authTimeS: undefined,
  notBeforeMs: 0,
  expiresAtMs: Number.POSITIVE_INFINITY,
  dependsOn: ['cli_one'],
  ...stated,
})

/** An authenticator over these keys, which counts how often it looks one up. */
export const authenticatorOf = (...keys: readonly StoredApiKey[]) => authenticatorWith({}, ...keys)

/**
 * The same with tokens as well; it counts how often it has one judged, and its signature verified, which none has that
 * is called garbage.
 */
export function authenticatorWith(tokens: Tokens, ...keys: readonly StoredApiKey[]) {
  const bucket = new Map(keys.map((key) => [key.id, key]))
  const counts = { lookUps: 0, judged: 0, verified: 0 }
  const uses = new Map<string, KeyUse>()
  const findKey = (id: string): StoredApiKey | undefined => {
    counts.lookUps++
    return bucket.get(id)
  }
  const authenticator = createAuthenticator({
    mode: 'production',
    findKey,
    judgeToken: (text, _, mayVerify) => {
      counts.judged++
      if (text.startsWith('garbage') || !mayVerify()) return undefined
      counts.verified++
      const stated = Object.hasOwn(tokens, text) ? tokens[text] : undefined
      return stated && judgedToken(stated)
    },
    budgetsOf,
    failureLimit: FAILURE_LIMIT,
    signatureLimit: SIGNATURE_LIMIT,
    useOf(keyId) {
      const use = uses.get(keyId) ?? { atMs: 0 }
      uses.set(keyId, use)
      return use
    },
  })
  return { authenticator, bucket, counts, uses }
}

/** High enough that no address reaches it, unless a test sets it lower. */
export const authenticate = (
  authenticator: Authenticator,
  credentials: Credentials,
  nowMs: number,
  address = '192.0.2.1',
): Authentication => authenticator.authenticate(credentials, nowMs, { address })

export const present = (apiKeyText: string, authorization = '') => ({ apiKey: apiKeyText, authorization })
export const verdictOf = (authentication: Authentication): string =>
  authentication.ok ? 'ok' : authentication.problem.code
export const at = (ms: number): string => new Date(ms).toISOString()
