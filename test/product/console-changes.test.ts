import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addressOf } from '../../internal/console/figures/address.js'
import { formatQuantity, parseSum, sum } from '../../internal/units/quantity.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributeMany } from '../support/attributed.js'
import {
  type ConsolePage,
  goWithin,
  launchChromium,
  layoutFaults,
  openConsole,
  signInByPassword,
} from '../support/chromium.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** Why the cost is not what it was, what it is compared with, and where it is going. */

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
    input_tokens: 1_000,
    output_tokens: 100,
    ...stated,
  }))

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  for (const name of ['search', 'chat']) {
    expect((await ask('POST', '/api/v1/directory/services', { name, owner: `team-${name}` })).status).toBe(201)
  }
  await attributeMany(ask, [
    ...callsOf('search', 7, 40),
    ...callsOf('search', 6, 3),
    ...callsOf('search', 6, 2, { input_tokens: 9_000 }),
    ...callsOf('chat', 6, 35),
    ...callsOf('chat', 6, 20, { requested_model: 'gpt-4o-mini' }),
    ...callsOf('tiny', 2, 1),
  ])
  browser = await launchChromium()
  console = await openConsole(browser)
  page = console.page
  await signInByPassword(page, service)
  await page.waitForSelector('section.changes table')
})
afterAll(() => browser.close())

const overview = (params: Record<string, string> = {}) => addressOf('', new URLSearchParams(params))
const section = () => page.locator('section.changes')
const csv = async (): Promise<string[][]> => {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    section().locator('button:has-text("CSV")').click(),
  ])
  const chunks: Buffer[] = []
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
    .toString()
    .trim()
    .split(/\r?\n/)
    .map((line) => line.split(','))
}
const added = (texts: readonly string[]): string => formatQuantity(sum(texts.map((text) => parseSum<'USD'>(text))))

/** As often as it takes while the page asks, too: of one tenant few reports run at a time. */
async function usageReport(query: string) {
  let asked = await ask('GET', `/v1/reports/usage?${query}`)
  await expect
    .poll(async () => {
      if (asked.status !== 200) asked = await ask('GET', `/v1/reports/usage?${query}`)
      return asked.status
    })
    .toBe(200)
  return asked.json.report
}

/** Unrounded, of all lines. */
async function column(name: string): Promise<string[]> {
  const [head = [], ...lines] = await csv()
  return lines.map((line) => line[head.indexOf(name)] ?? '')
}
/** The figures that are shown are those that were asked for last: nothing is dimmed. */
const settled = () =>
  page.waitForSelector('main > .shown[aria-busy=false] section.changes .shown[aria-busy=false] table')

test('the lines add up to the difference of the totals, and each mover opens its calls', async () => {
  const change = await section().locator('[data-change]').getAttribute('data-change')

  expect(added(await column('change_usd'))).toBe(change)
  expect(await column('service')).toContain('chat')

  await section().locator('tr:has-text("search")').first().locator('a:has-text("calls")').click()
  await page.waitForSelector('section[aria-label=Calls] tbody tr')
  const address = new URL(page.url())
  expect(address.searchParams.get('filter[service][eq]')).toBe('search')
  expect(address.searchParams.get('filter[served_model][eq]')).toBe('gpt-4o')
})

test('the difference is that of the totals, and stays so with another grouping', async () => {
  await goWithin(page, overview({ period: '7d', changes: 'service' }))
  await expect.poll(() => section().locator('select').inputValue()).toBe('service')
  await settled()
  const total = await page.getAttribute('[data-total]', 'data-total')
  const scope = JSON.parse((await page.getAttribute('[data-scope]', 'data-scope')) ?? '{}')
  const { total_cost_usd: before } = await usageReport(
    `from=${new Date(2 * Date.parse(scope.from) - Date.parse(scope.to)).toISOString()}&to=${scope.from}`,
  )

  await expect
    .poll(() => section().locator('[data-change]').getAttribute('data-change'))
    .toBe(formatQuantity((parseSum<'USD'>(total ?? '') - parseSum<'USD'>(before)) as never))
})

test('any days can be compared with, and the address says which', async () => {
  await goWithin(page, overview({ period: '7d' }))
  await page.selectOption('.compared select', 'days')
  const day = (ago: number): string => new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10)
  await page.fill('[aria-label="First day to compare with"]', day(45))
  await page.fill('[aria-label="Last day to compare with"]', day(34))
  await expect.poll(() => new URL(page.url()).searchParams.get('compare')).toBe(`${day(45)}..${day(34)}`)

  const { total_cost_usd: before } = await usageReport(`from=${day(45)}&to=${day(33)}`)
  await expect.poll(async () => added(await column('before_usd'))).toBe(before)
  await expect.poll(() => page.textContent('.totals')).toMatch(/%\s+on/)

  await page.fill('[aria-label="Last day to compare with"]', day(0))
  await page.waitForSelector('.compared [role=status]:has-text("overlap")')
})

test('a running period says what it will have cost; a closed one does not', async () => {
  const today = new Date(Date.now())
  const day = (add: number): string => new Date(today.getTime() + add * DAY_MS).toISOString().slice(0, 10)
  await goWithin(page, overview({ period: `${day(-10)}..${day(10)}` }))
  await page.waitForSelector('[data-forecast]:has-text("an estimate")')

  await goWithin(page, overview({ period: `${day(-10)}..${day(-1)}` }))
  await page.waitForSelector(`.shown[aria-busy=false] [data-scope*='${day(-1)}"']`)
  expect(await page.locator('[data-forecast]').count()).toBe(0)
})

test('a note that is added is listed with what else happened, and can be removed', async () => {
  await goWithin(page, overview())
  await settled()
  await page.click('summary:has-text("What happened")')
  await page.click('button:has-text("Add a note")')
  await page.fill('dialog input[name=text]', 'checkout 4.2')
  await page.fill('dialog input[name=link]', 'https://git.example.com/4.2')
  expect(await layoutFaults(page)).toEqual([])
  await page.click('button:has-text("Add the note")')
  const row = page.locator('section[aria-label="What happened"] tr:has-text("checkout 4.2")')
  expect(await row.locator('a').getAttribute('href')).toBe('https://git.example.com/4.2')

  await page.route('**/api/v1/annotations/*', (route) => route.fulfill({ status: 404, json: { detail: 'Not now.' } }))
  await row.locator('button:has-text("Remove")').click()
  await page.waitForSelector('.changes [role=alert]:has-text("Not now.")')
  await page.unroute('**/api/v1/annotations/*')
  await row.locator('button:has-text("Remove")').click()
  await row.waitFor({ state: 'detached' })
})

test('no script fails, and neither axe nor the width of a telephone finds a fault', async () => {
  await goWithin(page, overview({ compare: 'month' }))
  await settled()

  expect(await layoutFaults(page)).toEqual([])
  expect(console.faults).toEqual([])
})
