import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Ask, askAs } from '../support/ask.js'
import { listedAll } from '../support/attributed.js'
import { type ConsolePage, launchChromium, layoutFaults, openConsole, signInByPassword } from '../support/chromium.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** An hour that cost far more than usual, from the call that made it so to the page where a person finds that call. */

const HOUR_MS = 60 * 60 * 1_000
/** The last hour that late calls no longer reach: the sentinel checks it in each of its runs. */
const SPIKE_MS = Math.floor((Date.now() - 5 * 60_000) / HOUR_MS) * HOUR_MS - HOUR_MS
const HOURS_BEFORE = 30

let service: Instance
let ask: Ask
let browser: Browser
let console: ConsolePage
let page: Page
/** The id of the call that the hour is dear by. */
let dear: string

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  expect((await ask('POST', '/api/v1/directory/services', { name: 'spiky', owner: 'team-spiky' })).status).toBe(201)
  const call = (cost: string, hoursBefore: number) => ({
    attributed_service: 'spiky',
    estimated_cost_usd: cost,
    ingestion_timestamp: new Date(SPIKE_MS - hoursBefore * HOUR_MS + 1).toISOString(),
  })
  await listedAll(
    ask,
    Array.from({ length: HOURS_BEFORE }, (_, i) => call('2', i + 1)),
  )
  // Longer than a telephone is wide.
  const name = 'the support chat of the customer care department in Rotterdam, which is soon to be replaced'
  await listedAll(
    ask,
    Array.from({ length: 6 }, (_, i) => ({
      ...call('0.1', 1),
      attributed_service: name,
      attributed_identity: `person-${i}@example.com`,
    })),
  )
  ;[{ id: dear }] = (await listedAll(ask, [call('400', 0), call('1', 0)])) as [{ id: string }]
  browser = await launchChromium()
  console = await openConsole(browser)
  page = console.page
  await signInByPassword(page, service, '?period=7d')
})
afterAll(() => browser.close())

test('is listed with what was expected, and leads to its calls, the dearest first, each with its evidence', async () => {
  await expect.poll(async () => (await ask('GET', '/api/v1/anomalies')).json.data.length, { timeout: 60_000 }).toBe(1)
  await page.click('nav[aria-label=Pages] summary')
  await page.click('nav[aria-label=Pages] a:text-is("Anomalies")')
  const row = page.locator('section[aria-label=Anomalies] tbody tr')
  await row.waitFor()

  expect(await row.locator('th, td').allTextContents()).toEqual(
    expect.arrayContaining(['spiky', 'team-spiky', '401.00', '2.00', '201 times']),
  )
  await page.locator('option:has-text("Rotterdam")').waitFor({ state: 'attached' })
  expect(await layoutFaults(page)).toEqual([])
  await row.locator('a:text-is("Its calls")').click()
  const calls = page.locator('section[aria-label=Calls] tbody tr:not(.inside)')
  await expect.poll(() => calls.count()).toBe(2)
  await calls.first().locator('button.opens').click()
  await page.waitForSelector('.card:has-text("spiky")')
  expect(new URL(page.url()).searchParams.get('record')).toBe(dear)
})

test('is marked among what happened, on the overview', async () => {
  await page.click('a.brand')
  await page.click('summary:text-is("What happened in this time")')

  await page.waitForSelector('section[aria-label="What changed"] tr:has-text("anomaly"):has-text("spiky")')
  expect(console.faults).toEqual([])
})
