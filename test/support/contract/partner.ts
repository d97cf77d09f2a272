/** A connector of the instance under test, and how it authenticates. */
import { randomUUID } from 'node:crypto'
import { SCOPES } from '../../../internal/auth/scopes.js'
import type { Credentials } from '../../../internal/local/supervisor/bootstrap.js'
import { send } from './target.js'

/** The source system used as the example in the description. */
const SOURCE_SYSTEM = 'data-cloud'
export const PARTNER_SCOPES = SCOPES.filter((scope) => scope !== 'admin:config')

export interface Partner {
  readonly id: string
  readonly client_id: string
  readonly client_secret: string
}

export async function registerPartner({ base_url, api_key }: Credentials): Promise<Partner> {
  const wanted = { name: 'Of the contract test', scopes: PARTNER_SCOPES, source_systems: [SOURCE_SYSTEM] }
  const { status, text } = await send(base_url, {
    method: 'POST',
    path: '/api/v1/connectors',
    headers: { 'x-api-key': api_key, 'content-type': 'application/json', 'idempotency-key': randomUUID() },
    body: JSON.stringify(wanted),
  })
  if (status !== 201) throw new Error(`the connector was rejected: ${text}`)
  return JSON.parse(text) as Partner
}

/** @param scopes default: those of the connector */
export async function partnerToken(
  { base_url }: Credentials,
  { client_id, client_secret }: Partner,
  scopes?: readonly string[],
): Promise<string> {
  const { text } = await send(base_url, {
    method: 'POST',
    path: '/api/partner/v1/oauth/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id,
      client_secret,
      ...(scopes && { scope: scopes.join(' ') }),
    }).toString(),
  })
  return (JSON.parse(text) as { access_token: string }).access_token
}
