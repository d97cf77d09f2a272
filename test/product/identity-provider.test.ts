import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Asked, ask } from '../support/ask.js'
import { type Answer, type Browser, openBrowser } from '../support/browser.js'
import { setIdentityProvider } from '../support/instance.js'
import { adminFields, beginFlow, redeem, signIn } from '../support/oauth-client.js'
import { type OpenIdProvider, openOpenIdProvider } from '../support/oidc-provider.js'
import { follow, linkOn, overProvider, tokenOverProvider } from '../support/over-provider.js'
import { newTenantOfProduct } from '../support/product.js'
import { scriptedProvider } from '../support/scripted-provider.js'
import type { Instance } from '../support/service.js'

/** People who sign in at their company's OpenID provider, and the second factor of those who sign in by password. */

let service: Instance
let provider: OpenIdProvider

beforeAll(async () => {
  service = await newTenantOfProduct()
  provider = await openOpenIdProvider()
  await setProvider()
})
afterAll(() => provider.close())

const CALLBACK = /\/v1\/oauth\/callback\/idp_[0-9a-z]{26}$/
let registered = ''
async function setProvider(members: object = {}): Promise<void> {
  const stated = {
    name: 'Example SSO',
    issuer: provider.issuer,
    client_id: provider.clientId,
    groups: [
      { group: 'finance', scopes: ['read:reporting'], team: 'team-finance' },
      { group: 'platform', scopes: ['read:reporting', 'admin:config'], owner: true },
    ],
    ...members,
  }
  const { code, lines } = await setIdentityProvider(service, stated, provider.clientSecret)
  expect([code, lines]).toEqual([0, [expect.stringMatching(CALLBACK)]])
  const address = service.baseUrl + (CALLBACK.exec(lines[0] ?? '')?.[0] ?? '')
  if (stated.issuer === provider.issuer && address !== registered) provider.register(address)
  registered = address
}

const admin = (method: string, path: string, body?: unknown): Promise<Asked> =>
  ask(service.baseUrl, method, path, { 'x-api-key': service.credentials.api_key }, body)

const asPerson = (token: string, method: string, path: string, body?: unknown): Promise<Asked> =>
  ask(service.baseUrl, method, path, { authorization: `Bearer ${token}` }, body)

const ada = { sub: 'subject-of-ada', claims: { preferred_username: 'Ada', groups: ['finance'] } }
const userNamed = async (name: string) =>
  ((await admin('GET', '/api/v1/users?limit=200')).json.data as { username: string; id: string }[]).find(
    ({ username }) => username === name,
  )

test('a person is made at their first sign-in, and may do what their groups give at each', async () => {
  provider.person = ada
  // The command's write reaches the gateway within moments.
  await expect.poll(async () => linkOn(await openBrowser().open((await beginFlow(service)).address))).not.toBe('')
  expect((await admin('GET', '/api/v1/settings')).json.identity_provider).toEqual({
    name: 'Example SSO',
    issuer: provider.issuer,
    only: false,
    id: registered.split('/').at(-1),
  })
  const first = await tokenOverProvider(service)

  expect(first.scope).toBe('read:reporting')
  expect(await userNamed('ada')).toMatchObject({
    scopes: ['read:reporting'],
    signs_in_by: 'identity_provider',
    owner: false,
    second_factor: false,
  })
  const { json: directory } = await admin('GET', '/api/v1/directory/identities?limit=200')
  expect(directory.data).toContainEqual(expect.objectContaining({ name: 'Ada', owner: 'team-finance' }))

  provider.person = { ...ada, claims: { ...ada.claims, groups: ['platform'] } }
  expect((await tokenOverProvider(service)).scope).toBe('read:reporting admin:config')
  expect(await userNamed('ada')).toMatchObject({ scopes: ['read:reporting', 'admin:config'], owner: true })

  provider.person = ada
  expect((await tokenOverProvider(service)).scope).toBe('read:reporting')
  expect(await userNamed('ada')).toMatchObject({ scopes: ['read:reporting'], owner: false })
  const audited = async (action: string): Promise<number> => {
    const { json } = await admin('GET', '/api/v1/audit-log?limit=100')
    return (json.data as { action: string }[]).filter((entry) => entry.action === action).length
  }
  await expect.poll(() => Promise.all(['user.create', 'user.update'].map(audited))).toEqual([1, 2])
})

test('who is in no known group, cancels, or has somebody else’s name gets access_denied with the reason', async () => {
  const refusals = [
    [{ sub: 's2', claims: { preferred_username: 'bob', groups: ['interns'] } }, 'None of your groups'],
    [undefined, 'did not confirm'],
    [{ sub: 's3', claims: { preferred_username: 'ADA', groups: ['finance'] } }, 'A person named ada exists'],
    [
      { sub: 's4', claims: { preferred_username: service.credentials.admin_username, groups: ['platform'] } },
      'exists here',
    ],
  ] as const
  for (const [person, reason] of refusals) {
    provider.person = person
    const { location } = await overProvider(service)

    expect(location.searchParams.get('error')).toBe('access_denied')
    expect(location.searchParams.get('error_description')).toContain(reason)
  }
  expect(await userNamed('bob')).toBeUndefined()
})

test('a recent sign-in is one at the provider: it asks the person again', async () => {
  provider.person = { ...ada, claims: { ...ada.claims, groups: ['platform'] } }
  const flow = await beginFlow(service, 'admin:config')
  const browser = openBrowser()
  const start = async () => follow(browser, new URL(linkOn(await browser.open(flow.address)), service.baseUrl))
  await start()
  const asked = provider.asked()
  await start()
  expect(provider.asked()).toBe(asked) // The browser is signed in at the provider.

  flow.address.searchParams.set('max_age', '0')
  const { access_token: token } = await redeem(flow, await start())

  expect(provider.asked()).toBe(asked + 1)
  const body = { scopes: ['read:reporting'], name: 'made by Ada' }
  expect((await asPerson(token, 'POST', '/api/v1/clients', body)).status).toBe(201)
})

test('an answer belongs to the browser and the sign-in that began, and is taken once', async () => {
  provider.person = ada
  const flow = await beginFlow(service, 'read:reporting')
  const browser = openBrowser()
  const start = new URL(linkOn(await browser.open(flow.address)), service.baseUrl)
  const { location: toProvider } = await browser.open(start)
  let answer = toProvider as URL
  while (!CALLBACK.test(answer.pathname)) answer = (await browser.open(answer)).location as URL

  expect((await openBrowser().open(answer)).status).toBe(400)
  expect((await openBrowser().open(start)).status).toBe(400)
  const forged = new URL(answer)
  forged.searchParams.set('state', `${forged.searchParams.get('state')}x`)
  expect((await browser.open(forged)).status).toBe(400)
  expect((await browser.open(answer)).location?.searchParams.get('code')).not.toBeNull()
  expect((await browser.open(answer)).location?.searchParams.get('error')).toBe('access_denied')
})

test('an answer at the address of another provider, or at a shared one, is not taken (mix-up)', async () => {
  provider.person = ada
  const flow = await beginFlow(service, 'read:reporting')
  const browser = openBrowser()
  const page = await browser.open(flow.address)
  let answer = (await browser.open(new URL(linkOn(page), service.baseUrl))).location as URL
  while (!CALLBACK.test(answer.pathname)) answer = (await browser.open(answer)).location as URL

  for (const path of [`/v1/oauth/callback/idp_${'0'.repeat(26)}`, '/v1/oauth/callback']) {
    const elsewhere = new URL(answer)
    elsewhere.pathname = path
    expect((await browser.open(elsewhere)).status).toBe(401)
  }
  // The code was not redeemed.
  expect((await browser.open(answer)).location?.searchParams.get('code')).not.toBeNull()
  const { name } = (await admin('GET', '/api/v1/settings')).json
  expect(page.text).toContain(`<strong>${name}</strong>`)
  expect(page.text).toContain(`Sign in with Example SSO and allow</a> (at ${new URL(provider.issuer).host})`)
})

test('the set-up check says what works; nobody else’s provider can be checked', async () => {
  const check = (id: string) => admin('POST', `/api/v1/identity-providers/${id}/check`)
  const id = registered.split('/').at(-1) ?? ''

  const { status, json } = await check(id)

  expect([status, json.redirect_uri]).toEqual([200, registered])
  const verdicts = Object.fromEntries(
    json.findings.map((each: Record<string, string>) => [each['aspect'], each['verdict']]),
  )
  expect(verdicts).toMatchObject({ description: 'works', sign_in: 'works', signatures: 'works', groups: 'works' })
  expect((await check(`idp_${'0'.repeat(26)}`)).status).toBe(403)
  const reader = await admin('POST', '/api/v1/api-keys', { name: 'reader', scopes: ['read:reporting'] })
  const path = `/api/v1/identity-providers/${id}/check`
  const refused = await ask(service.baseUrl, 'POST', path, { 'x-api-key': reader.json.secret })
  expect([refused.status, refused.json.error_code]).toEqual([403, 'INSUFFICIENT_SCOPE'])
})

test('without auth_time a recent sign-in is refused with the reason; one that is too old is asked for again, once', async () => {
  const scripted = await scriptedProvider()
  await setProvider({ issuer: scripted.issuer })
  const id = registered.split('/').at(-1)
  await expect.poll(async () => (await admin('GET', '/api/v1/settings')).json.identity_provider.id).toBe(id)
  const nowS = () => Math.floor(Date.now() / 1_000)
  const back = async (browser: Browser, toProvider: URL) =>
    (await browser.open(scripted.answer(toProvider))).location as URL
  const begin = async () => {
    const flow = await beginFlow(service, 'read:reporting')
    flow.address.searchParams.set('max_age', '900')
    const browser = openBrowser()
    const page = await browser.open(flow.address)
    return { browser, toProvider: (await browser.open(new URL(linkOn(page), service.baseUrl))).location as URL }
  }
  const claims = { preferred_username: 'eve', groups: ['finance'] }

  scripted.script.idToken = claims
  const unknown = await begin()
  const refused = await back(unknown.browser, unknown.toProvider)
  expect(refused.searchParams.get('error')).toBe('access_denied')
  expect(refused.searchParams.get('error_description')).toContain('the claim auth_time')

  scripted.script.idToken = { ...claims, auth_time: nowS() - 1_200 }
  const old = await begin()
  const again = await back(old.browser, old.toProvider)
  expect([again.origin, again.searchParams.get('prompt')]).toEqual([scripted.issuer, 'login'])
  const stubborn = await back(old.browser, again)
  expect(stubborn.searchParams.get('error_description')).toContain('did not ask you to sign in again')

  scripted.script.idToken = { ...claims, auth_time: nowS() }
  const recent = await begin()
  expect((await back(recent.browser, recent.toProvider)).searchParams.get('code')).not.toBeNull()

  scripted.script.idToken = { preferred_username: 'eve', hasgroups: true }
  const { browser, toProvider } = await begin()
  expect((await back(browser, toProvider)).searchParams.get('error_description')).toContain('overage')
  const audited = async () => (await admin('GET', '/api/v1/audit-log?limit=20')).json.data as { changes?: unknown }[]
  await expect.poll(async () => JSON.stringify(await audited())).toContain('overage')
  await setProvider()
})

test('who has left, says SCIM, is signed out at once and cannot come back', async () => {
  provider.person = ada
  const flow = await beginFlow(service, 'read:reporting')
  const browser = openBrowser()
  const start = async () => follow(browser, new URL(linkOn(await browser.open(flow.address)), service.baseUrl))
  const { access_token: token } = await redeem(flow, await start())
  expect((await asPerson(token, 'GET', '/v1/reports/usage')).status).toBe(200)
  const { json: found } = await admin('GET', `/scim/v2/Users?filter=${encodeURIComponent('userName eq "Ada"')}`)
  const [user] = found.Resources as { id: string }[]
  const active = (value: boolean) =>
    admin('PATCH', `/scim/v2/Users/${user?.id}`, {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
      Operations: [{ op: 'replace', path: 'active', value }],
    })

  expect((await active(false)).status).toBe(200)
  await expect.poll(async () => (await asPerson(token, 'GET', '/v1/reports/usage')).status).toBe(401)
  expect((await start()).searchParams.get('error_description')).toBe('The directory says that you have left.')

  await active(true)
  // Nobody comes back within the second in which they left; times of sign-ins are whole seconds.
  const leftS = Math.floor(Date.now() / 1_000)
  await expect.poll(() => Math.floor(Date.now() / 1_000)).toBeGreaterThan(leftS)
  // They authenticated at the provider before they left: it asks again, although the browser is signed in there.
  const asked = provider.asked()
  await redeem(flow, await start())
  expect(provider.asked()).toBeGreaterThan(asked)
})

test('a person of the provider has no password, and where the provider is the only way nobody has', async () => {
  const user = await userNamed('ada')
  const set = await admin('PATCH', `/api/v1/users/${user?.id}`, { password: 'correct horse battery' })
  expect([set.status, set.json.error_code]).toEqual([409, 'CONFLICT'])

  await setProvider({ only: true })
  const open = async (): Promise<{ browser: Browser; page: Answer }> => {
    const browser = openBrowser()
    return { browser, page: await browser.open((await beginFlow(service)).address) }
  }
  await expect.poll(async () => (await open()).page.text).not.toContain('name="password"')
  const { browser, page } = await open()
  expect(linkOn(page)).not.toBe('')
  expect((await browser.submit(adminFields(service))).status).toBe(401)
  await setProvider({ only: false })
  await expect.poll(async () => (await open()).page.text).toContain('name="password"')
  await signIn(service, await beginFlow(service))
})

test('a provider that cannot be reached is said, and the password still works', async () => {
  await setProvider({ issuer: 'http://127.0.0.1:9' })
  const flow = await beginFlow(service)
  const attempt = async (): Promise<number> => {
    const browser = openBrowser()
    const page = await browser.open(flow.address)
    return (await browser.open(new URL(linkOn(page), service.baseUrl))).status
  }
  await expect.poll(attempt).toBe(503)
  await redeem(flow, await signIn(service, flow))
  await setProvider()
})

test('where the tenant wants a second factor, people set it up at their next sign-in and then use it', async () => {
  await admin('PATCH', '/api/v1/settings', { require_second_factor: true })
  const secretOn = ({ text }: Answer): string => (/Key: <code>([^<]+)</.exec(text)?.[1] ?? '').replaceAll(' ', '')
  const codeOf = (secret: string, steps = 0): string =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 })
  const flow = await beginFlow(service)
  const browser = openBrowser()
  let setUp: Answer | undefined
  await expect
    .poll(async () => {
      await browser.open(flow.address)
      setUp = await browser.submit(adminFields(service))
      return setUp.status
    })
    .toBe(200)
  const secret = secretOn(setUp as Answer)

  expect(setUp?.text).toContain('<svg')
  const wrong = await browser.submit({ code: '000000', decision: 'allow' })
  expect([wrong.status, wrong.text.includes('The code is wrong')]).toEqual([401, true])
  const code = codeOf(secret)
  const { location } = await browser.submit({ code, decision: 'allow' })
  await redeem(flow, location as URL)
  const named = service.credentials.admin_username
  expect(await userNamed(named)).toMatchObject({ second_factor: true })

  // The next sign-in asks for a code, shows no secret, and takes no code twice.
  const again = await beginFlow(service)
  const other = openBrowser()
  await other.open(again.address)
  const asked = await other.submit(adminFields(service))
  expect([asked.status, secretOn(asked)]).toEqual([200, ''])
  expect((await other.submit({ code, decision: 'allow' })).status).toBe(401)
  const next = await other.submit({ code: codeOf(secret, 1), decision: 'allow' })
  const { access_token: token } = await redeem(again, next.location as URL)

  // An owner helps a person who has lost the app.
  const user = await userNamed(named)
  expect((await asPerson(token, 'PATCH', `/api/v1/users/${user?.id}`, { second_factor: false })).status).toBe(200)
  expect(await userNamed(named)).toMatchObject({ second_factor: false })
  await admin('PATCH', '/api/v1/settings', { require_second_factor: false })
  await expect
    .poll(async () => {
      const last = await beginFlow(service)
      const page = openBrowser()
      await page.open(last.address)
      return (await page.submit(adminFields(service))).status
    })
    .toBe(303)
})
