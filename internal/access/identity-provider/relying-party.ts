import type * as OpenId from 'openid-client'
import type { Claims } from './claims.js'
import type { StoredProvider } from './provider.js'

/** A sign-in at a provider, as it began. */
export interface Began {
  /** Comes back with the answer. */
  readonly state: string
  /** Comes back in the ID token. */
  readonly nonce: string
  /** PKCE. */
  readonly verifier: string
  /** How long ago the person may have authenticated, in seconds. Undefined: any time. */
  readonly maxAgeS: number | undefined
}

export interface Proven {
  readonly claims: Claims
  /** When the person authenticated, in seconds since the epoch; undefined when the provider does not say. */
  readonly authTimeS: number | undefined
}

/** The provider cannot be reached, or answers nonsense. */
export class ProviderUnavailable extends Error {}
/** The provider, or the person there, refused the sign-in; or its answer does not hold. */
export class ProviderRefused extends Error {}

/** The service as a client of OpenID providers: code flow with PKCE, `state` and `nonce` (OpenID Connect Core 3.1). */
export interface RelyingParty {
  /** @returns where to send the person @throws ProviderUnavailable */
  begin(provider: StoredProvider, began: Began): Promise<URL>
  /**
   * @param answer the address to which the provider sent the person back
   *
   * @throws ProviderRefused @throws ProviderUnavailable
   */
  finish(provider: StoredProvider, answer: URL, began: Began): Promise<Proven>
}

const SCOPES = 'openid profile email'
const TIMEOUT_S = 10
/** A provider's description, with its keys, is read again after this. */
const KEPT_MS = 60 * 60_000

export interface RelyingPartyDeps {
  /** Registered with every provider. */
  readonly redirectUri: string
  readonly secretOf: (provider: StoredProvider) => string
  readonly clock: () => number
}

export function relyingParty({ redirectUri, secretOf, clock }: RelyingPartyDeps): RelyingParty {
  const configurations = new Map<
    string,
    { readonly version: string; readonly atMs: number; readonly config: OpenId.Configuration }
  >()

  /** Loaded by the first sign-in: most instances have no provider. */
  const library = (): Promise<typeof OpenId> => import('openid-client')

  const configOf = async (openid: typeof OpenId, provider: StoredProvider): Promise<OpenId.Configuration> => {
    const known = configurations.get(provider.tenant_id)
    const isFresh = known?.version === provider.updated_at && clock() - known.atMs < KEPT_MS
    if (known !== undefined && isFresh) return known.config
    const issuer = new URL(provider.issuer)
    const config = await openid.discovery(issuer, provider.client_id, secretOf(provider), undefined, {
      timeout: TIMEOUT_S,
      // The schema admits plain HTTP on this machine only.
      ...(issuer.protocol === 'http:' && { execute: [openid.allowInsecureRequests] }),
    })
    configurations.set(provider.tenant_id, { version: provider.updated_at, atMs: clock(), config })
    return config
  }

  return {
    async begin(provider, { state, nonce, verifier, maxAgeS }) {
      const openid = await library()
      const config = await configOf(openid, provider).catch(unavailable)
      return openid.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: SCOPES,
        state,
        nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(maxAgeS !== undefined && { max_age: String(maxAgeS) }),
      })
    },

    async finish(provider, answer, { state, nonce, verifier, maxAgeS }) {
      const openid = await library()
      const config = await configOf(openid, provider).catch(unavailable)
      try {
        const tokens = await openid.authorizationCodeGrant(config, answer, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          ...(maxAgeS !== undefined && { maxAge: maxAgeS }),
        })
        const claims = tokens.claims()
        if (claims === undefined) throw new ProviderRefused('the answer has no ID token')
        // Groups and names may be in the user info alone.
        const isComplete = [provider.groups_claim, provider.username_claim].every((name) => name in claims)
        const more =
          isComplete || config.serverMetadata().userinfo_endpoint === undefined
            ? {}
            : await openid.fetchUserInfo(config, tokens.access_token, claims.sub)
        return { claims: { ...more, ...claims }, authTimeS: claims.auth_time }
      } catch (cause) {
        throw isRefusal(openid, cause) ? new ProviderRefused(messageOf(cause), { cause }) : unavailableOf(cause)
      }
    },
  }
}

/** A wrong or repeated answer, or one that its signature or claims do not bear. */
const isRefusal = (openid: typeof OpenId, cause: unknown): boolean =>
  cause instanceof ProviderRefused ||
  cause instanceof openid.AuthorizationResponseError ||
  cause instanceof openid.ResponseBodyError ||
  (cause instanceof openid.ClientError && cause.code !== 'OAUTH_TIMEOUT' && !(cause.cause instanceof TypeError))

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
const unavailableOf = (cause: unknown): ProviderUnavailable => new ProviderUnavailable(messageOf(cause), { cause })
const unavailable = (cause: unknown): never => {
  throw unavailableOf(cause)
}
