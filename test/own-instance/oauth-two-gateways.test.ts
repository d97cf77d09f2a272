import { setTimeout as sleep } from 'node:timers/promises'
import * as client from 'openid-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StoredClient } from '../../internal/access/oauth/clients.js'
import { type StoredUser, userKey } from '../../internal/access/oauth/users.js'
import { consoleClientId, consoleRedirectUri } from '../../internal/auth/console-client.js'
import type { Broker } from '../../internal/broker/connect.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { API_KEYS, CLIENTS, USERS } from '../../streams/buckets.js'
import { openBrowser } from '../support/browser.js'
import { freeze, thaw } from '../support/freeze.js'
import { launchGateway } from '../support/gateway.js'
import { command, connectTo } from '../support/instance.js'
import { adminFields, beginFlow, discover, redeem, signIn } from '../support/oauth-client.js'
import type { Launched } from '../support/processes.js'
import { launchService, type RunningService } from '../support/service.js'

/** A revocation takes milliseconds; this is where a test gives up. */
const REACHED_MS_MAX = 5_000

let service: RunningService
let second: { readonly process: Launched; readonly baseUrl: string }
let broker: Broker

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-token', '1000', '--rate-read', '100000'] })
  const port = await freePort()
  second = { process: await launchGateway(service, port), baseUrl: `http://127.0.0.1:${port}` }
  while (!(await fetch(`${second.baseUrl}/readyz`)).ok) await sleep(20)
  broker = await connectTo(service)
})

afterAll(async () => {
  await broker.close()
  await second.process.kill('SIGTERM')
  await service.stop()
})

const statusAt = async (baseUrl: string, headers: Record<string, string>): Promise<number> =>
  (await fetch(`${baseUrl}/v1/attribution?limit=1`, { headers })).status

const both = (headers: Record<string, string>): Promise<number[]> =>
  Promise.all([service.baseUrl, second.baseUrl].map((baseUrl) => statusAt(baseUrl, headers)))

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

/** Until both gateways refuse it. */
async function refusedByBoth(headers: Record<string, string>): Promise<void> {
  const deadline = performance.now() + REACHED_MS_MAX
  while (String(await both(headers)) !== '401,401') {
    if (performance.now() > deadline) throw new Error('the revocation did not reach both gateways')
    await sleep(1)
  }
}

/** A person's tokens, by a sign-in at the first gateway. */
async function personTokens() {
  const flow = await beginFlow(service)
  return { config: flow.config, ...(await redeem(flow, await signIn(service, flow))) }
}

async function change<T extends object>(bucket: typeof CLIENTS | typeof USERS, key: string, changes: Partial<T>) {
  const kv = await broker.bucket(bucket)
  const stored = (await kv.get(key))?.json<T>()
  await kv.put(key, JSON.stringify({ ...stored, ...changes }))
}

/** Whether the first gateway serves. */
const isBack = (): Promise<boolean> =>
  fetch(`${service.baseUrl}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )

test('a token of one gateway is valid at the other, and its revocation at one holds at both', async () => {
  const config = await discover(service)
  const { access_token: token } = await client.clientCredentialsGrant(config)
  expect(await both(bearer(token))).toEqual([200, 200])

  await client.tokenRevocation(config, token)

  // Who revoked it is answered when its own gateway refuses the token.
  expect(await statusAt(service.baseUrl, bearer(token))).toBe(401)
  await refusedByBoth(bearer(token))
})

test('an authorization code of one gateway is redeemed once across all gateways', async () => {
  const flow = await beginFlow(service)
  const location = await signIn(service, flow)
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code: location.searchParams.get('code') ?? '',
    redirect_uri: `${location.origin}${location.pathname}`,
    code_verifier: flow.verifier,
    client_id: service.credentials.client_id,
    client_secret: service.credentials.client_secret,
  })

  const answers = await Promise.all(
    [service.baseUrl, second.baseUrl].map((baseUrl) =>
      fetch(`${baseUrl}/v1/oauth/token`, { method: 'POST', body: form }),
    ),
  )

  expect(answers.map(({ status }) => status).filter((status) => status === 200).length).toBeLessThanOrEqual(1)
  for (const answer of answers) {
    const { access_token: token } = (await answer.json()) as { access_token?: string }
    if (token !== undefined) await refusedByBoth(bearer(token))
  }
})

test('a refresh token that is reused at another gateway revokes its family at both', async () => {
  const { config, access_token: first, refresh_token: used = '' } = await personTokens()
  const { access_token: newer } = await client.refreshTokenGrant(config, used)
  expect(await both(bearer(newer))).toEqual([200, 200])

  const answer = await fetch(`${second.baseUrl}/v1/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: used,
      client_id: service.credentials.client_id,
      client_secret: service.credentials.client_secret,
    }),
  })

  expect(await answer.json()).toMatchObject({ error: 'invalid_grant' })
  for (const token of [first, newer]) await refusedByBoth(bearer(token))
})

test('disabling a user revokes access at both gateways at once, and enabling restores it', async () => {
  const { config, access_token: token, refresh_token: refreshToken = '' } = await personTokens()
  const key = userKey(service.credentials.tenant_id, service.credentials.admin_username)
  expect(await both(bearer(token))).toEqual([200, 200])

  await change<StoredUser>(USERS, key, { status: 'disabled' })
  await refusedByBoth(bearer(token))
  await expect(client.refreshTokenGrant(config, refreshToken)).rejects.toMatchObject({ error: 'invalid_grant' })

  await change<StoredUser>(USERS, key, { status: 'active' })
  while (String(await both(bearer(token))) !== '200,200') await sleep(1)
})

test('disabling a client revokes all its tokens, and it gets no new ones', async () => {
  const config = await discover(service)
  const { access_token: own } = await client.clientCredentialsGrant(config)
  const { access_token: persons } = await personTokens()
  expect(await both(bearer(own))).toEqual([200, 200])

  await change<StoredClient>(CLIENTS, service.credentials.client_id, { status: 'disabled' })
  for (const token of [own, persons]) await refusedByBoth(bearer(token))
  await expect(client.clientCredentialsGrant(config)).rejects.toMatchObject({ status: 401 })

  await change<StoredClient>(CLIENTS, service.credentials.client_id, { status: 'active' })
  while (String(await both(bearer(own))) !== '200,200') await sleep(1)
})

test('withdrawing a signing key invalidates its tokens at both gateways; new tokens are valid at both', async () => {
  const config = await discover(service)
  // The ring of the template may be old enough for a planned rotation by now.
  const { access_token: first } = await client.clientCredentialsGrant(config)
  expect(await command(service, ['signing-key', 'rotate', '--emergency'])).toMatchObject({ code: 0 })
  await refusedByBoth(bearer(first))
  const { access_token: old } = await client.clientCredentialsGrant(config)
  expect(await both(bearer(old))).toEqual([200, 200])

  const planned = await command(service, ['signing-key', 'rotate'])
  expect(planned).toMatchObject({ code: 1, lines: [expect.stringContaining('use --emergency')] })
  expect(await both(bearer(old))).toEqual([200, 200])
  expect(await command(service, ['signing-key', 'rotate', '--emergency'])).toMatchObject({ code: 0 })

  await refusedByBoth(bearer(old))
  const { access_token: fresh } = await client.clientCredentialsGrant(config)
  expect(await both(bearer(fresh))).toEqual([200, 200])
})

test('a revoked API key is refused at both gateways at once', async () => {
  const apiKeys = await broker.bucket(API_KEYS)
  const headers = { 'x-api-key': service.credentials.api_key }
  const id = `key_${service.credentials.api_key.split('_')[2]}`
  const stored = (await apiKeys.get(id))?.json<object>()
  expect(await both(headers)).toEqual([200, 200])

  await apiKeys.put(id, JSON.stringify({ ...stored, status: 'revoked' }))

  await refusedByBoth(headers)
  await apiKeys.put(id, JSON.stringify(stored))
})

test('while the broker does not answer, no token is issued and the client gets Retry-After', async () => {
  const { client_id, client_secret } = service.credentials
  const ask = () =>
    fetch(`${service.baseUrl}/v1/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }),
    })

  await freeze(service.pid('nats'))
  const answer = await ask().finally(() => thaw(service.pid('nats')))

  expect(answer.status).toBe(503)
  expect(answer.headers.get('retry-after')).toBe('1')
  expect(await answer.json()).toMatchObject({
    error: 'temporarily_unavailable',
    error_code: 'SERVICE_UNAVAILABLE',
  })
  while ((await ask()).status !== 200) await sleep(50)
})

test('sign-ins and revocations survive kills of every gateway and of the broker', async () => {
  const kept = await personTokens()
  const revoked = await personTokens()
  await client.tokenRevocation(revoked.config, revoked.refresh_token ?? '')

  for (const role of ['nats', 'gateway']) process.kill(service.pid(role), 'SIGKILL')
  // The supervisor starts them again.
  while (await isBack()) await sleep(10)
  while (!(await isBack())) await sleep(50)

  expect(await statusAt(service.baseUrl, bearer(kept.access_token))).toBe(200)
  expect(await statusAt(service.baseUrl, bearer(revoked.access_token))).toBe(401)
  expect((await client.refreshTokenGrant(kept.config, kept.refresh_token ?? '')).access_token).toBeDefined()
})

test('a session of the console goes on at another gateway when its own is killed, and its sign-out holds at all', async () => {
  const clientId = consoleClientId(service.credentials.tenant_id) ?? ''
  const [redirectUri, verifier] = [consoleRedirectUri(service.baseUrl), client.randomPKCECodeVerifier()]
  const post = async (baseUrl: string, path: string, cookie: string, fields: Record<string, string> = {}) => {
    const answer = await fetch(`${baseUrl}/v1/oauth/console/${path}`, {
      method: 'POST',
      headers: { origin: service.baseUrl, cookie },
      body: new URLSearchParams({ client_id: clientId, ...fields }),
    })
    const { access_token: token = '' } = answer.status === 200 ? ((await answer.json()) as Record<string, string>) : {}
    return { status: answer.status, token, cookie: (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '' }
  }
  const page = openBrowser()
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  await page.open(`${service.baseUrl}/v1/oauth/authorize?${query}`)
  const code = (await page.submit(adminFields(service))).location?.searchParams.get('code') ?? ''

  const began = await post(service.baseUrl, 'sign-in', '', { code, redirect_uri: redirectUri, code_verifier: verifier })
  const lost = await post(service.baseUrl, 'token', began.cookie)
  process.kill(service.pid('gateway'), 'SIGKILL')
  // The browser has not read the last answer.
  const goesOn = await post(second.baseUrl, 'token', began.cookie)
  expect([began.status, goesOn.status, goesOn.cookie]).toEqual([200, 200, lost.cookie])
  while (!(await isBack())) await sleep(50)
  expect(await both(bearer(goesOn.token))).toEqual([200, 200])

  expect((await post(second.baseUrl, 'sign-out', goesOn.cookie)).status).toBe(204)

  await refusedByBoth(bearer(goesOn.token))
  for (const baseUrl of [service.baseUrl, second.baseUrl]) {
    expect((await post(baseUrl, 'token', goesOn.cookie)).status).toBe(400)
  }
})
