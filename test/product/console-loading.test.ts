import type { Browser, Page, Request, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { askAs } from '../support/ask.js'
import { attributedAll } from '../support/attributed.js'
import {
  accessibilityFaults,
  type ConsolePage,
  goWithin,
  launchChromium,
  layoutFaults,
  openConsole,
  signInByPassword,
} from '../support/chromium.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** What the console shows while figures are on their way, and while a part of the service does not answer. */

const REPORTS = /\/v1\/reports\//

let browser: Browser
let console: ConsolePage
let page: Page
let service: Instance

beforeAll(async () => {
  browser = await launchChromium()
  service = await newTenantOfProduct()
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

const layoutWidth = (of: Page): Promise<number> => of.evaluate('document.documentElement.scrollWidth')

test('figures of the question before are dimmed as soon as another is asked, and until it is answered', async () => {
  /** As it is seen: with that of all that it is within. */
  const opacity = (of = '.shown > section, .shown .shown > *') =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll(${JSON.stringify(of)})].map((each) => {
        let seen = 1
        for (let at = each; at !== null; at = at.parentElement) seen *= Number(getComputedStyle(at).opacity)
        return String(seen)
      })`,
    )
  const held: Route[] = []
  await page.waitForSelector('.shown section.changes .shown')
  await page.route(REPORTS, (route) => void held.push(route))
  expect(new Set(await opacity())).toEqual(new Set(['1']))

  // A part of the page asks for something else, and then all of it does.
  await page.locator('section.changes select').selectOption('service')
  await page.waitForSelector('.shown .shown[aria-busy=true]')
  await page.locator('.controls select').first().selectOption('owner')
  await page.waitForSelector('.shown[aria-busy=true] .shown')

  await expect.poll(async () => new Set(await opacity())).toEqual(new Set(['0.4']))
  expect(await opacity('.shown > .controls')).toEqual(['1'])
  await page.unroute(REPORTS)
  await Promise.all(held.map((route) => route.continue().catch(() => undefined)))
  await expect.poll(async () => new Set(await opacity())).toEqual(new Set(['1']))
})

test('what belongs to figures of the question before is asked for no longer', async () => {
  const CHANGES = '/v1/reports/changes'
  const ended: string[] = []
  const noteEnded = (request: Request): void => void (request.url().includes(CHANGES) && ended.push(request.url()))
  page.on('requestfailed', noteEnded)

  const held: Route[] = []
  await page.route(REPORTS, (route) => void held.push(route))
  await page.locator('section.changes select').selectOption('owner')
  await expect.poll(() => held.some((route) => route.request().url().includes(CHANGES))).toBe(true)
  await page.locator('.controls select').first().selectOption('service')
  await expect.poll(() => ended.length).toBe(1)

  await page.unroute(REPORTS)
  await Promise.all(held.map((route) => route.continue().catch(() => undefined)))
  await page.waitForSelector('section.changes .shown[aria-busy=false] th:text-is("owner")')
  page.off('requestfailed', noteEnded)
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

test('an address with something unknown says so in plain words, and how to begin without it', async () => {
  await goWithin(page, '/console?by=colour')
  await page.locator('.notice:has-text("called “colour”")').waitFor()
  await page.waitForSelector('[data-total]')

  await goWithin(page, '/console?filter[tags.colour][eq]=red')
  const failed = page.locator('[role=alert]')
  await failed.waitFor()
  expect(await failed.locator('h2, h2 + p').allTextContents()).not.toContain(expect.stringMatching(/group_by|filter\[/))
  expect(await accessibilityFaults(page)).toEqual([])
  await failed.locator('a').click()
  await page.waitForSelector('[data-total]')
})

test('a tap shows what a mouse shows at rest, until the next one', async () => {
  const { page: phone, context } = await openConsole(browser, 'UTC', {
    hasTouch: true,
    viewport: { width: 390, height: 844 },
  })
  await signInByPassword(phone, service)
  const change = phone.locator('th[title]').first()
  await change.waitFor()
  await change.scrollIntoViewIfNeeded()
  await change.tap()
  await phone.locator('.tip').waitFor()

  expect(await phone.textContent('.tip')).toBe(await change.getAttribute('title'))
  expect(await layoutWidth(phone)).toBeLessThanOrEqual(390)
  await phone.locator('h2').first().tap()
  await expect.poll(() => phone.locator('.tip').count()).toBe(0)
  await context.close()
})

test('on paper there is the name of the page and its figures, and nothing that can be clicked', async () => {
  await goWithin(page, '/console')
  await page.waitForSelector('[data-total]')
  await page.emulateMedia({ media: 'print' })

  expect(await page.locator('h1').isVisible()).toBe(true)
  expect(await page.locator('[data-total]').isVisible()).toBe(true)
  for (const gone of ['header.top', '.add-filter', 'button:has-text("CSV")']) {
    expect(await page.locator(gone).first().isVisible(), gone).toBe(false)
  }
  await page.emulateMedia({ media: 'screen' })
})

test('tables are as wide as a wide screen', async () => {
  await page.setViewportSize({ width: 1_920, height: 1_080 })
  const width = async () => (await page.locator('table.figures').first().boundingBox())?.width

  await expect.poll(width).toBeGreaterThan(1_800)
})

test('no page logged an error', () => {
  expect(console.faults).toEqual([])
})
