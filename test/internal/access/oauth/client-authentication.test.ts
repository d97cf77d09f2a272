import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { authenticateClient } from '../../../../internal/access/oauth/client-authentication.js'
import { createClient, type StoredClient } from '../../../../internal/access/oauth/clients.js'
import type { Mode } from '../../../../internal/auth/api-keys.js'
import { TENANT, TENANT_IDS } from '../../../support/api-keys.js'
import { FUZZ_CASES, FUZZ_MS_MAX } from '../../../support/fuzz.js'

const WANTED = {
  name: 'test',
  scopes: ['read:attribution'],
  grantTypes: ['client_credentials'],
  redirectUris: [],
} as const
const make = (mode: Mode = 'production') => createClient(mode, TENANT, TENANT_IDS, WANTED, new Date(0))

/** The result of a request to an authorization server with one client. */
function outcomeOf(client: StoredClient, authorization: string, form: Record<string, string> = {}): string {
  const find = (id: string): StoredClient | undefined => (id === client.id ? client : undefined)
  const outcome = authenticateClient('production', find, authorization, new Map(Object.entries(form)))
  return outcome.ok ? outcome.client.id : outcome.problem.error
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const basic = (id: string, secret: string): string =>
  `Basic ${base64(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}`

describe('an OAuth client', () => {
  const { stored, secret } = make()
  const fields = { client_id: stored.id, client_secret: secret }

  test('authenticates by the header or by the form', () => {
    expect(outcomeOf(stored, basic(stored.id, secret))).toBe(stored.id)
    expect(outcomeOf(stored, basic(stored.id, secret).replace('Basic', 'bASIC'))).toBe(stored.id)
    expect(outcomeOf(stored, '', fields)).toBe(stored.id)
  })

  test('may repeat its id in the form beside the header', () => {
    expect(outcomeOf(stored, basic(stored.id, secret), { client_id: stored.id })).toBe(stored.id)
    expect(outcomeOf(stored, basic(stored.id, secret), { client_id: 'cli_other' })).toBe('invalid_request')
  })

  test('has id and secret form-decoded', () => {
    const encoded = stored.id.replace('_', '%5F')

    expect(outcomeOf(stored, `Basic ${base64(`${encoded}:${secret.replaceAll('_', '%5F')}`)}`)).toBe(stored.id)
  })

  test('must not authenticate in two ways', () => {
    expect(outcomeOf(stored, basic(stored.id, secret), fields)).toBe('invalid_request')
    expect(outcomeOf(stored, basic(stored.id, secret), { client_secret: secret })).toBe('invalid_request')
  })

  test.each([
    ['without anything', '', {}],
    ['without its secret', '', { client_id: stored.id }],
    ['without its id', '', { client_secret: secret }],
    ['by another’s secret', '', { ...fields, client_secret: make().secret }],
    ['by another’s id', '', { ...fields, client_id: make().stored.id }],
    ['by a bearer token', `Bearer ${secret}`, {}],
    ['by no base64', `Basic ${stored.id}:${secret}`, {}],
    ['without a colon', `Basic ${base64(stored.id)}`, {}],
    ['by broken percent-encoding', `Basic ${base64(`${stored.id}:%`)}`, {}],
  ])('is refused %s', (_, authorization, form) => {
    expect(outcomeOf(stored, authorization, form)).toBe('invalid_client')
  })

  test('that is public names itself, presents no secret, and is the only kind that may', () => {
    const app = { ...stored, is_public: true } as const

    expect(outcomeOf(app, '', { client_id: app.id })).toBe(app.id)
    expect(outcomeOf(app, '', { client_id: app.id, client_secret: make().secret })).toBe('invalid_client')
    expect(outcomeOf(app, '', { client_id: app.id, client_secret: '' })).toBe('invalid_client')
    expect(outcomeOf(app, '', { client_id: make().stored.id })).toBe('invalid_client')
    expect(outcomeOf({ ...app, status: 'disabled' }, '', { client_id: app.id })).toBe('invalid_client')
    expect(outcomeOf(stored, '', { client_id: stored.id })).toBe('invalid_client')
  })

  test('that is disabled is refused', () => {
    expect(outcomeOf({ ...stored, status: 'disabled' }, basic(stored.id, secret))).toBe('invalid_client')
  })

  test('of the sandbox is refused, even if it is stored', () => {
    const sandbox = make('sandbox')

    expect(outcomeOf(sandbox.stored, basic(sandbox.stored.id, sandbox.secret))).toBe('invalid_client')
  })

  test('has no part of its secret in the stored record', () => {
    expect(JSON.stringify(stored)).not.toContain(secret.slice('cs_live_'.length, -4))
  })
})

test(
  'fuzzing: no other Authorization header authenticates, and none throws',
  () => {
    const { stored, secret } = make()
    const header = basic(stored.id, secret)
    const changed = fc
      .tuple(fc.nat(header.length), fc.nat(2), fc.string({ maxLength: 2 }))
      .map(([at, cut, inserted]) => header.slice(0, at) + inserted + header.slice(at + cut))
    const pairs = fc.tuple(fc.string(), fc.string()).map(([id, password]) => `Basic ${base64(`${id}:${password}`)}`)

    fc.assert(
      fc.property(fc.oneof(changed, pairs, fc.string({ unit: 'binary' })), (text) => {
        // Only the case of the scheme may differ.
        const isSame = text.slice(0, 6).toLowerCase() === 'basic ' && text.slice(6) === header.slice(6)
        if (!isSame) expect(outcomeOf(stored, text)).toBe('invalid_client')
      }),
      { numRuns: FUZZ_CASES },
    )
  },
  FUZZ_MS_MAX,
)
