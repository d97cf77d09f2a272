import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient } from '../../../../internal/access/oauth/clients.js'
import { createUser, type StoredUser } from '../../../../internal/access/oauth/users.js'
import type { AuditEntry } from '../../../../internal/auth/audit-entry.js'
import { TENANT, TENANT_IDS } from '../../../support/api-keys.js'
import { openBrowser } from '../../../support/browser.js'
import { launchOAuth } from '../../../support/oauth-server.js'

const CALLBACK = 'https://client.example/callback'
const PASSWORD = 'correct horse battery'
const VERIFIER = 'v'.repeat(43)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')
const created = createClient(
  'production',
  TENANT,
  TENANT_IDS,
  {
    name: 'Example',
    scopes: ['read:attribution', 'admin:config'],
    grantTypes: ['authorization_code', 'refresh_token'],
    redirectUris: [CALLBACK],
  },
  new Date(),
)
const client = created.stored
const NOW_MS = Date.now()

let server: Awaited<ReturnType<typeof launchOAuth>>
let ada: StoredUser
let bob: StoredUser
const audited: AuditEntry[] = []
const denied: string[] = []
/** Who has left, says the directory. */
const left = new Set<string>()
let denyTokensOf = async (id: string): Promise<void> => void denied.push(id)

beforeAll(async () => {
  const make = (username: string, scopes: StoredUser['scopes']) =>
    createUser(TENANT, TENANT_IDS, { username, password: PASSWORD, scopes }, new Date())
  ada = await make('ada', ['read:attribution'])
  bob = await make('bob', ['read:reporting'])
  server = await launchOAuth({
    people: [ada, bob],
    baseUrl: 'http://127.0.0.1',
    findClient: (id) => (id === client.id ? client : undefined),
    hasLeft: (_, username) => left.has(username),
    denyTokensOf: (id) => denyTokensOf(id),
    auditSink: { record: async (entry) => void audited.push(entry) },
    // The clock does not advance: ten password checks may take a while.
    clock: () => NOW_MS,
  })
})
afterAll(() => server.close())
beforeEach(() => {
  audited.length = 0
})

/** The audited actions: action, outcome, error code, actor and target. */
const auditedActions = () =>
  audited.map(({ tenantId, action, outcome, errorCode, actor, target }) => {
    expect(tenantId).toBe(TENANT)
    return [action, outcome, errorCode, actor, target]
  })

async function signIn(fields: Record<string, string>) {
  const browser = openBrowser()
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri: CALLBACK,
    scope: 'read:attribution admin:config',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
  })
  await browser.open(`${server.url}/v1/oauth/authorize?${query}`)
  return browser.submit({ decision: 'allow', ...fields })
}

async function post(path: 'token' | 'revoke', fields: Record<string, string>) {
  const answer = await fetch(`${server.url}/v1/oauth/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ client_id: client.id, client_secret: created.secret, ...fields }),
  })
  return { status: answer.status, json: (await answer.json()) as { refresh_token: string } }
}
const redeem = (code: string) =>
  post('token', { grant_type: 'authorization_code', code, code_verifier: VERIFIER, redirect_uri: CALLBACK })
const refresh = (token: string) => post('token', { grant_type: 'refresh_token', refresh_token: token })

/** A person's sign-in, up to the authorization code. */
async function code(): Promise<string> {
  const { location } = await signIn({ username: 'ada', password: PASSWORD })
  return location?.searchParams.get('code') ?? ''
}

test('a sign-in with the right password but none of the requested scopes is audited', async () => {
  const { location } = await signIn({ username: 'bob', password: PASSWORD })

  expect(location?.searchParams.get('error')).toBe('invalid_scope')
  expect(auditedActions()).toEqual([['session.sign_in', 'refused', 'INSUFFICIENT_SCOPE', bob.id, client.id]])
})

test('who has left does not sign in by the right password, however they spell their name', async () => {
  left.add('ada')

  const { location } = await signIn({ username: ' ADA', password: PASSWORD })
  left.clear()

  expect(location).toBeUndefined()
  expect(auditedActions()).toEqual([['session.sign_in', 'refused', 'INVALID_CREDENTIALS', null, ada.id]])
})

test.each(['', 'yes', 'Allow'])(
  'a form is refused unless the decision is allow or deny: decision=%s',
  async (decision) => {
    const { status, location } = await signIn({ username: 'ada', password: PASSWORD, decision })

    expect([status, location]).toEqual([400, undefined])
    expect(auditedActions()).toEqual([])
  },
)

test('a token response forbids caching to HTTP/1.0 and HTTP/1.1 caches', async () => {
  const answer = await fetch(`${server.url}/v1/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      client_id: client.id,
      client_secret: created.secret,
      grant_type: 'authorization_code',
      code: await code(),
      code_verifier: VERIFIER,
      redirect_uri: CALLBACK,
    }),
  })
  await answer.text()

  expect([answer.status, answer.headers.get('cache-control'), answer.headers.get('pragma')]).toEqual([
    200,
    'no-store',
    'no-cache',
  ])
})

test('a person’s denial is audited', async () => {
  const { location } = await signIn({ decision: 'deny' })

  expect(location?.searchParams.get('error')).toBe('access_denied')
  expect(auditedActions()).toEqual([['session.sign_in', 'refused', 'INVALID_CREDENTIALS', null, client.id]])
})

test('a rate-limited sign-in attempt is audited, for known and unknown people', async () => {
  for (let guess = 0; guess < 10; guess++) await signIn({ username: 'bob', password: `guess ${guess}` })

  expect((await signIn({ username: 'bob', password: PASSWORD })).status).toBe(429)

  expect(auditedActions().slice(9)).toEqual([
    ['session.sign_in', 'refused', 'INVALID_CREDENTIALS', null, bob.id],
    ['session.sign_in', 'refused', 'RATE_LIMITED', null, bob.id],
  ])
})

test('a person whose code is used twice is signed out, once', async () => {
  const twice = await code()
  await redeem(twice)
  audited.length = 0

  for (let again = 0; again < 2; again++) expect((await redeem(twice)).status).toBe(400)

  expect(auditedActions()).toEqual([
    ['session.sign_out', 'succeeded', null, client.id, ada.id],
    ['token.issue', 'refused', 'MALFORMED_REQUEST', client.id, client.id],
    ['token.issue', 'refused', 'MALFORMED_REQUEST', client.id, client.id],
  ])
})

test('a person whose refresh token is used twice is signed out, once', async () => {
  const { json } = await redeem(await code())
  await refresh(json.refresh_token)
  audited.length = 0

  for (let again = 0; again < 2; again++) expect((await refresh(json.refresh_token)).status).toBe(400)

  expect(auditedActions()).toEqual([
    ['session.sign_out', 'succeeded', null, client.id, ada.id],
    ['token.refresh', 'refused', 'MALFORMED_REQUEST', client.id, client.id],
    ['token.refresh', 'refused', 'MALFORMED_REQUEST', client.id, client.id],
  ])
})

test('a person whose refresh token is revoked is signed out, once', async () => {
  const { json } = await redeem(await code())
  audited.length = 0

  for (let again = 0; again < 2; again++) {
    expect((await post('revoke', { token: json.refresh_token })).status).toBe(200)
  }

  expect(auditedActions()).toEqual([
    ['session.sign_out', 'succeeded', null, client.id, ada.id],
    ['token.revoke', 'succeeded', null, client.id, client.id],
    ['token.revoke', 'succeeded', null, client.id, client.id],
  ])
})

test.each([
  ['revoked', async (token: string) => (await post('revoke', { token })).status],
  ['used twice', async (token: string) => (await refresh(token)).status],
])('a token that is %s again completes the revocation that failed first', async (_, again) => {
  const { json } = await redeem(await code())
  await refresh(json.refresh_token)
  const usual = denyTokensOf
  denyTokensOf = async () => {
    throw new Error('the broker is unavailable')
  }
  expect(await again(json.refresh_token)).toBe(500)
  denyTokensOf = usual
  denied.length = 0

  await again(json.refresh_token)

  expect(denied).toHaveLength(1)
})
