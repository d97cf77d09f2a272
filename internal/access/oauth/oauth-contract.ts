import { z } from 'zod'
import { SCOPES } from '../../auth/scopes.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { problemDetails } from '../../http/contract/problem-schema.js'
import type { ErrorCode } from '../../problems/problem-catalogue.js'
import { exampleId } from '../../text/answer-fields.js'
import { GRANT_TYPES } from './clients.js'
import { OAUTH_ERRORS } from './oauth-errors.js'

/** The contract of the authorization server. */

const FORM = 'application/x-www-form-urlencoded'
const one = `(${SCOPES.join('|')})`
/** The syntax of RFC 6749 3.3, with our closed set of scopes. */
const scopeNames = () => z.string().regex(new RegExp(`^${one}( ${one})*$`))
const clientId = () => z.string().meta({ examples: [exampleId('cli')] })
const EXAMPLE_REDIRECT = 'http://127.0.0.1:51004/callback'
const EXAMPLE_CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

/** In the body, unless the client authenticates by `Authorization: Basic`. */
const client = {
  client_id: clientId().optional(),
  client_secret: z.string().optional().meta({ description: 'Omit with `Authorization: Basic`.' }),
}

const OF_CLIENTS: readonly ErrorCode[] = [
  'INVALID_CREDENTIALS',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'RATE_LIMITED',
]

/** RFC 6749 5.2, in addition to the members of every problem. */
const oauthProblem = problemDetails
  .extend({ error: z.enum(OAUTH_ERRORS).optional(), error_description: z.string().optional() })
  .meta({ id: 'OAuthProblem', description: 'Problem details (RFC 9457) that OAuth clients can read, too.' })

const tokenRequest = z
  .union([
    z.object({ grant_type: z.literal('client_credentials'), ...client, scope: scopeNames().optional() }),
    z.object({
      grant_type: z.literal('authorization_code'),
      ...client,
      code: z.string(),
      redirect_uri: z.string().meta({ description: 'As in the authorization request.' }),
      code_verifier: z.string().regex(/^[A-Za-z0-9._~-]{43,128}$/),
    }),
    z.object({
      grant_type: z.literal('refresh_token'),
      ...client,
      refresh_token: z.string(),
      scope: scopeNames().optional(),
    }),
  ])
  .meta({ id: 'TokenRequest' })

const tokenResponse = z
  .object({
    access_token: z.string().meta({ description: 'A signed JWT (RFC 9068).' }),
    token_type: z.literal('Bearer'),
    expires_in: z.int().min(1).max(3_600).meta({ description: 'Seconds.' }),
    scope: scopeNames().meta({ description: 'The granted scopes, which may be fewer than requested.' }),
    refresh_token: z.string().optional().meta({ description: 'In the code flow only; valid for one refresh.' }),
  })
  .meta({ id: 'TokenResponse' })

const EXAMPLE_REQUEST = {
  grant_type: 'client_credentials',
  client_id: exampleId('cli'),
  client_secret: 'cs_live_...',
  scope: 'read:attribution',
}

export const ISSUE_TOKEN: Operation = {
  id: 'issueToken',
  tag: 'Authorization',
  summary: 'Get an access token',
  description:
    'Client credentials, authorization code with PKCE (S256), or refresh (RFC 6749, RFC 7636, RFC 9700). The client ' +
    'authenticates by `client_secret_basic` or `client_secret_post`; a public client sends its `client_id` ' +
    'alone, and has no client credentials. A refresh token can be used once; a second use ends its sign-in. ' +
    'Errors have `error` and `error_description` of RFC 6749 in addition to the members of every problem, and ' +
    'the media type `application/json` where the request accepts it. Takes no Idempotency-Key.',
  body: {
    contents: {
      [FORM]: {
        schema: tokenRequest,
        example: EXAMPLE_REQUEST,
      },
    },
  },
  replies: {
    200: {
      description: 'The access token.',
      headers: {
        'Cache-Control': z.literal('no-store'),
        Pragma: z.literal('no-cache'),
        'RateLimit-Limit': z.int().min(0),
        'RateLimit-Remaining': z.int().min(0),
        'RateLimit-Reset': z.int().min(0),
      },
      contents: json(tokenResponse, {
        access_token: 'eyJhbGciOiJSUzI1NiIsImtpZCI6Ii4uLiIsInR5cCI6ImF0K2p3dCJ9...',
        token_type: 'Bearer',
        expires_in: 900,
        scope: 'read:attribution',
      }),
    },
  },
  problems: OF_CLIENTS,
  problem: oauthProblem,
  problemTypes: ['application/json'],
}

export const ISSUE_PARTNER_TOKEN: Operation = {
  ...ISSUE_TOKEN,
  id: 'issuePartnerToken',
  tag: 'Partner',
  summary: 'Get an access token for a connector',
  description:
    'Client credentials of a connector (RFC 6749 4.4), by `client_secret_basic` or `client_secret_post`. The ' +
    'token is valid for `/api/partner/v1` only. Errors as for `/v1/oauth/token`. Takes no Idempotency-Key.',
  body: {
    contents: {
      [FORM]: {
        schema: z.object({
          grant_type: z.literal('client_credentials'),
          ...client,
          scope: scopeNames().optional(),
        }),
        example: EXAMPLE_REQUEST,
      },
    },
  },
}

export const REVOKE_TOKEN: Operation = {
  id: 'revokeToken',
  tag: 'Authorization',
  summary: 'Revoke a token',
  description:
    'RFC 7009. Revoking an access token affects that token alone; revoking a refresh token ends its sign-in and ' +
    'all its access tokens. The gateway that replies refuses the token from then, the others within milliseconds.',
  body: {
    contents: {
      [FORM]: {
        schema: z.object({ ...client, token: z.string().min(1), token_type_hint: z.string().optional() }),
        example: { client_id: exampleId('cli'), client_secret: 'cs_live_...', token: 'rt_...' },
      },
    },
  },
  replies: {
    200: {
      description: 'The token is not valid, or no longer.',
      headers: { 'Cache-Control': z.literal('no-store') },
      contents: json(z.object({}), {}),
    },
  },
  problems: OF_CLIENTS,
  problem: oauthProblem,
  problemTypes: ['application/json'],
}

export const REVOKE_PARTNER_TOKEN: Operation = {
  ...REVOKE_TOKEN,
  id: 'revokePartnerToken',
  tag: 'Partner',
  summary: 'Revoke an access token of a connector',
  description:
    'RFC 7009, for tokens from `/api/partner/v1/oauth/token`. The gateway that replies refuses the token from ' +
    'then, the others within milliseconds.',
}

const REDIRECT = {
  description: 'Redirect to the client, with `code` or `error`, `state` and `iss` (RFC 9207).',
  headers: { Location: z.string(), 'Cache-Control': z.literal('no-store') },
}

export const SHOW_SIGN_IN: Operation = {
  id: 'showSignIn',
  tag: 'Authorization',
  summary: 'Show the sign-in page on which a person grants a client access',
  description:
    'The authorization endpoint of the code flow. PKCE with S256 is required. The redirect address must be ' +
    'registered and is compared exactly, except for the port of a loopback address. An invalid client or ' +
    'redirect address is reported on this page; every other error goes to the client.',
  query: {
    response_type: z.string().meta({ description: '`code`.', examples: ['code'] }),
    client_id: clientId(),
    redirect_uri: z.string().meta({ examples: [EXAMPLE_REDIRECT] }),
    code_challenge: z.string().meta({ examples: [EXAMPLE_CHALLENGE] }),
    code_challenge_method: z.string().meta({ description: '`S256`.', examples: ['S256'] }),
    scope: z
      .string()
      .optional()
      .meta({ examples: ['read:attribution'] }),
    state: z.string().max(1_024).optional(),
    max_age: z
      .int()
      .min(0)
      .max(999_999_999)
      .optional()
      .meta({
        description:
          'How long ago the person may have authenticated, in seconds (RFC 9470). A sign-in by password is ' +
          'always new; an identity provider asks the person again where theirs is older.',
      }),
  },
  replies: {
    200: {
      description: 'The page with the sign-in form.',
      headers: { 'Cache-Control': z.literal('no-store') },
      contents: { 'text/html': { schema: z.string() } },
    },
    303: REDIRECT,
  },
  problems: ['RATE_LIMITED'],
  problem: oauthProblem,
  problemTypes: ['application/json', 'text/html'],
}

export const SIGN_IN: Operation = {
  id: 'signIn',
  tag: 'Authorization',
  summary: 'Submit the sign-in form',
  description: 'Only for the form of the sign-in page: the request needs the cookie that the page sets.',
  body: {
    contents: {
      [FORM]: {
        schema: z.object({
          request: z.string().meta({ description: 'The hidden field of the form.' }),
          username: z.string().max(128).optional(),
          password: z.string().max(256).optional(),
          code: z.string().max(16).optional().meta({ description: 'Of the second factor, on the second page.' }),
          decision: z.enum(['allow', 'deny']),
        }),
        example: { request: '...', username: 'ada', password: '...', decision: 'allow' },
      },
    },
  },
  replies: { 303: REDIRECT },
  problems: OF_CLIENTS,
  problem: oauthProblem,
  problemTypes: ['application/json', 'text/html'],
}

/** Steps of a browser between the sign-in page and the company's provider: no part of the API's own contract. */
const BROWSER_STEP = { tag: 'Authorization', replies: { 303: REDIRECT } } as const

export const START_AT_PROVIDER: Operation = {
  ...BROWSER_STEP,
  id: 'startAtProvider',
  summary: 'Go on to the identity provider',
  query: { request: z.string() },
}

export const FINISH_AT_SHARED_ADDRESS: Operation = {
  ...BROWSER_STEP,
  id: 'finishAtSharedAddress',
  summary: 'Come back from an identity provider that an earlier version has set',
  query: {
    state: z.string(),
    code: z.string().optional(),
    iss: z.string().optional(),
    error: z.string().optional(),
    error_description: z.string().optional(),
    error_uri: z.string().optional(),
    session_state: z.string().optional(),
    scope: z.string().optional(),
  },
}

export const FINISH_AT_PROVIDER: Operation = {
  ...FINISH_AT_SHARED_ADDRESS,
  id: 'finishAtProvider',
  summary: 'Come back from the identity provider',
  parameters: { id: z.string() },
}

/** Steps of the console's page: no part of the API's own contract. */
const CONSOLE_STEP = {
  tag: 'Authorization',
  replies: {
    200: {
      description: 'An access token, who it is of, and the cookie for the next one.',
      contents: json(
        tokenResponse.omit({ refresh_token: true }).extend({
          user: z.object({ id: z.string(), username: z.string() }),
          tenant: z.object({ id: z.string(), name: z.string() }),
        }),
      ),
    },
  },
  problems: OF_CLIENTS,
  problem: oauthProblem,
} as const

export const BEGIN_CONSOLE_SESSION: Operation = {
  ...CONSOLE_STEP,
  id: 'beginConsoleSession',
  summary: 'Exchange the code of a sign-in for a session',
  body: {
    contents: {
      [FORM]: {
        schema: z.object({
          client_id: clientId(),
          code: z.string(),
          redirect_uri: z.string(),
          code_verifier: z.string(),
        }),
      },
    },
  },
}

export const CONTINUE_CONSOLE_SESSION: Operation = {
  ...CONSOLE_STEP,
  id: 'continueConsoleSession',
  summary: 'Exchange the cookie for an access token',
  body: {
    contents: {
      [FORM]: {
        schema: z.object({
          client_id: clientId(),
          idle_s: z.string().regex(/^\d+$/).optional().describe('For so long nobody has used the console. Default: 0.'),
        }),
      },
    },
  },
}

export const END_CONSOLE_SESSIONS: Operation = {
  tag: 'Authorization',
  id: 'endConsoleSessions',
  summary: 'End all sessions of the browser',
  replies: { 204: { description: 'Ended.' } },
  problems: ['MALFORMED_REQUEST'],
}

const CACHED = {
  'Cache-Control': z.string().regex(/^public, max-age=\d+$/),
  ETag: z.string(),
}

export const GET_DISCOVERY: Operation = {
  id: 'getAuthorizationServer',
  tag: 'Authorization',
  summary: 'Get the authorization server metadata: endpoints and supported features (RFC 8414)',
  replies: {
    200: {
      description: 'The discovery document.',
      headers: CACHED,
      contents: json(
        z.object({
          issuer: z.string(),
          authorization_endpoint: z.string(),
          token_endpoint: z.string(),
          jwks_uri: z.string(),
          revocation_endpoint: z.string(),
          scopes_supported: z.array(z.enum(SCOPES)),
          response_types_supported: z.array(z.literal('code')),
          response_modes_supported: z.array(z.literal('query')),
          grant_types_supported: z.array(z.enum(GRANT_TYPES)),
          token_endpoint_auth_methods_supported: z.array(z.string()),
          revocation_endpoint_auth_methods_supported: z.array(z.string()),
          code_challenge_methods_supported: z.array(z.literal('S256')),
          authorization_response_iss_parameter_supported: z.literal(true),
          service_documentation: z.string(),
        }),
      ),
    },
    304: { description: 'The document still has the ETag of If-None-Match.' },
  },
  problems: ['RATE_LIMITED'],
}

export const GET_KEYS: Operation = {
  id: 'getKeys',
  tag: 'Authorization',
  summary: 'Get the public keys that verify access tokens (RFC 7517)',
  description: 'The current signing key, the next one, and retired keys whose tokens may still be valid.',
  replies: {
    200: {
      description: 'The JWKS.',
      headers: CACHED,
      contents: json(
        z.object({
          keys: z.array(
            z.object({
              kty: z.literal('RSA'),
              use: z.literal('sig'),
              alg: z.literal('RS256'),
              kid: z.string().meta({ description: 'RFC 7638 thumbprint.' }),
              n: z.string(),
              e: z.string(),
            }),
          ),
        }),
      ),
    },
    304: { description: 'The document still has the ETag of If-None-Match.' },
  },
  problems: ['RATE_LIMITED'],
}
