import type { IncomingMessage } from 'node:http'
import type { Credentials } from '../../auth/authenticate.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'

/**
 * The credentials of a request as the authenticator takes them. Besides what the API takes, Basic: many tools can send
 * nothing but a user and a password. The password is then the API key or the token; the user name is ignored.
 */
export function intakeCredentials({
  headersDistinct,
}: Pick<IncomingMessage, 'headersDistinct'>): Credentials | Problem {
  const [apiKey = '', ...otherKeys] = headersDistinct['x-api-key'] ?? []
  const [authorization = '', ...others] = headersDistinct['authorization'] ?? []
  if (otherKeys.length + others.length > 0) return REPEATED
  const basic = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.[1]
  if (basic === undefined) return { apiKey, authorization }
  const text = Buffer.from(basic, 'base64').toString('latin1')
  return { apiKey, authorization: `Bearer ${text.slice(text.indexOf(':') + 1)}` }
}

const REPEATED = problem('MALFORMED_REQUEST', 'Headers X-API-Key and Authorization must not be repeated.')
