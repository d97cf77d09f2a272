import { afterEach, expect, test, vi } from 'vitest'
import type { StoredProvider } from '../../../../internal/access/identity-provider/provider.js'
import { ProviderUnavailable, relyingParty } from '../../../../internal/access/identity-provider/relying-party.js'

const ISSUER = 'https://sso.example.com'
const SENT = 'what the provider sent'
const STORED = {
  name: 'Example SSO',
  issuer: ISSUER,
  id: 'idp_one',
  client_id: 'attribution',
  tenant_id: 'tnt_a',
  updated_at: '2026-11-30T00:00:00.000Z',
} as StoredProvider
const BEGAN = { state: 's', nonce: 'n', verifier: 'v'.repeat(43), maxAgeS: undefined, asksAgain: false }
const json = (text: string, status = 200) =>
  new Response(text, { status, headers: { 'content-type': 'application/json' } })

afterEach(() => vi.unstubAllGlobals())

test.each<[string, () => Response]>([
  [
    'it cannot be reached (ECONNREFUSED)',
    () => {
      const cause = Object.assign(new Error(SENT), { code: 'ECONNREFUSED' })
      throw new TypeError('fetch failed', { cause })
    },
  ],
  [
    'it did not answer in time',
    () => {
      throw new DOMException(SENT, 'TimeoutError')
    },
  ],
  [
    'it did not answer in time',
    () => {
      const cause = Object.assign(new Error(SENT), { code: 'UND_ERR_CONNECT_TIMEOUT' })
      throw new TypeError('fetch failed', { cause })
    },
  ],
  ['it answered with an unexpected status', () => json(JSON.stringify({ error: SENT }), 500)],
  ['its answer is not JSON', () => new Response(SENT, { headers: { 'content-type': 'text/html' } })],
  ['its answer is not JSON', () => json(SENT)],
  ['its answer is too long', () => json(JSON.stringify(SENT.repeat(100_000)))],
  ['its answer lacks a required field, or has one in another form', () => json(JSON.stringify({ name: SENT }))],
  [
    'it names another issuer than the one that is set',
    () => json(JSON.stringify({ issuer: `https://example.com/${encodeURI(SENT)}` })),
  ],
  ['its description lacks authorization_endpoint', () => json(JSON.stringify({ issuer: ISSUER }))],
  [
    'its description has no valid authorization_endpoint',
    () => json(JSON.stringify({ issuer: ISSUER, authorization_endpoint: SENT })),
  ],
  [
    'its answer cannot be used (only requests to HTTPS are allowed)',
    () => json(JSON.stringify({ issuer: ISSUER, authorization_endpoint: 'http://sso.example.com' })),
  ],
  [
    'it signs in accounts of any company; its issuer must name one',
    () => json(JSON.stringify({ issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0' })),
  ],
])('%s', async (words, answer) => {
  vi.stubGlobal('fetch', async () => answer())
  const party = relyingParty({ baseUrl: 'https://a.example.com', secretOf: () => 'secret', clock: Date.now })
  const issuer = words.startsWith('it signs') ? 'https://login.microsoftonline.com/common/v2.0' : ISSUER

  const cause = await party.begin({ ...STORED, issuer }, BEGAN).catch((thrown: unknown) => thrown)

  expect(cause).toBeInstanceOf(ProviderUnavailable)
  expect((cause as Error).message).toBe(words)
})

test('a client secret that cannot be opened is no fault of the provider', async () => {
  const cause = new Error('the secret does not open with this master key')
  const secretOf = () => {
    throw cause
  }
  const party = relyingParty({ baseUrl: 'https://a.example.com', secretOf, clock: Date.now })

  await expect(party.begin(STORED, BEGAN)).rejects.toBe(cause)
  await expect(party.check(STORED)).rejects.toBe(cause)
})
