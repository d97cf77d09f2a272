import { setTimeout as sleep } from 'node:timers/promises'
import * as client from 'openid-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { type Asked, ask } from '../support/ask.js'
import { openBrowser } from '../support/browser.js'
import { launchGateway } from '../support/gateway.js'
import { adminFields, beginFlow, discover, redeem, signIn } from '../support/oauth-client.js'
import type { Launched } from '../support/processes.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** Clients and people made at one gateway, and what their tokens are worth at both. */

const RECORDS = '/v1/attribution?limit=1'
let service: Instance
let second: { process: Launched; baseUrl: string }

beforeAll(async () => {
  service = await newTenantOfProduct()
  const port = await freePort()
  second = { process: await launchGateway(service, port), baseUrl: `http://127.0.0.1:${port}` }
  while (!(await fetch(`${second.baseUrl}/readyz`)).ok) await sleep(20)
})
afterAll(async () => {
  await second.process.kill('SIGTERM')
})

const admin = (method: string, path: string, body?: unknown, baseUrl = service.baseUrl): Promise<Asked> =>
  ask(baseUrl, method, path, { 'x-api-key': service.credentials.api_key }, body)

/** The instance, with other credentials in the place of its first ones. */
const withCredentials = (credentials: Partial<Instance['credentials']>): Instance => ({
  ...service,
  credentials: { ...service.credentials, ...credentials },
})

const statusAt = async ({ baseUrl }: { readonly baseUrl: string }, token: string, path = RECORDS): Promise<number> =>
  (await ask(baseUrl, 'GET', path, { authorization: `Bearer ${token}` })).status

/** Word of a change reaches the other gateway within moments. */
async function untilStatus(expected: number, token: string, path?: string): Promise<void> {
  for (const gateway of [service, second]) while ((await statusAt(gateway, token, path)) !== expected);
}

test('tokens of a new client carry the client’s current permissions at every gateway', async () => {
  const { json: made } = await admin('POST', '/api/v1/clients', {
    name: 'Job',
    scopes: ['read:attribution', 'read:reporting'],
  })
  const path = `/api/v1/clients/${made.id}`
  const job = withCredentials({ client_id: made.id, client_secret: made.client_secret })
  const tokens = await client.clientCredentialsGrant(await discover(job))
  expect(tokens.scope).toBe('read:attribution read:reporting')
  await untilStatus(200, tokens.access_token)

  await admin('PATCH', path, { scopes: ['read:reporting'] }, second.baseUrl)
  await untilStatus(403, tokens.access_token)
  expect((await admin('PATCH', path, { scopes: ['read:attribution'] })).status).toBe(422)
  const { json: widened } = await admin('POST', `${path}/rotate-secret`, { scopes: ['read:attribution'] })
  const wider = withCredentials({ client_id: made.id, client_secret: widened.client_secret })
  expect((await client.clientCredentialsGrant(await discover(wider))).scope).toBe('read:attribution')
  await untilStatus(200, tokens.access_token)
  await admin('PATCH', path, { status: 'disabled' })
  await untilStatus(401, tokens.access_token)
  await expect(client.clientCredentialsGrant(await discover(wider))).rejects.toThrow()
  await admin('PATCH', path, { status: 'active' })
  await untilStatus(200, tokens.access_token)

  const { json: rotated } = await admin('POST', `${path}/rotate-secret`)
  await expect(client.clientCredentialsGrant(await discover(wider))).rejects.toThrow()
  const renewed = withCredentials({ client_id: made.id, client_secret: rotated.client_secret })
  const { access_token } = await client.clientCredentialsGrant(await discover(renewed))
  await untilStatus(200, access_token)
  expect(await statusAt(service, tokens.access_token)).toBe(200)

  expect((await admin('DELETE', path)).status).toBe(204)
  await untilStatus(401, tokens.access_token)
  await untilStatus(401, access_token)
})

test('a new user signs in, and a password change ends earlier sign-ins', async () => {
  const { json: made } = await admin('POST', '/api/v1/users', {
    username: 'Grace',
    scopes: ['read:attribution', 'admin:config'],
  })
  const grace = (password: string) => withCredentials({ admin_username: 'grace', admin_password: password })
  const signInAs = async (person: Instance) => {
    const flow = await beginFlow(person)
    return { flow, tokens: await redeem(flow, await signIn(person, flow)) }
  }
  const first = await signInAs(grace(made.password))
  await untilStatus(200, first.tokens.access_token)
  // Their sign-in is recent enough to change what needs that.
  const ownKey = await ask(
    service.baseUrl,
    'POST',
    '/api/v1/api-keys',
    { authorization: `Bearer ${first.tokens.access_token}` },
    { name: 'mine', scopes: ['read:attribution'] },
  )
  expect(ownKey.status).toBe(201)
  const waiting = await beginFlow(grace(made.password))
  const code = await signIn(grace(made.password), waiting)

  const changed = await admin('PATCH', `/api/v1/users/${made.id}`, { password: 'correct horse battery' })
  expect(changed.status).toBe(200)

  await untilStatus(401, first.tokens.access_token)
  const refresh = first.tokens.refresh_token ?? ''
  await expect(client.refreshTokenGrant(first.flow.config, refresh)).rejects.toThrow()
  await expect(redeem(waiting, code)).rejects.toThrow()
  const browser = openBrowser()
  await browser.open((await beginFlow(service)).address)
  expect((await browser.submit(adminFields(grace(made.password)))).status).toBe(401)

  // With the new one, and within the same second.
  const again = await signInAs(grace('correct horse battery'))
  await untilStatus(200, again.tokens.access_token)
  await admin('PATCH', `/api/v1/users/${made.id}`, { scopes: ['admin:config'] })
  await untilStatus(403, again.tokens.access_token)
  await untilStatus(200, again.tokens.access_token, '/api/v1/users')
  expect((await admin('DELETE', `/api/v1/users/${made.id}`)).status).toBe(204)
  await untilStatus(401, again.tokens.access_token, '/api/v1/users')
})

test('a limited administrator cannot lift the limit; an owner can, and everybody can then give all', async () => {
  const settings = '/api/v1/settings'
  const { secret } = (await admin('POST', '/api/v1/api-keys', { name: 'Administrator', scopes: ['admin:config'] })).json
  const limited = (method: string, path: string, body: object) =>
    ask(service.baseUrl, method, path, { 'x-api-key': secret }, body)
  const give = () => limited('POST', '/api/v1/api-keys', { name: 'More', scopes: ['read:attribution'] })
  const flow = await beginFlow(service, 'admin:config')
  const { access_token } = await redeem(flow, await signIn(service, flow))
  const owner = (body: object) =>
    ask(service.baseUrl, 'PATCH', settings, { authorization: `Bearer ${access_token}` }, body)

  expect((await admin('GET', settings)).json.delegation).toBe('held')
  expect((await give()).status).toBe(403)
  expect((await limited('PATCH', settings, { delegation: 'any' })).status).toBe(403)
  expect((await admin('PATCH', settings, { delegation: 'any' })).status).toBe(403)
  expect((await owner({ delegation: 'any' })).json.delegation).toBe('any')
  expect((await give()).status).toBe(201)
  expect((await limited('PATCH', settings, { delegation: 'held' })).json.delegation).toBe('held')
  expect((await give()).status).toBe(403)
})
