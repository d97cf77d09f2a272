import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { askAs } from '../support/ask.js'
import { attributedAll } from '../support/attributed.js'
import { type ConsolePage, launchChromium, layoutFaults, openConsole, signInByPassword } from '../support/chromium.js'
import { newTenantOfProduct } from '../support/product.js'

/** What the console shows while figures are on their way, and while a part of the service does not answer. */

const REPORTS = /\/v1\/reports\//

let browser: Browser
let console: ConsolePage
let page: Page

beforeAll(async () => {
  browser = await launchChromium()
  const service = await newTenantOfProduct()
  await attributedAll(
    askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key }),
    Array.from({ length: 6 }, (_, i) => ({
      attributed_service: 'search',
      attributed_identity: `person-${i}@example.com`,
      requested_model: 'gpt-4o',
      input_tokens: 1_000 + i,
      output_tokens: 100,
    })),
  )
  console = await openConsole(browser)
  page = console.page
  await signInByPassword(page, service)
  await page.waitForSelector('[data-total]')
})

afterAll(() => browser.close())

test('figures of the question before are dimmed as soon as another is asked, and until it is answered', async () => {
  const opacity = (of = '.shown > section') =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll(${JSON.stringify(of)})].map((each) => getComputedStyle(each).opacity)`,
    )
  const held: Route[] = []
  await page.route(REPORTS, (route) => void held.push(route))
  expect(new Set(await opacity())).toEqual(new Set(['1']))

  await page.locator('.controls select').first().selectOption('owner')

  await expect.poll(async () => new Set(await opacity())).toEqual(new Set(['0.4']))
  expect(await opacity('.shown > .controls')).toEqual(['1'])
  await page.unroute(REPORTS)
  await Promise.all(held.map((route) => route.continue().catch(() => undefined)))
  await expect.poll(async () => new Set(await opacity())).toEqual(new Set(['1']))
})

test('a stopped store is said on every page within two seconds, with since when and that calls are kept', async () => {
  const since = new Date(Date.now() - 5_000).toISOString()
  const dependencies = [{ name: 'store', status: 'down', since }]
  await page.route('**/readyz*', (route) =>
    route.request().url().includes('surface=ingestion')
      ? route.fulfill({ json: { status: 'degraded', dependencies } })
      : route.fulfill({ status: 503, json: { error_code: 'SERVICE_UNAVAILABLE', dependencies } }),
  )
  const line = page.locator('.outage')

  await line.waitFor({ timeout: 2_000 })

  expect(await line.locator('time').first().getAttribute('datetime')).toBe(since)
  expect(await line.textContent()).toContain('New calls are taken and kept')
  expect(await page.locator('[data-total]').count()).toBe(1)
  expect(await layoutFaults(page)).toEqual([])
  await page.unroute('**/readyz*')
  await expect.poll(() => line.count()).toBe(0)
})

test('no page logged an error', () => {
  expect(console.faults).toEqual([])
})
