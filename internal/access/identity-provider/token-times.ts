/** Times in an ID token, in seconds since the epoch. Pure. */

/** How far the provider's clock may be ahead of or behind ours. */
export const SKEW_S = 120
/** An ID token is read when it is issued: one that is older was kept by somebody. */
const ISSUED_AGO_S_MAX = 10 * 60
/** How much older than asked a sign-in may be: what the provider takes to answer. */
const AGE_TOLERANCE_S = 30

/** @returns why a token was not issued just now (OpenID Connect Core 3.1.3.7, 10) */
export function faultOfIssue(iat: unknown, nowS: number): string | undefined {
  if (typeof iat !== 'number' || !Number.isFinite(iat)) return 'the ID token has no iat'
  if (iat > nowS + SKEW_S) return 'the ID token was issued in the future'
  return iat < nowS - ISSUED_AGO_S_MAX - SKEW_S ? 'the ID token was issued long ago' : undefined
}

/** When the person authenticated. @returns undefined where the claim states none; some providers write milliseconds */
export const authTimeOf = (stated: unknown, nowS: number): number | undefined =>
  typeof stated === 'number' && stated > 0 && stated <= nowS + SKEW_S ? Math.min(stated, nowS) : undefined

export type Recency =
  | 'recent'
  /** The person authenticated longer ago than asked. */
  | 'old'
  /** The provider does not say when: `iat` dates the token, not the sign-in. */
  | 'unknown'

/** @param maxAgeS how long ago the person may have authenticated; undefined: any time */
export function recencyOf(authTimeS: number | undefined, maxAgeS: number | undefined, nowS: number): Recency {
  if (maxAgeS === undefined) return 'recent'
  if (authTimeS === undefined) return 'unknown'
  return nowS - authTimeS <= maxAgeS + AGE_TOLERANCE_S ? 'recent' : 'old'
}

/** Some providers never do; one that has just signed a person in may take that for anew. */
const TIMES_ASKED_MAX = 3

/** Whether a provider that was told so often to ask a person anew has not done so. @param authTimeS of its answer */
export const isStubborn = (timesAsked: number, authTimeS: number | undefined, nowS: number): boolean =>
  timesAsked >= TIMES_ASKED_MAX || (timesAsked > 0 && recencyOf(authTimeS, 0, nowS) === 'old')
