import type { ServerMetadata } from 'openid-client'
import { kindOf } from './known-providers.js'
import type { StoredProvider } from './provider.js'

/** What of a provider will and will not work, in plain words, before the first person meets it. Pure. */

export const VERDICTS = ['works', 'depends', 'does_not_work'] as const
export type Verdict = (typeof VERDICTS)[number]

export const ASPECTS = [
  'description',
  'redirect_address',
  'sign_in',
  'client_secret',
  'signatures',
  'user_name',
  'groups',
  'recent_sign_in',
] as const

export interface Finding {
  readonly aspect: (typeof ASPECTS)[number]
  /** `depends`: on how the provider is set up, which its description does not tell. */
  readonly verdict: Verdict
  readonly detail: string
}
export type Findings = readonly Finding[]

export type JsonWebKeys = readonly { readonly use?: unknown; readonly kty?: unknown }[]

/** What the provider says of itself; or why it could not be read. */
export type Description =
  | { readonly metadata: ServerMetadata; readonly keys: JsonWebKeys | undefined }
  | { readonly fault: string }

export function findingsOf(provider: StoredProvider, description: Description, redirectUri: string): Findings {
  if ('fault' in description) {
    const address = `${provider.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
    return [
      {
        aspect: 'description',
        verdict: 'does_not_work',
        detail: `The description at ${address} cannot be used: ${description.fault}.`,
      },
    ]
  }
  const { metadata, keys } = description
  return [
    { aspect: 'description', verdict: 'works', detail: `${provider.issuer} describes itself.` },
    redirectAddress(provider, redirectUri),
    signIn(metadata, provider),
    clientSecret(metadata, provider),
    signatures(metadata, keys),
    userName(metadata, provider),
    groups(metadata, provider),
    recentSignIn(metadata, provider),
  ]
}

function redirectAddress({ id, tenant_id }: StoredProvider, redirectUri: string): Finding {
  return id === undefined
    ? {
        aspect: 'redirect_address',
        verdict: 'depends',
        detail:
          `It shares ${redirectUri} with other providers: only answers with iss are taken where there are several. Run ` +
          `"attribution identity-provider set ${tenant_id}" again, and register the address that it prints.`,
      }
    : {
        aspect: 'redirect_address',
        verdict: 'depends',
        detail: `Register exactly ${redirectUri} with the provider; whether it is registered, only a sign-in shows.`,
      }
}

function signIn(metadata: ServerMetadata, { scope = '' }: StoredProvider): Finding {
  const aspect = 'sign_in'
  const { response_types_supported: types, code_challenge_methods_supported: methods } = metadata
  if (metadata.authorization_endpoint === undefined || metadata.token_endpoint === undefined) {
    return { aspect, verdict: 'does_not_work', detail: 'It names no authorization_endpoint or no token_endpoint.' }
  }
  if (types !== undefined && !types.includes('code')) {
    return { aspect, verdict: 'does_not_work', detail: 'It does not support the code flow (response type code).' }
  }
  const unknown = scope.split(' ').filter((each) => each !== '' && metadata.scopes_supported?.includes(each) === false)
  if (unknown.length > 0) {
    return {
      aspect,
      verdict: 'depends',
      detail: `It does not list the scope ${unknown.join(', ')}, and may refuse it.`,
    }
  }
  if (methods?.includes('S256') !== true) {
    return { aspect, verdict: 'works', detail: 'By the code flow. It does not say whether it checks PKCE (S256).' }
  }
  return { aspect, verdict: 'works', detail: 'By the code flow with PKCE.' }
}

function clientSecret(
  { token_endpoint_auth_methods_supported: ways }: ServerMetadata,
  provider: StoredProvider,
): Finding {
  const aspect = 'client_secret'
  const { client_authentication: stated } = provider
  const taken = (ways ?? ['client_secret_basic']).filter((way) => /^client_secret_(?:basic|post)$/.test(way))
  if (taken.length === 0) {
    return { aspect, verdict: 'does_not_work', detail: 'It takes no client secret, neither by header nor in the form.' }
  }
  if (stated !== undefined && !taken.includes(stated)) {
    return {
      aspect,
      verdict: 'does_not_work',
      detail: `It does not take ${stated}, which client_authentication names.`,
    }
  }
  return {
    aspect,
    verdict: 'depends',
    detail: `It takes ${taken.join(' and ')}; whether the secret is right, only a sign-in shows.`,
  }
}

const SIGNED = /^(?:RS|PS|ES)\d{3}$|^Ed(?:DSA|25519)$|^ML-DSA-\d\d$/

function signatures(
  { id_token_signing_alg_values_supported: algorithms }: ServerMetadata,
  keys: JsonWebKeys | undefined,
): Finding {
  const aspect = 'signatures'
  if (algorithms !== undefined && !algorithms.some((each) => SIGNED.test(each))) {
    return {
      aspect,
      verdict: 'does_not_work',
      detail: `It signs ID tokens by ${algorithms.join(', ')}: they need a public key, as with RS256.`,
    }
  }
  const signing = keys?.filter(({ use, kty }) => (use === undefined || use === 'sig') && kty !== 'oct') ?? []
  return signing.length > 0
    ? { aspect, verdict: 'works', detail: 'Its signing keys can be read; each ID token is checked with them.' }
    : { aspect, verdict: 'does_not_work', detail: 'Its signing keys (jwks_uri) cannot be read, or there are none.' }
}

function userName({ claims_supported: claims }: ServerMetadata, provider: StoredProvider): Finding {
  const { username_claim: name, issuer } = provider
  const aspect = 'user_name'
  const better = kindOf(issuer).username
  if (better !== undefined && name === 'preferred_username') {
    const detail = `${kindOf(issuer).name} states no preferred_username: set username_claim to ${better}.`
    return { aspect, verdict: 'does_not_work', detail }
  }
  if (name === 'email') {
    const isVerified = claims === undefined || claims.includes('email_verified')
    return {
      aspect,
      verdict: isVerified ? 'works' : 'depends',
      detail: isVerified
        ? 'By the e-mail address, where the provider has verified it (email_verified is true).'
        : 'By the e-mail address, but it does not list email_verified: without it, nobody can sign in.',
    }
  }
  return claims?.includes(name) === true
    ? { aspect, verdict: 'works', detail: `By the claim ${name}.` }
    : { aspect, verdict: 'depends', detail: `By the claim ${name}, which it does not list: it may have to be added.` }
}

function groups({ claims_supported: claims }: ServerMetadata, provider: StoredProvider): Finding {
  const { groups_claim: name, issuer } = provider
  const kind = kindOf(issuer)
  const isListed = claims?.includes(name) === true
  if (!kind.hasGroups && !isListed) return { aspect: 'groups', verdict: 'does_not_work', detail: kind.groups }
  return {
    aspect: 'groups',
    verdict: isListed ? 'works' : 'depends',
    detail: `By the claim ${name}${isListed ? '' : ', which it does not list'}. ${kind.groups}`,
  }
}

function recentSignIn({ claims_supported: claims }: ServerMetadata, { issuer }: StoredProvider): Finding {
  const aspect = 'recent_sign_in'
  const { authTime, hasAuthTime } = kindOf(issuer)
  if (hasAuthTime === 'never') {
    return {
      aspect,
      verdict: 'does_not_work',
      detail: `${authTime} Changes that need a recent sign-in cannot be made by its people: keep an administrator with a password.`,
    }
  }
  const isSure = hasAuthTime === 'always' || claims?.includes('auth_time') === true
  return { aspect, verdict: isSure ? 'works' : 'depends', detail: authTime }
}
