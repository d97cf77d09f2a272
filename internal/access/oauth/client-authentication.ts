import type { Mode } from '../../auth/api-keys.js'
import { decodeFormText } from '../../text/query-string.js'
import { isClientSecret, type StoredClient } from './clients.js'
import type { Parameters } from './form.js'
import { type OAuthProblem, oauthProblem } from './oauth-errors.js'

export type ClientAuthentication =
  | { readonly ok: true; readonly client: StoredClient }
  | {
      readonly ok: false
      readonly problem: OAuthProblem
      /** The client whose id was sent, for the audit log; undefined for an unknown id. */
      readonly named?: StoredClient | undefined
    }

const refused = (error: 'invalid_request' | 'invalid_client', detail: string): ClientAuthentication => ({
  ok: false,
  problem: oauthProblem(error, detail),
})
const UNKNOWN = oauthProblem('invalid_client', 'Unknown client or wrong secret.')

/**
 * Authenticates a client by `client_secret_basic` or `client_secret_post` (RFC 6749 2.3.1), but not by both. A public
 * client only names itself: anybody can, so that its grants rest on the code with its verifier and on refresh tokens
 * used once.
 *
 * @param authorization value of the header, empty when absent
 */
export function authenticateClient(
  mode: Mode,
  findClient: (id: string) => StoredClient | undefined,
  authorization: string,
  form: Parameters,
): ClientAuthentication {
  const named = form.get('client_id')
  const posted = form.get('client_secret')
  if (authorization === '') {
    const known = named === undefined ? undefined : findClient(named)
    const isPublic = known?.is_public === true && known.status === 'active'
    if (posted === undefined && isPublic) return { ok: true, client: known }
    if (named === undefined || posted === undefined) return refused('invalid_client', 'The client must authenticate.')
    return check(mode, findClient, named, posted)
  }
  if (posted !== undefined) return refused('invalid_request', 'The client must authenticate in one way only.')
  const basic = readBasic(authorization)
  if (basic === undefined)
    return refused('invalid_client', 'The Authorization header must be Basic with client id and secret.')
  if (named !== undefined && named !== basic.id)
    return refused('invalid_request', 'client_id and the Authorization header name different clients.')
  return check(mode, findClient, basic.id, basic.secret)
}

function check(
  mode: Mode,
  findClient: (id: string) => StoredClient | undefined,
  id: string,
  secret: string,
): ClientAuthentication {
  const client = findClient(id)
  const isRight = isClientSecret(mode, client, secret)
  return isRight && client !== undefined ? { ok: true, client } : { ok: false, problem: UNKNOWN, named: client }
}

const BASIC = /^basic ([A-Za-z0-9+/]+={0,2})$/i

/** Both parts are form-encoded before they are joined (RFC 6749 2.3.1). */
function readBasic(authorization: string): { readonly id: string; readonly secret: string } | undefined {
  const encoded = BASIC.exec(authorization)?.[1] ?? ''
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded) return undefined
  const text = bytes.toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 0) return undefined
  const id = decodeFormText(text.slice(0, colon))
  const secret = decodeFormText(text.slice(colon + 1))
  return id === undefined || secret === undefined ? undefined : { id, secret }
}
