import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readAddress } from '../../internal/console/figures/address.js'
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
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/**
 * Each page of the console where there is nothing, while it waits, when it fails, and without a permission: what it
 * says, and axe.
 */

const HOUR_MS = 60 * 60 * 1_000
/** Each page, and the scope that it needs. */
const PAGES = [
  { path: '', scope: 'read:reporting' },
  { path: 'explorer', scope: 'read:attribution' },
  { path: 'unattributed', scope: 'read:reporting' },
  { path: 'budgets', scope: 'admin:config' },
  { path: 'exports', scope: 'export:create' },
  { path: 'webhooks', scope: 'webhooks:manage' },
  { path: 'coverage', scope: 'read:attribution' },
  { path: 'models', scope: 'read:attribution' },
  { path: 'sources', scope: 'read:attribution' },
  { path: 'anomalies', scope: 'read:reporting' },
  { path: 'schedules', scope: 'export:create' },
  { path: 'directory', scope: 'admin:config' },
  { path: 'pools', scope: 'admin:config' },
  { path: 'prices', scope: 'admin:config' },
  { path: 'access', scope: 'admin:config' },
  { path: 'settings', scope: 'admin:config' },
  { path: 'audit', scope: 'admin:config' },
] as const
const LISTS: Readonly<Record<string, readonly string[]>> = {
  directory: ['', 'identities', 'credentials', 'layers', 'rules', 'file'],
  access: ['', 'clients', 'people'],
}
const pathOf = (path: string): string => (path === '' ? '/console' : `/console/${path}`)
const VIEWS = PAGES.flatMap(({ path }) =>
  (LISTS[path] ?? ['']).map((list) => `${pathOf(path)}${list === '' ? '' : `?list=${list}`}`),
)
/** All but one that reads nothing until a file is chosen. */
const READING = VIEWS.filter((view) => !view.endsWith('list=file'))
/** Reads of the API; not the sign-in. */
const API = /\/v1\/(?!oauth)/
const REPORTS = '**/v1/reports/**'
const SLOW_MS = 2_000
/** Between two views there is one that asks nothing, so that a page always begins anew. */
const NOWHERE = '/console/nowhere'

let browser: Browser
let service: Instance
let ask: Ask
let console: ConsolePage
let page: Page

beforeAll(async () => {
  browser = await launchChromium()
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  console = await openConsole(browser)
  page = console.page
  await signInByPassword(page, service)
})

afterEach(() => page.unroute(API))
afterAll(() => browser.close())

/** The tests do not say which view fails, so that the faults do. */
async function faultsOf(views: readonly string[], look: (view: string) => Promise<unknown>): Promise<string[]> {
  const found: string[] = []
  for (const view of views) {
    await goWithin(page, NOWHERE)
    await page.locator('h1:text-is("No such page")').waitFor()
    await goWithin(page, view)
    await look(view)
    found.push(...(await accessibilityFaults(page)).map((fault) => `${view}: ${fault}`))
  }
  return found
}

const callsOf = (name: string, people: number) =>
  Array.from({ length: people }, (_, i) => ({
    attributed_service: name,
    attributed_identity: `person-${i}@example.com`,
    ingestion_timestamp: new Date(Date.now() - HOUR_MS).toISOString(),
    requested_model: 'gpt-4o',
    input_tokens: 1_000 + i,
    output_tokens: 100,
  }))

const isSettled = (): Promise<boolean> =>
  page.evaluate(
    `document.querySelector('main').textContent.trim() !== '' && document.querySelector('.placeholder') === null`,
  )

describe('while there are no calls', () => {
  test('every page says so or what to do, without a fault that axe finds', async () => {
    const faults = await faultsOf(VIEWS, async (view) => {
      await expect.poll(isSettled, { message: view }).toBe(true)
      expect(await page.locator('[role=alert]').count(), view).toBe(0)
    })

    expect(faults).toEqual([])
  })

  test('the explorer leads to where a source is connected, and nothing is praised for having a name', async () => {
    await goWithin(page, '/console/explorer')
    await page.locator('.state a:text-is("Connect a source")').waitFor()
    expect(await page.textContent('.state')).toMatch(/^No calls in [^.]+\S\. Connect/)

    await goWithin(page, '/console/unattributed')
    await page.locator('.state:has-text("No calls in")').waitFor()
  })
})

describe('with calls', () => {
  beforeAll(async () => {
    await attributedAll(ask, [...callsOf('search', 6), ...callsOf('tiny', 2)])
  })

  test('a filter that selects too few people shows the larger group, and says so', async () => {
    await goWithin(page, '/console?filter[service][eq]=tiny')
    await page.locator('[role=status]:has-text("selects fewer than 5 people")').waitFor()

    expect(await accessibilityFaults(page)).toEqual([])
  })

  test('a page that waits has its layout at once, and says after two seconds what it waits for', async () => {
    const held: Route[] = []
    await page.clock.install()
    await page.route(API, (route) => void held.push(route))

    const faults = await faultsOf(READING, async (view) => {
      const slow = page.locator('[role=status]:has-text("Still reading")')
      await expect.poll(() => page.locator('.placeholder, main h2').count(), { message: view }).toBeGreaterThan(0)
      await expect
        .poll(
          async () => {
            await page.clock.fastForward(SLOW_MS)
            return slow.count()
          },
          { message: view },
        )
        .toBeGreaterThan(0)
    })
    await page.unroute(API)
    await Promise.all(held.map((route) => route.abort().catch(() => undefined)))

    expect(faults).toEqual([])
  })

  test('a page that fails says what failed, what to quote, and tries again', async () => {
    const trace = '0af7651916cd43dd8448eb211c80319c'
    await page.route(API, (route) =>
      route.fulfill({
        status: 500,
        contentType: 'application/problem+json',
        body: JSON.stringify({
          status: 500,
          title: 'Unexpected error.',
          error_code: 'INTERNAL_ERROR',
          trace_id: trace,
        }),
      }),
    )

    const failed = page.locator('[role=alert]:has-text("could not be read")')
    const faults = await faultsOf(READING, async (view) => {
      await expect.poll(() => failed.count(), { message: view }).toBeGreaterThan(0)
      expect(await failed.first().textContent(), view).toMatch(
        /^[A-Z].*Unexpected error\..*Try again.*quote INTERNAL_ERROR/,
      )
    })
    expect(faults).toEqual([])

    await goWithin(page, '/console')
    await failed.waitFor()
    await page.unroute(API)
    await page.click('button:has-text("Try again")')
    await page.waitForSelector('[data-total]')
    expect(await failed.count()).toBe(0)
  })

  test.each([
    ['a dependency does not answer', (route: Route) => route.fulfill({ status: 503, body: 'unavailable' }), 'HTTP 503'],
    ['there is no network', (route: Route) => route.abort(), 'Check your network'],
  ])('where %s when figures are read anew, the page says so and keeps those that it has', async (_, reply, words) => {
    await goWithin(page, NOWHERE)
    await goWithin(page, '/console')
    await page.waitForSelector('[data-total]')
    await page.route(REPORTS, (route) => void reply(route))
    await attributed(ask, callsOf('search', 1)[0] ?? {})
    const failed = page.locator(`[role=alert]:has-text("${words}")`)
    await failed.waitFor()

    expect(await failed.textContent()).toContain('Below is what was read before')
    expect(await page.locator('[data-total]').count()).toBe(1)
    expect(await accessibilityFaults(page)).toEqual([])
    await page.unroute(REPORTS)
    // By itself.
    await expect.poll(() => failed.count()).toBe(0)
  })

  test('a page that the service refuses says which scope it needs', async () => {
    await page.route(API, (route) =>
      route.fulfill({
        status: 403,
        contentType: 'application/problem+json',
        headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="read:reporting"' },
        body: JSON.stringify({ status: 403, title: 'Not allowed.', error_code: 'INSUFFICIENT_SCOPE' }),
      }),
    )
    await goWithin(page, NOWHERE)
    await goWithin(page, '/console')
    await page.locator('.state:has-text("read:reporting")').waitFor()

    expect(await accessibilityFaults(page)).toEqual([])
    await page.unroute(API)
  })

  test('a person with one scope alone reads on every other page which one it needs, and who can give it', async () => {
    const reader = { admin_username: 'reader', admin_password: 'a quiet afternoon in Lisbon' }
    const { admin_username: username, admin_password: password } = reader
    const created = await ask('POST', '/api/v1/users', { username, password, scopes: ['read:attribution'] })
    expect(created.status).toBe(201)
    const own = { console, page }
    console = await openConsole(browser)
    page = console.page
    await signInByPassword(page, { credentials: { ...service.credentials, ...reader } })
    const isOpen = ({ scope }: (typeof PAGES)[number]): boolean => scope === 'read:attribution'
    const open = PAGES.filter(isOpen).map(({ path }) => path)
    const closed = PAGES.filter((each) => !isOpen(each) && each.path !== '')

    // They land on a page that they may see, and the menu has no other.
    await expect.poll(() => page.title()).toContain('Explorer')
    const links = await page
      .locator('header.top nav a:not(.brand)')
      .evaluateAll((all) => all.map((each) => each.getAttribute('href') ?? ''))
    expect(links.map((href) => readAddress(href.split('?')[0] ?? '', '').page)).toEqual(open)

    const faults = await faultsOf(
      closed.map(({ path }) => pathOf(path)),
      async (view) => {
        const [found] = closed.filter(({ path }) => view === pathOf(path))
        await page
          .locator(`.state:has-text("${found?.scope}"):has-text("admin:config"):has-text("Open to you: Explorer")`)
          .waitFor()
      },
    )

    expect(faults).toEqual([])
    await page.context().close()
    ;({ console, page } = own)
  })

  test('the menu is one row from a telephone to a desk, and opens by keyboard to every page', async () => {
    // Of all titles its is the longest.
    await goWithin(page, '/console/unattributed')
    for (const width of [360, 390, 768, 1_024, 1_280, 1_440, 1_920]) {
      await page.setViewportSize({ width, height: 900 })
      const box = () => page.locator('header.top').boundingBox()
      await expect.poll(async () => (await box())?.height, { message: `${width} px` }).toBeLessThan(60)
      expect(await page.evaluate('document.documentElement.scrollWidth'), `${width} px`).toBeLessThanOrEqual(width)
    }
    await page.setViewportSize({ width: 390, height: 900 })
    const menu = page.locator('header.top nav details')
    await menu.locator('summary').focus()
    await page.keyboard.press('Enter')
    const addresses = () =>
      menu.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href')?.split('?')[0]))
    const base = new URL(service.credentials.console_url).pathname
    await expect.poll(addresses).toEqual(PAGES.map(({ path }) => (path === '' ? base : `${base}/${path}`)))

    expect(await accessibilityFaults(page)).toEqual([])
    await menu.locator('a:text-is("Budgets")').click()
    await expect.poll(() => page.title()).toContain('Budgets')
    await expect.poll(() => menu.getAttribute('open')).toBeNull()
  })
})

test('no page logged an error', () => {
  expect(console.faults).toEqual([])
})
