import { randomUUID } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addressOf } from '../../internal/console/figures/address.js'
import { litellmPayload } from '../internal/ingest/adapters/litellm-payload.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributed, attributedAll } from '../support/attributed.js'
import {
  accessibilityFaults,
  type ConsolePage,
  goWithin,
  launchChromium,
  layoutFaults,
  openConsole,
  signInByPassword,
} from '../support/chromium.js'
import { command, setIdentityProvider, untilKnown } from '../support/instance.js'
import { intakeOfProduct, newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/**
 * Where calls come from, what they cost, and who may do what: a source is connected, a model gets a price, a person a
 * key.
 */

const HOUR_MS = 60 * 60 * 1_000
const UNPRICED = { provider: 'openai', requested_model: 'of-no-price-book', input_tokens: 1_000, output_tokens: 100 }

let service: Instance
let ask: Ask
let browser: Browser
let console: ConsolePage
let page: Page

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  await attributedAll(
    ask,
    Array.from({ length: 6 }, (_, i) => ({
      ...UNPRICED,
      attributed_service: 'search',
      attributed_identity: `person-${i}@example.com`,
      ingestion_timestamp: new Date(Date.now() - HOUR_MS).toISOString(),
    })),
  )
  browser = await launchChromium()
  console = await openConsole(browser)
  page = console.page
  await signInByPassword(page, service)
  await page.waitForSelector('[data-total]')
})

afterAll(() => browser.close())

const callOfLiteLlm = () =>
  litellmPayload({
    id: `chatcmpl-${randomUUID()}`,
    litellm_call_id: randomUUID(),
    startTime: Date.now() / 1_000 - 1,
    endTime: Date.now() / 1_000,
  })

describe('sources', () => {
  test('says what arrives from where, without a fault that axe finds', async () => {
    await goWithin(page, '/console/sources')
    await page.waitForSelector('section[aria-label="What arrives"] tbody tr')
    await page.waitForSelector('section[aria-label="Senders"] tbody tr')

    const arrived = page.locator('section[aria-label="What arrives"] tbody tr')
    // Received, calls, without a service, without a price, rejected, passed over.
    await expect
      .poll(() => arrived.first().locator('td.number').allTextContents())
      .toEqual(['6', '6', '0', '6', '0', '0'])
    expect(await accessibilityFaults(page)).toEqual([])
  })

  test('makes a key for a gateway, and its light turns on with a call of that key alone, which it opens', async () => {
    const block = page.locator('section[aria-label="Connect a source"] pre')
    await expect.poll(() => block.textContent()).toContain('ak_live_...')
    await page.click('button:has-text("Create a key for LiteLLM")')
    await page.waitForSelector('[role=status]:has-text("shown only once")')
    const lines = (await block.textContent()) ?? ''
    const [, endpoint = ''] = /endpoint: (\S+)/.exec(lines) ?? []
    const [, key = ''] = /X-API-Key: (\S+)/.exec(lines) ?? []
    expect(endpoint).toBe(`${intakeOfProduct()}/intake/litellm`)
    await untilKnown(service.baseUrl, key)
    const send = async (by: string, payload: unknown): Promise<void> => {
      const headers = { 'x-api-key': by, 'content-type': 'application/json' }
      expect((await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify([payload]) })).status).toBe(200)
    }
    await page.waitForSelector('[data-light=waiting]:has-text("Waiting for a first call with the new key.")')

    await send(service.credentials.api_key, callOfLiteLlm())
    await page.waitForSelector('section[aria-label="What arrives"] tr:has-text("litellm"):has-text("open")')
    await page.waitForSelector('[data-light=waiting]')
    await send(key, 'no call')
    await page.waitForSelector('[data-light=no_call]:has-text("1: cannot be read as an event.")')
    await send(key, callOfLiteLlm())

    await page.waitForSelector('[data-light=seen]:has-text("A call with the new key came")')
    const { data: own } = (await ask('GET', '/v1/attribution?filter[credential][eq]=LiteLLM')).json
    expect(own).toHaveLength(1)
    await page.click('[data-light=seen] a')
    await page.waitForSelector('.card')
    expect(new URL(page.url()).searchParams.get('record')).toBe(own[0].id)
    await page.goBack()
    await page.waitForSelector('section[aria-label="Senders"] tr:has-text("LiteLLM"):has-text("who called")')
    await page.waitForSelector(
      'section[aria-label="What arrives"] tr.notes:has-text("1 rejected: cannot be read as an event")',
    )
    const { data } = (await ask('GET', '/api/v1/api-keys')).json
    expect(data).toContainEqual(
      expect.objectContaining({ name: 'LiteLLM', is_gateway: true, ingestion_layers: ['gateway'] }),
    )
    expect(await accessibilityFaults(page)).toEqual([])
  })

  test('leads from a credential to its calls, and copies what is used elsewhere', async () => {
    const guide = page.getByRole('button', { name: 'deploy/docs/intake/litellm.md' })
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await guide.click()
    await expect.poll(() => guide.getAttribute('class')).toContain('copied')
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('deploy/docs/intake/litellm.md')

    await page.click('section[aria-label="What arrives"] a:has-text("LiteLLM")')
    await page.waitForSelector('.chip:has-text("LiteLLM")')
    await expect.poll(() => page.locator('main button.opens').count()).toBe(1)
    await page.goBack()
    await page.waitForSelector('section[aria-label="Senders"] a:has-text("LiteLLM")')
  })

  test('does not say of a key that nothing came with it while what came cannot be read', async () => {
    const senders = page.locator('section[aria-label="Senders"] tr:has-text("LiteLLM")')
    await expect.poll(() => senders.locator('td.number').textContent()).toMatch(/^[1-9]/)
    await page.route('**/api/v1/sources?*', (route) => route.fulfill({ status: 503, body: 'unavailable' }))
    await goWithin(page, '/console/access')
    await goWithin(page, '/console/sources')

    await expect.poll(() => senders.locator('td.number').textContent()).toBe('–')
    expect(await senders.textContent()).not.toContain('none in 24 h')
    await page.unroute('**/api/v1/sources?*')
    await expect.poll(() => senders.locator('td.number').textContent()).toMatch(/^[1-9]/)
  })
})

test('shows sources to whoever may see calls, and says who can make a key', async () => {
  const person = { username: 'reader@example.com', scopes: ['read:attribution'] }
  const { json } = await ask('POST', '/api/v1/users', person)
  const { context, page: readers } = await openConsole(browser)
  const credentials = {
    ...service.credentials,
    admin_username: person.username,
    admin_password: json.password,
  }
  await signInByPassword(readers, { credentials })
  await goWithin(readers, addressOf('sources', new URLSearchParams()))

  await readers.waitForSelector('section[aria-label="What arrives"] tr:has-text("LiteLLM")')
  await readers.waitForSelector('section[aria-label="Connect a source"] .notice:has-text("admin:config makes one")')
  expect(await readers.locator('button:has-text("Create a key")').count()).toBe(0)
  await context.close()
})

describe('prices', () => {
  test('lists what has no price, without a fault that axe finds', async () => {
    await goWithin(page, '/console/prices')
    await page.waitForSelector('section[aria-label="Models without a price"] tr:has-text("of-no-price-book")')
    await page.waitForSelector('section[aria-label="Own prices"]:has-text("None yet")')
    await page.waitForSelector('section[aria-label="Price book"] p:not(.muted)')
    await page.waitForSelector('section[aria-label="Age of the books"] tr:has-text("Energy table")')

    expect(await accessibilityFaults(page)).toEqual([])
  })

  test('gives the model a price, which the next call has', async () => {
    await page.click('tr:has-text("of-no-price-book") button:has-text("Give it a price")')
    await page.fill('dialog input[name=input_tokens]', '2.5')
    await page.fill('dialog input[name=output_tokens]', '10')
    await page.selectOption('dialog select[name=unit]', 'pages')
    await page.fill('dialog input[name=usd_per_unit]', '0.002')
    expect(await accessibilityFaults(page)).toEqual([])
    await page.click('dialog button:has-text("Add the price")')
    await page.waitForSelector(
      'section[aria-label="Own prices"] tr:has-text("of-no-price-book"):has-text("pages 0.002 each")',
    )
    expect(await accessibilityFaults(page)).toEqual([])

    await expect
      .poll(
        async () => (await attributed(ask, { ...UNPRICED, ingestion_timestamp: new Date().toISOString() })).cost_usd,
      )
      .toBe('0.0035')
  })

  test('removes the price again', async () => {
    await page.click('section[aria-label="Own prices"] button:has-text("Remove")')
    await page.click('dialog button:has-text("Remove the price")')
    await page.waitForSelector('section[aria-label="Own prices"]:has-text("None yet")')

    expect((await ask('GET', '/api/v1/prices')).json.data).toEqual([])
  })
})

describe('access', () => {
  const section = (title: string) => page.locator(`section[aria-label="${title}"]`)
  const secretShown = async (): Promise<string> => {
    const secret = (await page.textContent('dialog .secret')) ?? ''
    await page.click('dialog button:has-text("I have it")')
    await page.locator('dialog').waitFor({ state: 'detached' })
    expect(await page.content()).not.toContain(secret)
    return secret
  }
  const statusOf = async (secret: string): Promise<number> =>
    (await askAs(service.baseUrl, { 'x-api-key': secret })('GET', '/v1/attribution?limit=1')).status

  test('creates a key, shows its secret once, replaces and revokes it', async () => {
    await goWithin(page, '/console/access')
    await page.click('button:has-text("Create a key")')
    await page.fill('dialog input[name=name]', 'nightly')
    await page.check('dialog input[value="read:attribution"]')
    await page.selectOption('dialog select[name=sends]', 'none')
    await page.click('dialog button:has-text("Create it")')
    const first = await secretShown()
    await untilKnown(service.baseUrl, first)
    await section('API keys').locator('tr:has-text("nightly"):has-text("no calls")').waitFor()
    await page.click('tr:has-text("nightly") button:has-text("Replace")')
    await page.selectOption('dialog select[name=overlap]', '0')
    await page.click('dialog button:has-text("Replace it")')
    const second = await secretShown()
    await untilKnown(service.baseUrl, second)

    expect(first).toMatch(/^ak_live_/)
    await expect.poll(() => statusOf(first)).toBe(401)
    expect(await layoutFaults(page)).toEqual([])
    await page.click('tr:has-text("nightly") button:has-text("Revoke")')
    await page.click('dialog button:has-text("Revoke it")')
    await section('API keys').locator('tr:has-text("nightly"):has-text("revoked") >> nth=1').waitFor()
    await expect.poll(() => statusOf(second)).toBe(401)
  })

  test('registers a client, changes, disables and deletes it', async () => {
    await goWithin(page, '/console/access?list=clients')
    await page.click('button:has-text("Register a client")')
    await page.fill('dialog input[name=name]', 'billing')
    await page.check('dialog input[value="read:reporting"]')
    await page.check('dialog input[value="read:attribution"]')
    await page.click('dialog button:has-text("Register it")')
    expect(await secretShown()).toMatch(/^cs_live_/)
    await page.click('section[aria-label="OAuth clients"] button:has-text("Change it")')
    await page.uncheck('dialog input[value="read:attribution"]')
    await page.fill('dialog input[name=name]', 'billing job')
    await page.click('dialog button:has-text("Change it")')
    await section('OAuth clients').locator('tr:has-text("billing job")').waitFor()
    await page.click('button:has-text("Disable it")')
    await page.click('dialog button:has-text("Disable it")')
    await section('OAuth clients').locator('td:text-is("disabled")').waitFor()

    expect((await ask('GET', '/api/v1/clients')).json.data).toContainEqual(
      expect.objectContaining({ name: 'billing job', scopes: ['read:reporting'], status: 'disabled' }),
    )
    expect(await layoutFaults(page)).toEqual([])
    await page.click('button:has-text("Delete it")')
    await page.click('dialog button:has-text("Delete it")')
    // The client is a row and, opened, one more: a wait for one element that is gone would refuse both.
    await expect.poll(() => section('OAuth clients').locator('tr:has-text("billing job")').count()).toBe(0)
  })

  test('adds a person, whose second factor it asks for, resets, and who is then deactivated', async () => {
    await goWithin(page, '/console/access?list=people')
    await section('Signing in').locator('text=attribution identity-provider set').waitFor({ state: 'attached' })
    await page.click('button:has-text("Ask everybody for a second factor")')
    await page.click('dialog button:has-text("Ask everybody")')
    await section('Signing in').locator('button:has-text("Stop asking")').waitFor()
    await page.click('button:has-text("Add a person")')
    await page.fill('dialog input[name=username]', 'ada@example.com')
    await page.check('dialog input[value="read:reporting"]')
    await page.click('dialog button:has-text("Add the person")')
    expect(await page.textContent('dialog .address')).toBe(service.credentials.console_url)
    const password = await secretShown()
    const { context, page: adas } = await openConsole(browser)
    await adas.goto(service.credentials.console_url)
    await adas.fill('#username', 'ada@example.com')
    await adas.fill('#password', password)
    await adas.click('button[value=allow]')
    const key = ((await adas.textContent('p:has-text("Key:") code')) ?? '').replaceAll(' ', '')
    await adas.fill('#code', new TOTP({ secret: Secret.fromBase32(key) }).generate())
    await adas.click('button[value=allow]')
    await adas.waitForSelector('header.top')

    // The list is read anew.
    await goWithin(page, '/console/access')
    await goWithin(page, '/console/access?list=people')
    await page.click('button.opens:has-text("ada@example.com")')
    expect(await layoutFaults(page)).toEqual([])
    await page.click('button:has-text("Reset the second factor")')
    await page.click('dialog button:has-text("Reset it")')
    await section('People').locator('tr:has-text("ada@example.com"):has-text("none")').waitFor()
    await page.click('button:text-is("Deactivate")')
    await page.click('dialog button:text-is("Deactivate")')
    await section('People').locator('tr:has-text("ada@example.com"):has-text("deactivated")').waitFor()
    await page.click('button:has-text("Stop asking")')
    await page.click('dialog button:has-text("Stop asking")')
    await section('Signing in').locator('button:has-text("Ask everybody")').waitFor()

    expect((await ask('GET', '/api/v1/users')).json.data).toContainEqual(
      expect.objectContaining({ username: 'ada@example.com', status: 'disabled', second_factor: false }),
    )
    await context.close()
  })

  test('checks the set-up of the identity provider, and says in words what does not work', async () => {
    const groups = [{ group: 'finance', scopes: ['read:reporting'] }]
    const stated = { name: 'Example SSO', issuer: 'http://127.0.0.1:9', client_id: 'attribution', groups }
    await setIdentityProvider(service, stated, 'secret')
    await expect.poll(async () => (await ask('GET', '/api/v1/settings')).json.identity_provider).not.toBeNull()
    await goWithin(page, '/console/access')
    await goWithin(page, '/console/access?list=people')
    await page.click('button:has-text("Check the set-up")')

    await page.locator('dl[aria-label="What works"]:has-text("does not work")').waitFor()
    expect(await layoutFaults(page)).toEqual([])
    await command(service, ['identity-provider', 'delete', service.credentials.tenant_id])
  })
})

test('the audit log says who changed what, by filters, and that its entries follow each other', async () => {
  const table = page.locator('section[aria-label="Audit log"] tbody')
  await goWithin(page, '/console/audit')
  await page.waitForSelector('[data-chain=whole]')
  await page.getByLabel('Action').selectOption('user.update')
  await table.locator('tr:has-text("ada@example.com") >> nth=1').waitFor()
  await page.getByLabel('Action').selectOption('price.delete')
  await table.locator('tr:has-text("delete · price"):has-text("of-no-price-book")').waitFor()
  await page.getByLabel('Action').selectOption('user.update')
  await page.fill('input[list=actors]', service.credentials.admin_username)
  await page.keyboard.press('Enter')
  await expect.poll(() => new URL(page.url()).searchParams.get('actor')).toMatch(/^usr_/)
  expect(await page.inputValue('input[list=actors]')).toBe(service.credentials.admin_username)
  await page.fill('input[list=actors]', service.credentials.tenant_id.replace('tnt_', 'key_'))
  await page.keyboard.press('Enter')
  await page.locator('text=that matches').waitFor()
  await page.fill('input[list=actors]', '')
  await page.keyboard.press('Enter')
  await table
    .locator(`tr:has-text("${service.credentials.admin_username}"):has-text("update · user")`)
    .first()
    .waitFor()
  await table.locator('button.opens').first().click()

  await page.waitForSelector('.card tr:has-text("status"):has-text("active"):has-text("disabled")')
  expect(await layoutFaults(page)).toEqual([])
})

test('no page logged an error, or was refused by its own policy', () => {
  expect(console.faults).toEqual([])
})
