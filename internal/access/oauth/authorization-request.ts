import type { Scope } from '../../auth/scopes.js'
import { isChallenge } from './authorization-codes.js'
import type { StoredClient } from './clients.js'
import type { Parameters } from './form.js'
import { grantableScopes } from './grants.js'
import { isRegistered } from './redirect-uris.js'

/** What a client asks a person for, checked. */
export interface AuthorizationRequest {
  readonly client: StoredClient
  readonly redirectUri: string
  /** What the client may be granted; the person may have less. */
  readonly scopes: readonly Scope[]
  /** Empty when there was none. */
  readonly state: string
  readonly codeChallenge: string
}

export type ReadAuthorizationRequest =
  | { readonly kind: 'good'; readonly request: AuthorizationRequest }
  /** The client is told by way of the person's browser (RFC 6749 4.1.2.1). */
  | {
      readonly kind: 'refused'
      readonly error: RedirectedError
      readonly detail: string
      readonly redirectUri: string
      readonly state: string
    }
  /** Nobody knows whose address that is: the person is told, and nobody is redirected. */
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
  if (parameters === undefined) return untrusted('A parameter stands twice, or the address cannot be read.')
  const client = findClient(parameters.get('client_id') ?? '')
  const redirectUri = parameters.get('redirect_uri')
  if (client?.status !== 'active') return untrusted('The client is not known.')
  if (redirectUri === undefined || !isRegistered(redirectUri, client.redirect_uris)) {
    return untrusted('The redirect_uri is not one that the client has registered.')
  }
  const state = parameters.get('state') ?? ''
  const refused = (error: RedirectedError, detail: string): ReadAuthorizationRequest => ({
    kind: 'refused',
    error,
    detail,
    redirectUri,
    state,
  })
  if (state.length > STATE_CHARACTERS_MAX) return untrusted(`The state may have ${STATE_CHARACTERS_MAX} characters.`)
  const responseType = parameters.get('response_type')
  if (responseType === undefined) return refused('invalid_request', 'A response_type is needed.')
  if (responseType !== 'code') return refused('unsupported_response_type', 'The response_type must be code.')
  if (!client.grant_types.includes('authorization_code')) {
    return refused('unauthorized_client', 'The client may not use the authorization code grant.')
  }
  if ((parameters.get('response_mode') ?? 'query') !== 'query') {
    return refused('invalid_request', 'The response_mode must be query.')
  }
  const codeChallenge = parameters.get('code_challenge') ?? ''
  if (parameters.get('code_challenge_method') !== 'S256' || !isChallenge(codeChallenge)) {
    return refused('invalid_request', 'PKCE with the method S256 is needed.')
  }
  const scopes = grantableScopes(parameters.get('scope'), client.scopes)
  if (scopes === undefined) return refused('invalid_scope', 'A scope is not known, or none is left.')
  return { kind: 'good', request: { client, redirectUri, scopes, state, codeChallenge } }
}

const untrusted = (detail: string): ReadAuthorizationRequest => ({ kind: 'untrusted', detail })

/**
 * The address of an answer: the parameters behind those that the redirect address has, and who answers (RFC 9207).
 */
export function answerAddress(
  redirectUri: string,
  issuer: string,
  state: string,
  answer: { readonly code: string } | { readonly error: RedirectedError; readonly error_description: string },
): string {
  const parameters = new URLSearchParams({ ...answer, ...(state === '' ? {} : { state }), iss: issuer })
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${parameters}`
}
