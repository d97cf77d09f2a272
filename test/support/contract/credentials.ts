/** One credential of each kind that a client can present, and its permissions. */
import { randomBytes } from 'node:crypto'
import { createApiKey, type StoredApiKey } from '../../../internal/auth/api-keys.js'
import { SCOPES, type Scope } from '../../../internal/auth/scopes.js'
import { DEFAULT_SETTINGS, type Tenant } from '../../../internal/auth/tenant.js'
import { connectBroker } from '../../../internal/broker/connect.js'
import { deriveTenantIds, formatId } from '../../../internal/ids/ids.js'
import { API_KEYS, TENANTS } from '../../../streams/buckets.js'
import { gatewayEnvironment, type Instance } from '../service.js'
import { PARTNER_SCOPES, partnerToken, registerPartner } from './partner.js'
import { send, type Target } from './target.js'

export interface Credential {
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  /** The error code for any request with an invalid credential; else its scopes. */
  readonly worth: 'INVALID_CREDENTIALS' | 'EXPIRED' | ReadonlySet<string>
  /** Undefined when the credential has no tenant. */
  readonly tenantId: string | undefined
  /** Whether it is valid only for the partner API. */
  readonly isPartners?: true
}

const ALL: ReadonlySet<string> = new Set(SCOPES)

export async function credentialsFor(target: Target): Promise<readonly Credential[]> {
  const { credentials, service } = target
  const { tenant_id: tenantId, api_key: apiKey } = credentials
  const isSandbox = apiKey.startsWith('ak_test_')
  const invalid = (name: string, headers: Credential['headers']): Credential => ({
    name,
    headers,
    worth: 'INVALID_CREDENTIALS',
    tenantId: undefined,
  })
  const key = (text: string) => ({ 'x-api-key': text })
  const unstored = (mode: 'production' | 'sandbox') => makeKey(mode, tenantId, SCOPES).secret
  const mode = isSandbox ? 'sandbox' : 'production'
  return [
    invalid('none', {}),
    invalid('malformed key', key('garbage')),
    invalid('mistyped key', key(`${apiKey.slice(0, -1)}${apiKey.endsWith('0') ? '1' : '0'}`)),
    invalid('key that nobody issued', key(unstored(mode))),
    invalid('key of the other mode', key(unstored(isSandbox ? 'production' : 'sandbox'))),
    invalid('malformed token', { authorization: 'Bearer garbage' }),
    invalid('unsigned token', { authorization: `Bearer ${UNSIGNED}` }),
    invalid('basic credentials', { authorization: 'Basic YTpi' }),
    invalid('good key and bad token', { ...key(apiKey), authorization: 'Bearer garbage' }),
    { name: 'all scopes', headers: key(apiKey), worth: ALL, tenantId },
    ...(await tokens(target)),
    ...(await partners(target)),
    ...(service === undefined ? [] : await storedKeys(service, tenantId)),
  ]
}

/** Access tokens of the instance's first client. */
async function tokens({ credentials }: Target): Promise<Credential[]> {
  const { base_url, tenant_id: tenantId, api_key: apiKey, client_id, client_secret } = credentials
  const post = async (path: string, fields: Record<string, string>): Promise<{ access_token: string }> => {
    const body = new URLSearchParams({ client_id, client_secret, ...fields }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const { text } = await send(base_url, { method: 'POST', path, headers, body })
    return JSON.parse(text) as { access_token: string }
  }
  const tokenOf = async (scopes: readonly string[]): Promise<string> =>
    (await post('/v1/oauth/token', { grant_type: 'client_credentials', scope: scopes.join(' ') })).access_token
  const bearer = (token: string): Credential['headers'] => ({ authorization: `Bearer ${token}` })

  const [whole, narrow, revoked] = [await tokenOf(SCOPES), await tokenOf(['read:attribution']), await tokenOf(SCOPES)]
  await post('/v1/oauth/revoke', { token: revoked })
  const altered = `${whole.slice(0, -9)}${whole.at(-9) === 'A' ? 'B' : 'A'}${whole.slice(-8)}`
  const refused = { worth: 'INVALID_CREDENTIALS', tenantId: undefined } as const
  return [
    { name: 'token with all scopes', headers: bearer(whole), worth: ALL, tenantId },
    { name: 'key and token that agree', headers: { ...bearer(whole), 'x-api-key': apiKey }, worth: ALL, tenantId },
    { name: 'key and token that differ', headers: { ...bearer(narrow), 'x-api-key': apiKey }, ...refused },
    { name: 'token in the place of a key', headers: { 'x-api-key': whole }, ...refused },
    { name: 'key as a bearer', headers: bearer(apiKey), worth: ALL, tenantId },
    { name: 'revoked token', headers: bearer(revoked), ...refused },
    { name: 'altered token', headers: bearer(altered), ...refused },
    ...(await Promise.all(
      SCOPES.map(async (scope) => ({
        name: `token for ${scope} only`,
        headers: bearer(await tokenOf([scope])),
        worth: new Set([scope]),
        tenantId,
      })),
    )),
  ]
}

/** Tokens of a connector. */
async function partners({ credentials }: Target): Promise<Credential[]> {
  const partner = await registerPartner(credentials)
  const of = async (name: string, scopes: readonly string[]): Promise<Credential> => ({
    name,
    headers: { authorization: `Bearer ${await partnerToken(credentials, partner, scopes)}` },
    worth: new Set(scopes),
    tenantId: credentials.tenant_id,
    isPartners: true,
  })
  return [
    await of("partner's token with all scopes", PARTNER_SCOPES),
    ...(await Promise.all(PARTNER_SCOPES.map((scope) => of(`partner's token for ${scope} only`, [scope])))),
  ]
}

const UNSIGNED = [
  { alg: 'none', typ: 'at+jwt' },
  { sub: 'x', scope: SCOPES.join(' '), exp: 4_102_444_800 },
]
  .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .join('.')
  .concat('.')

/** Keys written directly to the key bucket of the instance. */
async function storedKeys(service: Instance, tenantId: string): Promise<Credential[]> {
  const other = formatId('tnt', randomBytes(16))
  const variants: readonly (readonly [string, string, readonly Scope[], Partial<StoredApiKey>, Credential['worth']])[] =
    [
      ['revoked key', tenantId, SCOPES, { status: 'revoked' }, 'INVALID_CREDENTIALS'],
      ['expired key', tenantId, SCOPES, { expires_at: '2026-01-01T00:00:00.000Z' }, 'EXPIRED'],
      [
        'key expired and revoked',
        tenantId,
        SCOPES,
        { expires_at: '2026-01-01T00:00:00.000Z', status: 'revoked' },
        'EXPIRED',
      ],
      ['key without scopes', tenantId, [], {}, new Set()],
      ["other tenant's key", other, SCOPES, {}, ALL],
      ...SCOPES.map((scope) => [`only ${scope}`, tenantId, [scope], {}, new Set([scope])] as const),
    ]
  const {
    ATTRIBUTION_NATS_URL: url = '',
    ATTRIBUTION_NATS_USER: user = '',
    ATTRIBUTION_NATS_PASSWORD: password = '',
  } = gatewayEnvironment(service)
  const broker = await connectBroker({ url, user, password, name: 'contract-test' })
  const otherTenant: Tenant = {
    id: other,
    name: 'Other',
    created_at: new Date(0).toISOString(),
    settings: { ...DEFAULT_SETTINGS, delegation: 'any' },
  }
  await (await broker.bucket(TENANTS)).create(other, JSON.stringify(otherTenant))
  const bucket = await broker.bucket(API_KEYS)
  const made: Credential[] = []
  for (const [name, tenant, scopes, more, worth] of variants) {
    const { stored, secret } = makeKey('production', tenant, scopes)
    await bucket.create(stored.id, JSON.stringify({ ...stored, ...more }))
    made.push({
      name,
      headers: { 'x-api-key': secret },
      worth,
      tenantId: typeof worth === 'string' ? undefined : tenant,
    })
  }
  await broker.close()
  return made
}

/** Authentication ignores the tenant tag in a key's id. */
const makeKey = (mode: 'production' | 'sandbox', tenantId: string, scopes: readonly Scope[]) =>
  createApiKey(
    mode,
    tenantId,
    deriveTenantIds(randomBytes(32), tenantId),
    { name: 'Of the contract test', scopes, expiresAt: null },
    new Date(),
  )
