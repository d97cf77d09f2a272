import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storedCodes } from '../../internal/access/oauth/authorization-codes.js'
import { type StoredUser, userKey } from '../../internal/access/oauth/users.js'
import { consoleClientId, consoleRedirectUri } from '../../internal/auth/console-client.js'
import { addressOf } from '../../internal/console/figures/address.js'
import { withFilters } from '../../internal/console/figures/filters.js'
import type { UsageRow } from '../../internal/console/figures/usage.js'
import type { Operator } from '../../internal/filters/filter-fields.js'
import { signInLink } from '../../internal/local/supervisor/banner.js'
import { formatDifference, formatQuantity, parseSum, sum } from '../../internal/units/quantity.js'
import { AUTHORIZATION_CODES, USERS } from '../../streams/buckets.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributed, attributedAll } from '../support/attributed.js'
import {
  accessibilityFaults,
  type ConsolePage,
  goWithin,
  launchChromium,
  openConsole,
  signInByPassword,
  statedIn,
} from '../support/chromium.js'
import { connectTo } from '../support/instance.js'
import { newTenantOfProduct } from '../support/product.js'
import { drawn } from '../support/run/rings.js'
import type { Instance } from '../support/service.js'

/** The console as a person uses it, in a real browser. */

const PLANTED = '<img src=x onerror=document.title=1>'
const DAY_MS = 24 * 60 * 60 * 1000

let service: Instance
let ask: Ask
let browser: Browser
let console: ConsolePage
let page: Page

const callsOf = (name: string, people: number, daysAgo: number, stated: Record<string, unknown> = {}) =>
  Array.from({ length: people }, (_, i) => ({
    attributed_service: name,
    attributed_identity: `person-${i}@example.com`,
    ingestion_timestamp: new Date(Date.now() - daysAgo * DAY_MS).toISOString(),
    requested_model: 'gpt-4o',
    input_tokens: 1_000 + 7 * i,
    output_tokens: 100,
    ...stated,
  }))

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  for (const name of ['search', 'chat', PLANTED]) {
    const created = await ask('POST', '/api/v1/directory/services', {
      name,
      owner: `team-${name === PLANTED ? 'odd' : name}`,
    })
    expect(created.status).toBe(201)
  }
  // Before all others: later ones would let the baseline guess that it is one of theirs.
  await attributed(ask, {
    ingestion_timestamp: new Date(Date.now() - DAY_MS).toISOString(),
    requested_model: 'of-no-price-book',
  })
  await attributedAll(ask, [
    ...callsOf('search', 7, 3),
    ...callsOf('search', 3, 2),
    ...callsOf('chat', 6, 1, { requested_model: 'gpt-4o-mini' }),
    ...callsOf(PLANTED, 5, 1),
    ...callsOf('tiny', 2, 1),
    ...callsOf('search', 6, 40),
  ])
  browser = await launchChromium()
  console = await openConsole(browser, 'Asia/Kolkata')
  page = console.page
  await signInByPassword(page, service)
  await page.waitForSelector('[data-total]')
})

afterAll(() => browser.close())

const totalShown = (of: Page = page) => of.getAttribute('[data-total]', 'data-total')

describe('signing in', () => {
  test('leaves no token in addresses or storage', async () => {
    const kept = await page.evaluate(
      'JSON.stringify([location.href, {...localStorage}, {...sessionStorage}, document.cookie])',
    )

    expect(kept).not.toMatch(/eyJ|rt_|code=|verifier/)
  })

  test('a link signs in once, and is gone from the address', async () => {
    const broker = await connectTo(service)
    const link = (await signInLink(broker, service.credentials, Date.now())) ?? ''
    await broker.close()
    const first = await openConsole(browser)
    const second = await openConsole(browser)

    await first.page.goto(link)
    await first.page.waitForSelector('[data-total]')
    await second.page.goto(link)

    expect(first.page.url()).toBe(`${service.credentials.console_url}?zone=UTC`)
    expect(await second.page.textContent('[role=alert]')).toContain('Sign in again')
    expect(second.page.url()).toBe(service.credentials.console_url)
    await Promise.all([first.context.close(), second.context.close()])
  })

  test('a link with a code of the sign-in page signs nobody in, and an address alone is not remembered', async () => {
    const { tenant_id, base_url, console_url, admin_username } = service.credentials
    const broker = await connectTo(service)
    const user = (await (await broker.bucket(USERS)).get(userKey(tenant_id, admin_username)))?.json<StoredUser>()
    const verifier = randomBytes(32).toString('base64url')
    // As the sign-in page issues it, to somebody who chose the verifier and did not follow the redirect.
    const code = await storedCodes(await broker.bucket(AUTHORIZATION_CODES)).issue(
      {
        tenant_id,
        client_id: consoleClientId(tenant_id) ?? '',
        user_id: user?.id ?? '',
        redirect_uri: consoleRedirectUri(base_url),
        scopes: user?.scopes ?? [],
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        auth_time: Math.floor(Date.now() / 1_000),
        session_id: randomBytes(16).toString('base64url'),
      },
      Date.now(),
    )
    await broker.close()
    const { context, page: victim } = await openConsole(browser)

    await victim.goto(`${console_url}#code=${code}&verifier=${verifier}`)
    expect(await victim.textContent('[role=alert]')).toContain('Sign in again')
    await victim.goto(`${base_url}/console/callback?code=${code}&state=`)
    await victim.waitForSelector('text=Your sign-in was passed on. Close this window.')
    await victim.waitForSelector('form input')
    await victim.goto(console_url)
    await victim.waitForSelector('#username')
    await victim.goto(`${base_url}/console`)
    expect(await victim.inputValue('form input')).toBe('')

    expect(await victim.evaluate('JSON.stringify({...localStorage})')).toBe('{}')
    await context.close()
  })

  test('another tab of the same browser is signed in too, and signed out with it', async () => {
    const context = page.context()
    const other = await context.newPage()
    await other.goto(`${service.baseUrl}/console?by=owner`)
    await other.waitForSelector('[data-total]')

    const total = await totalShown()
    await expect.poll(() => totalShown(other)).toBe(total)
    await other.close()
  })
})

/** What the API answers to the question that the page shows. */
async function usageShown(query: string, of: { readonly from?: string; readonly to?: string } = {}) {
  const { from, to, as_of, zone, filters } = JSON.parse((await page.getAttribute('[data-scope]', 'data-scope')) ?? '{}')
  const asked = new URLSearchParams({ from, to, as_of, time_zone: zone, limit: '200', ...of })
  for (const { field, operator, value } of filters) asked.append(`filter[${field}][${operator}]`, value)
  return (await ask('GET', `/v1/reports/usage?${asked}&${query}`)).json
}

const csvOf = async (section: string): Promise<string[][]> => {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click(`${section} >> text=CSV`)])
  const chunks = await (await download.createReadStream()).toArray()
  const lines = Buffer.concat(chunks).toString('utf8').trim().split('\r\n')
  return lines.map((line) => line.split(','))
}
const columnOf = ([head = [], ...lines]: readonly string[][], name: string): string[] =>
  lines.map((line) => line[head.indexOf(name)] ?? '')
const added = (amounts: readonly string[]): string => formatQuantity(sum(amounts.map((text) => parseSum<'USD'>(text))))

describe('the overview', () => {
  const day = (ago: number): string => new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10)
  const filter = (field: string, operator: Operator, ...values: string[]) =>
    fc.constantFrom(...values).map((value) => ({ field, operator, value }))
  const questions = fc.record({
    period: fc.oneof(
      fc.constantFrom('7d', '24h', '90d', '12m'),
      fc.tuple(fc.nat(45), fc.nat(45)).map(([a, b]) => `${day(Math.max(a, b))}..${day(Math.min(a, b))}`),
    ),
    zone: fc.constantFrom('Asia/Kolkata', 'UTC', 'America/Los_Angeles'),
    by: fc.constantFrom('service', 'owner', 'served_model', 'stage_origin'),
    filters: fc.uniqueArray(
      fc.oneof(
        filter('service', 'eq', 'search', 'chat', 'tiny'),
        filter('service', 'ne', 'search', 'chat'),
        filter('served_model', 'in', 'gpt-4o,of-no-price-book'),
        filter('owner', 'contains', 'team-search', 'team-'),
      ),
      { maxLength: 3, selector: ({ field, operator, value }) => `${field} ${operator} ${value}` },
    ),
  })

  test('of random periods and filters shows one total on card, chart, table and CSV, that of the API', async () => {
    await fc.assert(
      fc.asyncProperty(questions, async ({ period, zone, by, filters }) => {
        const stated = withFilters(new URLSearchParams({ period, zone, by }), filters)
        await goWithin(page, addressOf('', stated))
        const shown = JSON.stringify({ by, stated: period, zone, filters }).slice(1, -1)
        await page.waitForSelector(`.shown[aria-busy=false] [data-scope*='${shown}']`)
        await expect.poll(() => page.locator('.chip').count()).toBe(filters.length)

        const total = await totalShown()
        const { report, suppressed } = await usageShown('')
        const table = await csvOf('section[data-table-total]')
        const { data, report: compared } = await usageShown(`group_by=${by}&compare=previous&sort=-cost_usd`)
        expect(report.total_cost_usd).toBe(total)
        await expect.poll(() => page.getAttribute('[data-table-total]', 'data-table-total')).toBe(total)
        expect(added(columnOf(table, 'cost_usd'))).toBe(total)
        const chargeable = await page.getAttribute('[data-chargeable]', 'data-chargeable')
        expect(added(columnOf(table, 'eligible_usd'))).toBe(chargeable)
        expect(added(data.map((row: UsageRow) => row.cost_usd_by_trust.eligible))).toBe(chargeable)
        for (const row of data) expect(added(Object.values(row.cost_usd_by_trust))).toBe(row.cost_usd)
        expect(columnOf(table, 'previous_cost_usd')).toEqual(
          data.map((row: UsageRow) => row.previous?.['cost_usd'] ?? ''),
        )
        const { from, to, total_cost_usd: before } = compared.compared_with
        // Where few people are asked for, both periods are of the larger group; alone, the one before may have no call.
        if (before !== null && suppressed === undefined)
          expect((await usageShown('', { from, to })).report.total_cost_usd).toBe(before)
        await expect.poll(() => page.locator('section[data-table-total] tbody tr').count()).toBe(data.length)
        const said = (await page.textContent('section[data-table-total]')) ?? ''
        expect(said.includes('these are the figures of the larger group')).toBe(suppressed !== undefined)
        expect(said.includes('at least one of fewer than 5 people')).toBe(data.some((row: UsageRow) => row.folded))
        if (total === '0') return
        await expect.poll(() => page.getAttribute('[data-chart-total]', 'data-chart-total')).toBe(total)
        await page.evaluate(`document.querySelector('details.behind').open = true`)
        const chart = await csvOf('section[data-chart-total]')
        expect(added(chart.slice(1).map((line) => line.at(-1) ?? ''))).toBe(total)
        // Whatever is folded in it: a bar is the sum of its parts, small groups among them, and none is below nothing.
        for (const [start, ...amounts] of chart.slice(1)) {
          // Empty: a name that may be among the small groups of the interval.
          const parts = amounts.slice(0, -1).filter((part) => part !== '')
          if (start !== 'shown together') expect(added(parts)).toBe(amounts.at(-1))
          expect(parts.filter((part) => part.startsWith('-'))).toEqual([])
        }
        if (before === null) return
        const change = formatDifference(parseSum<'USD'>(total ?? ''), parseSum<'USD'>(before))
        await expect.poll(() => page.getAttribute('[data-change]', 'data-change')).toBe(change)
        expect(added(columnOf(await csvOf('section.changes'), 'change_usd'))).toBe(change)
      }),
      // A failure names its seed.
      { numRuns: drawn(15), endOnFailure: true },
    )
  })

  test('says what is folded, what nobody owns, and what has no price', async () => {
    await goWithin(page, '/console')
    const table = page.locator('section[data-table-total]')
    await expect.poll(() => page.textContent('body')).toMatch(/nobody\s*why\?/)
    await expect.poll(() => page.textContent('.totals')).toContain('1 call has no price')
    await expect.poll(() => table.textContent()).toContain('at least one of fewer than 5 people')
  })

  test('a name from outside is text, and an inline script does nothing', async () => {
    await page.locator(`button:has-text("${PLANTED}")`).waitFor()
    await page.evaluate(`{
      const script = document.createElement('script')
      try { script.textContent = 'document.title = 1' } catch { /* Trusted types refuse the text itself. */ }
      document.body.append(script)
      script.remove()
    }`)

    await expect.poll(() => page.title()).toBe('Overview – Attribution')
    expect(await page.locator('img').count()).toBe(0)
  })

  test('has no fault that axe finds, in light and in dark, with a row open', async () => {
    await page.click('button.opens:has-text("search")')
    await page.waitForSelector('.inside table')

    expect(await accessibilityFaults(page)).toEqual([])
  })

  test('shows a call soon after its arrival, without being asked', async () => {
    const before = await totalShown()
    await attributed(ask, callsOf('search', 1, 0)[0] ?? {})

    await page.waitForSelector(`[data-total]:not([data-total="${before}"])`)
  })
})

describe('the explorer', () => {
  test('shows a call soon after its arrival, and says what it cannot filter by', async () => {
    await goWithin(page, '/console/explorer?filter[provider][eq]=openai&filter[colour][eq]=red')
    await page.waitForSelector('.chip:has-text("openai")')
    await page.waitForSelector('.unheld:has-text("filter[colour][eq]=red")')
    await page.locator('section[aria-label=Calls] tbody tr').first().waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.click('button:has-text("Leave it out")')
    await page.locator('.unheld').waitFor({ state: 'detached' })
    await attributed(ask, callsOf('just-now', 1, 0)[0] ?? {})

    await page.waitForSelector('section[aria-label=Calls] tbody tr:has-text("just-now")')
    expect(statedIn(page)).toBe('filter[provider][eq]=openai')
  })
})

test('a person without a scope lands where they may, and reads which one another page takes', async () => {
  const created = await ask('POST', '/api/v1/users', {
    username: 'reader',
    password: 'a quiet afternoon in Lisbon',
    scopes: ['read:attribution'],
  })
  expect(created.status).toBe(201)
  const { context, page: readers } = await openConsole(browser)
  const credentials = {
    ...service.credentials,
    admin_username: 'reader',
    admin_password: 'a quiet afternoon in Lisbon',
  }
  await signInByPassword(readers, { credentials })

  await expect.poll(() => readers.title()).toContain('Explorer')
  await goWithin(readers, addressOf('budgets', new URLSearchParams()))
  await expect.poll(() => readers.textContent('main')).toContain('admin:config')
  expect(await accessibilityFaults(readers)).toEqual([])
  await context.close()
})

test('a tenant without calls is led by the hand, and sees its first event', async () => {
  const empty = await newTenantOfProduct()
  const { context, page: first } = await openConsole(browser)
  await signInByPassword(first, empty)
  await first.waitForSelector('.first-run')
  expect(await accessibilityFaults(first)).toEqual([])

  await first.click('button:has-text("Send a test event")')
  await first.waitForSelector('[data-total]')

  await expect.poll(() => first.textContent('table.figures')).toContain('first-steps')
  await context.close()
})

test('the scripts up to the first chart weigh at most 200 KiB compressed, all together 400', () => {
  const assets = fileURLToPath(new URL('../../dist/console/assets', import.meta.url))
  const sizes = readdirSync(assets)
    .filter((file) => file.endsWith('.js.br'))
    .map((file) => statSync(join(assets, file)).size)

  // The chart is in the first page: with all pages this is more than a person loads.
  expect(sizes.reduce((all, size) => all + size, 0)).toBeLessThan(200 * 1024)
})

test('no page logged an error, or was refused by its own policy', () => {
  // The inline script that a test planted.
  expect(console.faults.filter((fault) => !fault.includes('TrustedScript'))).toEqual([])
})
