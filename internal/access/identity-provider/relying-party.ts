import type * as OpenId from 'openid-client'
import { AnswerTooLong, boundedFetch } from '../../outbound/bounded-answer.js'
import { type Claims, lacksClaims } from './claims.js'
import { redirectUriOf, type StoredProvider } from './provider.js'
import { AnyCompany, faultOfProvider } from './provider-fault.js'
import { type Description, type Findings, findingsOf, type JsonWebKeys } from './set-up-check.js'
import { authTimeOf, faultOfIssue, SKEW_S } from './token-times.js'

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
  /** The provider asks the person whatever it knows of them: an earlier answer was too old. */
  readonly asksAgain: boolean
}

export interface Proven {
  readonly claims: Claims
  /** When the person authenticated, in seconds since the epoch; undefined when the provider does not say. */
  readonly authTimeS: number | undefined
}

/** The provider cannot be reached, or answers nonsense; the message says which, in words of ours. */
export class ProviderUnavailable extends Error {}
/** The provider, or the person there, refused the sign-in; or its answer does not hold. */
export class ProviderRefused extends Error {}

/**
 * The service as a client of OpenID providers: code flow with PKCE, `state` and `nonce` (OpenID Connect Core 3.1), an
 * address of its own for each provider, and signatures that are checked although the token comes from the provider
 * itself (RFC 9700 4.4, 4.7).
 */
export interface RelyingParty {
  /** @returns where to send the person @throws ProviderUnavailable */
  begin(provider: StoredProvider, began: Began): Promise<URL>
  /**
   * @param answer the address to which the provider sent the person back
   *
   * @throws ProviderRefused @throws ProviderUnavailable
   */
  finish(provider: StoredProvider, answer: URL, began: Began): Promise<Proven>
  /** What of the provider will and will not work, as far as its description and keys tell. */
  check(provider: StoredProvider): Promise<{ readonly redirectUri: string; readonly findings: Findings }>
}

const SCOPE = 'openid profile email'
const TIMEOUT_S = 10
/** Of one answer: descriptions and key sets have a few kilobytes, tokens with many groups some tens. */
const ANSWER_BYTES_MAX = 1024 * 1024
/** A provider's description, with its keys, is read again after this. */
const KEPT_MS = 60 * 60_000

export interface RelyingPartyDeps {
  /** Of this service. */
  readonly baseUrl: string
  readonly secretOf: (provider: StoredProvider) => string
  readonly clock: () => number
}

export function relyingParty({ baseUrl, secretOf, clock }: RelyingPartyDeps): RelyingParty {
  const configurations = new Map<
    string,
    { readonly version: string; readonly atMs: number; readonly config: OpenId.Configuration }
  >()

  const configOf = async (openid: typeof OpenId, provider: StoredProvider): Promise<OpenId.Configuration> => {
    const known = configurations.get(provider.tenant_id)
    const isFresh = known?.version === provider.updated_at && clock() - known.atMs < KEPT_MS
    if (known !== undefined && isFresh) return known.config
    const config = await discover(openid, provider, secretOf(provider)).catch(unavailable)
    configurations.set(provider.tenant_id, { version: provider.updated_at, atMs: clock(), config })
    return config
  }

  const describe = async (provider: StoredProvider): Promise<Description> => {
    const openid = await library()
    const secret = secretOf(provider)
    try {
      const metadata = (await discover(openid, provider, secret)).serverMetadata()
      return { metadata, keys: await keysOf(provider, metadata) }
    } catch (cause) {
      return { fault: faultOfProvider(cause) }
    }
  }

  return {
    async begin(provider, { state, nonce, verifier, maxAgeS, asksAgain }) {
      const openid = await library()
      const parameters = {
        redirect_uri: redirectUriOf(baseUrl, provider),
        scope: provider.scope ?? SCOPE,
        state,
        nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(maxAgeS !== undefined && { max_age: String(maxAgeS) }),
        // For providers that do not know max_age.
        ...((asksAgain || maxAgeS === 0) && { prompt: 'login' }),
      }
      const config = await configOf(openid, provider)
      try {
        return openid.buildAuthorizationUrl(config, parameters)
      } catch (cause) {
        return unavailable(cause)
      }
    },

    async finish(provider, answer, { state, nonce, verifier }) {
      const openid = await library()
      const config = await configOf(openid, provider)
      try {
        const tokens = await openid.authorizationCodeGrant(config, answer, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        })
        const claims = tokens.claims()
        if (claims === undefined) throw new ProviderRefused('the answer has no ID token')
        const nowS = Math.floor(clock() / 1_000)
        const fault = faultOfIssue(claims.iat, nowS)
        if (fault !== undefined) throw new ProviderRefused(fault)
        // Groups and names may be in the user info alone.
        const more =
          lacksClaims(claims, provider) && config.serverMetadata().userinfo_endpoint !== undefined
            ? await openid.fetchUserInfo(config, tokens.access_token, claims.sub)
            : {}
        return { claims: { ...more, ...claims }, authTimeS: authTimeOf(claims.auth_time, nowS) }
      } catch (cause) {
        if (isRefusal(openid, cause)) throw new ProviderRefused(messageOf(cause), { cause })
        return unavailable(cause)
      }
    },

    async check(provider) {
      const redirectUri = redirectUriOf(baseUrl, provider)
      return { redirectUri, findings: findingsOf(provider, await describe(provider), redirectUri) }
    },
  }
}

/** Loaded by the first sign-in: most instances have no provider. */
const library = (): Promise<typeof OpenId> => import('openid-client')

const fetchBounded = boundedFetch({ bytesMax: ANSWER_BYTES_MAX, msMax: TIMEOUT_S * 1_000 })

/** Reads what a provider says of itself. */
async function discover(
  openid: typeof OpenId,
  provider: StoredProvider,
  secret: string,
): Promise<OpenId.Configuration> {
  const issuer = new URL(provider.issuer)
  const execute = [openid.enableNonRepudiationChecks]
  // The schema admits plain HTTP on this machine only.
  if (issuer.protocol === 'http:') execute.push(openid.allowInsecureRequests)
  const options = { timeout: TIMEOUT_S, [openid.customFetch]: fetchBounded as OpenId.CustomFetch, execute }
  const metadata = { client_secret: secret, [openid.clockTolerance]: SKEW_S }
  const byForm = await openid.discovery(issuer, provider.client_id, metadata, undefined, options)
  const server = byForm.serverMetadata()
  // The library compares the issuer, but for Entra and B2C: these name a company by its id, however it was asked for. For
  // all companies (common, organizations) they leave a placeholder: accounts of any company would be let in.
  if (server.issuer.includes('{tenantid}')) {
    throw new AnyCompany()
  }
  const way = provider.client_authentication ?? preferredOf(server.token_endpoint_auth_methods_supported)
  if (way === 'client_secret_post') return byForm
  const byHeader = new openid.Configuration(server, provider.client_id, metadata, openid.ClientSecretBasic(secret))
  byHeader[openid.customFetch] = options[openid.customFetch]
  byHeader.timeout = TIMEOUT_S
  for (const extend of execute) extend(byHeader)
  return byHeader
}

/** OAuth's default is the header; many providers take both. */
const preferredOf = (supported: readonly string[] | undefined) =>
  supported === undefined || supported.includes('client_secret_post') ? 'client_secret_post' : 'client_secret_basic'

/** @returns undefined where they cannot be read */
async function keysOf(
  { issuer }: StoredProvider,
  { jwks_uri: uri = '' }: OpenId.ServerMetadata,
): Promise<JsonWebKeys | undefined> {
  if (!URL.canParse(uri) || new URL(uri).protocol !== new URL(issuer).protocol) return undefined
  try {
    const answer = await fetchBounded(uri, { redirect: 'manual', headers: { accept: 'application/json' } })
    const { keys } = (await answer.json()) as { keys?: unknown }
    return answer.ok && Array.isArray(keys) ? keys : undefined
  } catch {
    return undefined
  }
}

/** A wrong or repeated answer, or one that its signature or claims do not bear. */
const isRefusal = (openid: typeof OpenId, cause: unknown): boolean =>
  cause instanceof ProviderRefused ||
  cause instanceof openid.AuthorizationResponseError ||
  cause instanceof openid.ResponseBodyError ||
  (cause instanceof openid.ClientError &&
    cause.code !== 'OAUTH_TIMEOUT' &&
    !(cause.cause instanceof TypeError || cause.cause instanceof AnswerTooLong))

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
const unavailable = (cause: unknown): never => {
  throw new ProviderUnavailable(faultOfProvider(cause), { cause })
}
