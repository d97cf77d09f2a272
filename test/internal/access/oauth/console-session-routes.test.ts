import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { StoredProvider } from '../../../../internal/access/identity-provider/provider.js'
import { createClient, findConsoleClient } from '../../../../internal/access/oauth/clients.js'
import { unguessable } from '../../../../internal/access/oauth/issue-token.js'
import { SESSION_IDLE_S_MAX, SESSION_LIFE_S_MAX } from '../../../../internal/access/oauth/sessions.js'
import { createUser, type StoredUser } from '../../../../internal/access/oauth/users.js'
import type { AuditEntry } from '../../../../internal/auth/audit-entry.js'
import { consoleClientId, consoleRedirectUri } from '../../../../internal/auth/console-client.js'
import { TENANT_IDS } from '../../../support/api-keys.js'
import { openBrowser } from '../../../support/browser.js'
import { launchOAuth } from '../../../support/oauth-server.js'

const TENANT = `tnt_${'0'.repeat(26)}`
const CLIENT = consoleClientId(TENANT) ?? ''
const BASE_URL = 'https://attribution.example'
const REDIRECT_URI = consoleRedirectUri(BASE_URL)
const PASSWORD = 'correct horse battery'
const VERIFIER = 'v'.repeat(43)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')
const other = createClient(
  'production',
  TENANT,
  TENANT_IDS,
  { isPublic: true, name: 'App', scopes: ['read:attribution'], grantTypes: ['refresh_token'], redirectUris: [] },
  new Date(),
).stored

let server: Awaited<ReturnType<typeof launchOAuth>>
let ada: StoredUser
let bob: StoredUser
let nowMs = Date.now()
let isBrokerUp = true
let provider: StoredProvider | undefined
const people: StoredUser[] = []
const audited: AuditEntry[] = []
const denied: string[] = []

beforeAll(async () => {
  const make = (username: string) =>
    createUser(TENANT, TENANT_IDS, { username, password: PASSWORD, scopes: ['read:attribution'] }, new Date())
  ada = await make('ada')
  bob = await make('bob')
  server = await launchOAuth({
    people,
    baseUrl: BASE_URL,
    findClient: (id) =>
      id === other.id
        ? other
        : findConsoleClient(id, BASE_URL, (tenantId) =>
            tenantId === TENANT ? { created_at: new Date(0).toISOString() } : undefined,
          ),
    tenantNameOf: () => 'Example Inc.',
    providerOf: () => provider,
    denyTokensOf: async (id) => void denied.push(id),
    auditSink: { record: async (entry) => void audited.push(entry) },
    isBrokerUp: () => isBrokerUp,
    clock: () => nowMs,
  })
})
afterAll(() => server.close())
beforeEach(() => {
  isBrokerUp = true
  people.splice(0, people.length, ada, bob)
  audited.length = 0
  denied.length = 0
})

const OWN = { origin: BASE_URL, 'sec-fetch-site': 'same-origin' }

async function post(
  path: 'sign-in' | 'token' | 'sign-out',
  { cookie = '', ...fields }: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = OWN,
) {
  const answer = await fetch(`${server.url}/v1/oauth/console/${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(cookie !== '' && { cookie }),
      ...headers,
    },
    body: new URLSearchParams(fields),
  })
  const text = await answer.text()
  return {
    status: answer.status,
    json: text === '' ? {} : JSON.parse(text),
    set: answer.headers.getSetCookie(),
    /** As the browser sends it. */
    cookie: (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '',
  }
}

const authorizeUrl = (): string =>
  `${server.url}/v1/oauth/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: CLIENT,
    redirect_uri: REDIRECT_URI,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
  })}`

/** As the sign-in page answers with it. */
const codeOf = (username: string): Promise<string> =>
  server.codes.issue(
    {
      tenant_id: TENANT,
      client_id: CLIENT,
      user_id: (username === 'ada' ? ada : bob).id,
      redirect_uri: REDIRECT_URI,
      scopes: ['read:attribution'],
      code_challenge: CHALLENGE,
      auth_time: Math.floor(nowMs / 1_000),
      session_id: unguessable(),
    },
    nowMs,
  )

const signInFields = async (username: string) => ({
  client_id: CLIENT,
  code: await codeOf(username),
  code_verifier: VERIFIER,
  redirect_uri: REDIRECT_URI,
})
const signIn = async (cookie = '', username = 'ada') => post('sign-in', { ...(await signInFields(username)), cookie })
const renew = (cookie: string, idleS = 0) => post('token', { client_id: CLIENT, cookie, idle_s: String(idleS) })

describe('a session of the console', () => {
  test('begins with a code, and has its refresh token in a cookie alone', async () => {
    const { status, json, set } = await signIn()

    expect(status).toBe(200)
    expect(set).toEqual([
      expect.stringMatching(/^__Host-attribution-cli_0+=rt_\S+; .*HttpOnly; SameSite=Strict; Secure/),
    ])
    expect(json).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 900,
      scope: 'read:attribution',
      user: { id: ada.id, username: 'ada' },
      tenant: { id: TENANT, name: 'Example Inc.' },
    })
  })

  test('goes on by its cookie, which is another one after a minute, while the one before ends it', async () => {
    const first = (await signIn()).cookie
    const second = (await renew(first)).cookie
    nowMs += 60_000
    const third = (await renew(second)).cookie
    expect(new Set([first, second, third]).size).toBe(3)

    // As somebody who has copied it would.
    expect((await renew(first)).status).toBe(400)
    expect((await renew(third)).status).toBe(400)
    expect(denied).toHaveLength(2)
  })

  test('survives an answer that never came, and tabs that load at once', async () => {
    const first = (await signIn()).cookie
    const answers = await Promise.all([renew(first), renew(first), renew(first)])

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(answers.map(({ cookie }) => cookie)).size).toBe(1)
    expect((await renew(first)).cookie).toBe(answers[0]?.cookie)
  })

  test('ends 30 days after the sign-in, however often it was used', async () => {
    const { cookie } = await signIn()
    nowMs += SESSION_LIFE_S_MAX * 1_000 - 1_000
    const last = await renew(cookie)
    nowMs += 60_000

    expect(last.status).toBe(200)
    expect((await renew(last.cookie)).status).toBe(400)
  })

  test('ends after a week in which nobody used the page, although the page asks by itself', async () => {
    const beganMs = nowMs
    let { cookie, status } = await signIn()
    let days = 0
    for (; status === 200 && days < 30; days++) {
      ;({ cookie, status } = await renew(cookie, (nowMs - beganMs) / 1_000))
      nowMs += 24 * 60 * 60 * 1_000
    }

    expect(days).toBe(SESSION_IDLE_S_MAX / (24 * 60 * 60) + 1)
  })

  test('ends when the person is disabled, or has a new password', async () => {
    const { cookie } = await signIn()
    people.splice(0, 1, { ...ada, signed_in_from: Math.floor(nowMs / 1_000) + 1 })
    expect((await renew(cookie)).status).toBe(400)
    people.splice(0, 1, { ...ada, status: 'disabled' })
    expect((await renew(cookie)).status).toBe(400)
    people.splice(0, 1, ada)
    expect((await renew(cookie)).status).toBe(200)
  })

  test('is replaced by a sign-in in the same browser, also of somebody else', async () => {
    const first = (await signIn()).cookie
    const second = await signIn(first, 'bob')
    await expect.poll(() => denied.length).toBe(1)

    expect((await renew(first)).status).toBe(400)
    expect((await renew(second.cookie)).json.user.username).toBe('bob')
    expect(audited).toContainEqual(expect.objectContaining({ action: 'session.sign_out', target: ada.id }))
  })

  test('ends at the sign-out with all others of the browser, which forgets them', async () => {
    const { cookie } = await signIn()
    audited.length = 0
    const out = await post('sign-out', { cookie: `${cookie}; __Host-attribution-cli_two=rt_x; theme=dark` })

    expect(out.status).toBe(204)
    expect(out.set).toEqual([
      expect.stringMatching(/^__Host-attribution-cli_0+=; .*Max-Age=0$/),
      expect.stringMatching(/^__Host-attribution-cli_two=; .*Max-Age=0$/),
    ])
    expect((await renew(cookie)).status).toBe(400)
    expect(audited[0]).toMatchObject({ action: 'session.sign_out', tenantId: TENANT, target: ada.id })
  })

  test('is forgotten by the browser also where it cannot be ended', async () => {
    const { cookie } = await signIn()
    isBrokerUp = false
    const out = await post('sign-out', { cookie })

    expect([out.status, out.set.length]).toEqual([503, 1])
  })
})

describe('refused is', () => {
  const FOREIGN = [
    ['another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['another host of the same site', { origin: 'https://evil.attribution.example', 'sec-fetch-site': 'same-site' }],
    ['a page without an origin', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ['what does not say where it comes from', {}],
    ['what claims to be ours, by the word of the browser', { origin: BASE_URL, 'sec-fetch-site': 'cross-site' }],
  ] as const

  test.each(FOREIGN)('a sign-in by %s (login CSRF), whose code stays unused', async (_, headers) => {
    const fields = await signInFields('bob')
    const refused = await post('sign-in', fields, headers)

    expect([refused.status, refused.set]).toEqual([400, []])
    expect((await post('sign-in', fields)).status).toBe(200)
  })

  test.each(FOREIGN)('a token or sign-out for %s', async (_, headers) => {
    const { cookie } = await signIn()

    expect((await post('token', { client_id: CLIENT, cookie }, headers)).status).toBe(400)
    expect((await post('sign-out', { cookie }, headers)).status).toBe(400)
    expect((await renew(cookie)).status).toBe(200)
  })

  test('a browser without a cookie, of which nothing is audited', async () => {
    expect((await renew('')).json.error).toBe('invalid_grant')
    expect(audited).toEqual([])
  })

  test('another client', async () => {
    expect((await post('token', { client_id: other.id })).status).toBe(400)
  })

  test('the console at the endpoint of all clients, whose answers scripts can read', async () => {
    const answer = await fetch(`${server.url}/v1/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: 'authorization_code', ...(await signInFields('ada')) }),
    })

    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: 'unauthorized_client' })
  })
})

describe('the sign-in page of the console', () => {
  test('asks for no consent', async () => {
    const { text } = await openBrowser().open(authorizeUrl())

    expect(text).toContain('Example Inc.')
    expect(text).not.toMatch(/requests access|and allow/)
  })

  test('is left out where the company’s provider is the only way in', async () => {
    provider = { name: 'Example SSO', issuer: 'https://sso.example', only: true } as StoredProvider
    const { status, location, headers } = await openBrowser().open(authorizeUrl())
    provider = undefined

    expect([status, location?.pathname]).toEqual([303, '/v1/oauth/provider'])
    expect(headers.getSetCookie()).toEqual([expect.stringMatching(/^__Host-sign-in=/)])
  })
})
