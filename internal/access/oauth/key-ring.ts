/**
 * The keys that sign access tokens, and when each is published, signs and expires. Pure: the ring is stored, and keys
 * are generated, elsewhere.
 *
 * There is always one `current` key, which signs, and one `next` key, which is only published in the JWKS: verifiers
 * know it long before the first token that it signs. A `retired` key stays published until the last token that it
 * signed has expired. `kid` is the RFC 7638 thumbprint.
 */
export interface TokenKey {
  readonly kid: string
  /** Modulus and exponent, as in a JWK. */
  readonly n: string
  readonly e: string
  /** PKCS #8, sealed by the master key. */
  readonly sealed_private_key: string
  readonly state: 'next' | 'current' | 'retired'
  readonly published_at: string
  /** Since when it signs; null while it is next. */
  readonly signing_since: string | null
  readonly retired_at: string | null
}

/** A new key, before it is added to the ring. */
export type NewTokenKey = Pick<TokenKey, 'kid' | 'n' | 'e' | 'sealed_private_key'>

export interface KeyRing {
  readonly keys: readonly TokenKey[]
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** How long a key signs. */
export const SIGNS_FOR_MS = 30 * DAY_MS
/**
 * How long a key is published before it signs: common clients cache a JWKS for up to 10 minutes despite our cache
 * headers.
 */
export const PUBLISHED_BEFORE_MS = 15 * MINUTE_MS
/** How long a retired key stays published: a token lives at most 60 minutes; the rest covers clock skew. */
export const RETIRED_FOR_MS = 65 * MINUTE_MS

/** The first ring: no verifier has cached any key yet, so that the current one needs no announcement. */
export function beginRing(current: NewTokenKey, next: NewTokenKey, nowMs: number): KeyRing {
  const at = new Date(nowMs).toISOString()
  return {
    keys: [
      { ...current, state: 'current', published_at: at, signing_since: at, retired_at: null },
      { ...next, state: 'next', published_at: at, signing_since: null, retired_at: null },
    ],
  }
}

export function keyInState(ring: KeyRing, state: 'current' | 'next'): TokenKey {
  const found = ring.keys.find((key) => key.state === state)
  if (found === undefined) throw new Error(`the ring of token keys has no ${state} key`)
  return found
}

/** When the next key has been published long enough to sign. */
export const mayRotateAtMs = (ring: KeyRing): number =>
  Date.parse(keyInState(ring, 'next').published_at) + PUBLISHED_BEFORE_MS

/** Whether the current key has signed for long enough. */
export const isRotationDue = (ring: KeyRing, nowMs: number): boolean =>
  nowMs >= Date.parse(keyInState(ring, 'current').signing_since ?? '') + SIGNS_FOR_MS && nowMs >= mayRotateAtMs(ring)

/** The next key becomes current, the current one retires, and a new next key is published. */
export function rotateRing(ring: KeyRing, fresh: NewTokenKey, nowMs: number): KeyRing {
  const at = new Date(nowMs).toISOString()
  const moved = ring.keys.map((key): TokenKey => {
    if (key.state === 'current') return { ...key, state: 'retired', retired_at: at }
    return key.state === 'next' ? { ...key, state: 'current', signing_since: at } : key
  })
  const next: TokenKey = { ...fresh, state: 'next', published_at: at, signing_since: null, retired_at: null }
  return withoutExpired({ keys: [...moved, next] }, nowMs)
}

/**
 * The same, but every key that has signed so far is removed at once, which invalidates every token: for a stolen key.
 */
export function replaceRing(ring: KeyRing, fresh: NewTokenKey, nowMs: number): KeyRing {
  const { keys } = rotateRing(ring, fresh, nowMs)
  return { keys: keys.filter(({ state }) => state !== 'retired') }
}

/** The ring without keys whose last token has expired; the same ring when it has none. */
export function withoutExpired(ring: KeyRing, nowMs: number): KeyRing {
  const alive = ring.keys.filter(
    ({ retired_at }) => retired_at === null || nowMs < Date.parse(retired_at) + RETIRED_FOR_MS,
  )
  return alive.length === ring.keys.length ? ring : { keys: alive }
}
