import type { Scope } from '../../auth/scopes.js'
import { isChallenge } from './authorization-codes.js'
import type { StoredClient } from './clients.js'
import type { Parameters } from './form.js'
import { grantableScopes } from './grants.js'
import { isRegistered } from './redirect-uris.js'

/** A client's request for a person's consent, validated. */
export interface AuthorizationRequest {
  readonly client: StoredClient
  readonly redirectUri: string
  /** The scopes that the client may be granted; the person may have fewer. */
  readonly scopes: readonly Scope[]
  /** Empty when absent. */
  readonly state: string
  readonly codeChallenge: string
  /**
   * How long ago the person may have authenticated, in seconds (OpenID Connect Core 3.1.2.1, RFC 9470 5); undefined:
   * any time.
   */
  readonly maxAgeS: number | undefined
}

export type ReadAuthorizationRequest =
  | { readonly kind: 'valid'; readonly request: AuthorizationRequest }
  /** The error goes to the client over the person's browser (RFC 6749 4.1.2.1). */
  | {
      readonly kind: 'refused'
      readonly error: RedirectedError
      readonly detail: string
      readonly redirectUri: string
      readonly state: string
    }
  /** The redirect address cannot be trusted: the person sees the error, and nobody is redirected. */
  | { readonly kind: 'untrusted'; readonly detail: string }

export type RedirectedError =
  | 'invalid_request'
  | 'unauthorized_client'
  | 'access_denied'
  | 'unsupported_response_type'
  | 'invalid_scope'

const STATE_CHARACTERS_MAX = 1_024

/** @param parameters of the request; undefined when they could not be read */
export function readAuthorizationRequest(
  parameters: Parameters | undefined,
  findClient: (id: string) => StoredClient | undefined,
): ReadAuthorizationRequest {
  if (parameters === undefined) return untrusted('A parameter is repeated, or the query is not percent-encoded UTF-8.')
  const client = findClient(parameters.get('client_id') ?? '')
  const redirectUri = parameters.get('redirect_uri')
  if (client?.status !== 'active') return untrusted('The client is unknown or disabled.')
  if (redirectUri === undefined || !isRegistered(redirectUri, client.redirect_uris)) {
    return untrusted('The redirect_uri is not registered for the client.')
  }
  const state = parameters.get('state') ?? ''
  const refused = (error: RedirectedError, detail: string): ReadAuthorizationRequest => ({
    kind: 'refused',
    error,
    detail,
    redirectUri,
    state,
  })
  if (state.length > STATE_CHARACTERS_MAX)
    return untrusted(`The state may have at most ${STATE_CHARACTERS_MAX} characters.`)
  const responseType = parameters.get('response_type')
  if (responseType === undefined) return refused('invalid_request', 'The response_type is missing.')
  if (responseType !== 'code') return refused('unsupported_response_type', 'The response_type must be code.')
  if (!client.grant_types.includes('authorization_code')) {
    return refused('unauthorized_client', 'The client may not use the authorization code grant.')
  }
  if ((parameters.get('response_mode') ?? 'query') !== 'query') {
    return refused('invalid_request', 'The response_mode must be query.')
  }
  const codeChallenge = parameters.get('code_challenge') ?? ''
  if (parameters.get('code_challenge_method') !== 'S256' || !isChallenge(codeChallenge)) {
    return refused('invalid_request', 'PKCE with code_challenge_method S256 is required.')
  }
  const maxAge = parameters.get('max_age')
  if (maxAge !== undefined && !/^\d{1,9}$/.test(maxAge))
    return refused('invalid_request', 'The max_age must be seconds.')
  const scopes = grantableScopes(parameters.get('scope'), client.scopes)
  if (scopes === undefined)
    return refused('invalid_scope', 'A scope is unknown, or the client may use none of those requested.')
  const maxAgeS = maxAge === undefined ? undefined : Number(maxAge)
  return { kind: 'valid', request: { client, redirectUri, scopes, state, codeChallenge, maxAgeS } }
}

const untrusted = (detail: string): ReadAuthorizationRequest => ({ kind: 'untrusted', detail })

export type AuthorizationAnswer =
  | { readonly code: string }
  | { readonly error: RedirectedError; readonly error_description: string }

/** The address of an answer: its parameters after those of the redirect address, with the issuer (RFC 9207). */
export function answerAddress(redirectUri: string, issuer: string, state: string, answer: AuthorizationAnswer): string {
  const parameters = new URLSearchParams({ ...answer, ...(state === '' ? {} : { state }), iss: issuer })
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${parameters}`
}
