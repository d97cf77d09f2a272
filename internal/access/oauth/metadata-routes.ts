import { SCOPES } from '../../auth/scopes.js'
import { publicDocument, replyDocument } from '../../http/public-document.js'
import type { Route } from '../../http/route.js'
import { GRANT_TYPES } from './clients.js'
import { GET_DISCOVERY, GET_KEYS } from './oauth-contract.js'
import type { OAuthDeps } from './oauth-deps.js'

/** `none`: public clients. */
const AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'none']

const JSON_LINES = ['Content-Type: application/json']

/** The discovery document (RFC 8414) and the JWKS (RFC 7517): public, without tenant data, to be cached. */
export function metadataRoutes({ parties: { issuer }, keys }: OAuthDeps): readonly Route[] {
  const body = JSON.stringify({
    issuer,
    authorization_endpoint: `${issuer}/v1/oauth/authorize`,
    token_endpoint: `${issuer}/v1/oauth/token`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    revocation_endpoint: `${issuer}/v1/oauth/revoke`,
    scopes_supported: SCOPES,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: GRANT_TYPES,
    token_endpoint_auth_methods_supported: AUTH_METHODS,
    revocation_endpoint_auth_methods_supported: AUTH_METHODS,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    service_documentation: `${issuer}/openapi.json`,
  })
  const discovery = publicDocument(body, JSON_LINES)
  return [
    {
      method: 'get',
      path: '/.well-known/oauth-authorization-server',
      access: 'public',
      operation: GET_DISCOVERY,
      handle: (exchange) => replyDocument(exchange, discovery),
    },
    {
      method: 'get',
      path: '/.well-known/jwks.json',
      access: 'public',
      operation: GET_KEYS,
      handle: (exchange) => replyDocument(exchange, keys.document()),
    },
  ]
}
