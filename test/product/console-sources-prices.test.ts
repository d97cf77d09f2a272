import { randomUUID } from 'node:crypto'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { litellmPayload } from '../internal/ingest/adapters/litellm-payload.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributed, attributedAll } from '../support/attributed.js'
import {
  accessibilityFaults,
  type ConsolePage,
  goWithin,
  launchChromium,
  openConsole,
  signInByPassword,
} from '../support/chromium.js'
import { untilKnown } from '../support/instance.js'
import { intakeOfProduct, newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** Where calls come from, and what they cost: a source is connected, and a model gets a price. */

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

    expect(await page.textContent('section[aria-label="What arrives"] tbody td.number')).toBe('6')
    expect(await accessibilityFaults(page)).toEqual([])
  })

  test('makes a key for a gateway, and its light turns on after one call with the lines shown', async () => {
    const block = page.locator('section[aria-label="Connect a source"] pre')
    expect(await block.textContent()).toContain('ak_live_...')
    await page.click('button:has-text("Create a key for LiteLLM")')
    await page.waitForSelector('[role=status]:has-text("shown only once")')
    const lines = (await block.textContent()) ?? ''
    const [, endpoint = ''] = /endpoint: (\S+)/.exec(lines) ?? []
    const [, key = ''] = /X-API-Key: (\S+)/.exec(lines) ?? []
    expect(endpoint).toBe(`${intakeOfProduct()}/intake/litellm`)
    await untilKnown(service.baseUrl, key)
    await page.waitForSelector('[data-seen=false]:has-text("Waiting for the next call.")')

    const sent = await fetch(endpoint, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify([callOfLiteLlm()]),
    })

    expect(sent.status).toBeLessThan(300)
    await page.waitForSelector('[data-seen=true]:has-text("New call seen")')
    await page.waitForSelector('section[aria-label="Senders"] tr:has-text("LiteLLM"):has-text("who called")')
    const { data } = (await ask('GET', '/api/v1/api-keys')).json
    expect(data).toContainEqual(
      expect.objectContaining({ name: 'LiteLLM', is_gateway: true, ingestion_layers: ['gateway'] }),
    )
    expect(await accessibilityFaults(page)).toEqual([])
  })
})

describe('prices', () => {
  test('lists what has no price, without a fault that axe finds', async () => {
    await goWithin(page, '/console/prices')
    await page.waitForSelector('section[aria-label="Models without a price"] tr:has-text("of-no-price-book")')
    await page.waitForSelector('section[aria-label="Own prices"]:has-text("None yet")')
    await page.waitForSelector('section[aria-label="Price book"] p:not(.muted)')

    expect(await accessibilityFaults(page)).toEqual([])
  })

  test('gives the model a price, which the next call has', async () => {
    await page.click('tr:has-text("of-no-price-book") button:has-text("Give it a price")')
    await page.fill('dialog input[name=input_tokens]', '2.5')
    await page.fill('dialog input[name=output_tokens]', '10')
    expect(await accessibilityFaults(page)).toEqual([])
    await page.click('dialog button:has-text("Add the price")')
    await page.waitForSelector('section[aria-label="Own prices"] tr:has-text("of-no-price-book")')
    expect(await accessibilityFaults(page)).toEqual([])

    await expect
      .poll(
        async () => (await attributed(ask, { ...UNPRICED, ingestion_timestamp: new Date().toISOString() })).cost_usd,
        { timeout: 20_000 },
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

test('no page logged an error, or was refused by its own policy', () => {
  expect(console.faults).toEqual([])
})
