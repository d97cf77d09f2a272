import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Ask, askAs } from '../support/ask.js'
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
import { launchReceiverOfProduct, newTenantOfProduct } from '../support/product.js'

/** Tags, pools, export schedules and settings have their place in the console. */

let ask: Ask
let browser: Browser
let console: ConsolePage
let page: Page

const callsOf = (team: string, people: number, stated: Record<string, unknown> = {}) =>
  Array.from({ length: people }, (_, i) => ({
    attributed_service: `of-${team}`,
    attributed_identity: `person-${i}@example.com`,
    requested_model: 'gpt-4o',
    input_tokens: 1_000 + i,
    output_tokens: 100,
    tags: { Team: team, undeclared: 'as it is' },
    ...stated,
  }))
const section = (name: string) => page.locator(`section[aria-label="${name}"]`)
const row = (of: string, text: string) => section(of).locator(`tr:has-text("${text}")`)

beforeAll(async () => {
  const service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  browser = await launchChromium()
  console = await openConsole(browser)
  page = console.page
  await signInByPassword(page, service)
})

afterAll(() => browser.close())

test('a setting is changed beside what that costs, and a tag that is declared so is a group, a filter and on the card', async () => {
  await goWithin(page, '/console/settings')
  await page.click('button[aria-label="Change: Declared tags"]')
  await page.click('dialog button:has-text("Declare another")')
  await page.fill('dialog input[name=key]', 'team')
  expect(await page.textContent('dialog')).toContain('attributed from now on')
  expect(await accessibilityFaults(page)).toEqual([])
  await page.click('dialog button:has-text("Change it")')
  await section('How calls are attributed').locator('li:has-text("Declared tags"):has-text("team")').waitFor()
  expect(await layoutFaults(page)).toEqual([])

  const seen = async () => {
    const [record] = await attributedAll(ask, callsOf('payments', 1))
    return record.tags['team']
  }
  await expect.poll(seen).toBe('payments')
  await attributedAll(ask, [...callsOf('payments', 6), ...callsOf('search', 5)])

  await goWithin(page, '/console')
  await page.waitForSelector('[data-total]')
  await page.locator('.shown > .controls select').first().selectOption('tags.team')
  await page.locator('section[aria-label^="By"] tr:has-text("payments")').waitFor()
  expect(new URL(page.url()).searchParams.get('by')).toBe('tags.team')

  await page.getByLabel('Field').selectOption('tags.team')
  await page.locator('.add-filter input').focus()
  await page.locator('#filter-values option[value=search]').waitFor({ state: 'attached' })
  await page.fill('.add-filter input', 'search')
  await page.click('button:has-text("Add the filter")')
  await page.locator('.chip:has-text("tag team is search")').waitFor()
  await page.locator('section[aria-label^="By"] tr:has-text("payments")').waitFor({ state: 'detached' })

  await goWithin(page, '/console/explorer?filter[tags.team][eq]=search')
  await page.click('summary:has-text("Columns")')
  await page.locator('.columns label:has-text("tag team") input').check()
  await page.locator('td bdi:text-is("search")').first().waitFor()
  await page.keyboard.press('Escape')
  await page.locator('button.opens').first().click()
  const tags = page.locator('dt:text-is("tags") + dd')
  await tags.waitFor()
  expect(await tags.textContent()).toMatch(/team search.*not declared: undeclared as it is/)
})

test('a change that destroys data waits, says by whom it was asked for, and is cancelled there', async () => {
  await goWithin(page, '/console/settings')
  await page.click('button[aria-label="Change: Calls are kept for"]')
  await page.fill('dialog input[name=retention_days]', '90')
  await page.click('dialog button:has-text("Change it")')

  const waiting = section('Changes that wait')
  await waiting.waitFor()
  await expect.poll(() => waiting.textContent()).toMatch(/Calls are kept for: 90 from .* on, asked for by admin/)
  expect(await layoutFaults(page)).toEqual([])
  await waiting.locator('button').click()
  await expect.poll(() => waiting.count()).toBe(0)
  expect((await ask('GET', '/api/v1/settings')).json.pending_changes).toEqual([])
})

test('a pool is added with its rules, takes calls, and the page says what of it is spread', async () => {
  await goWithin(page, '/console/pools')
  await page.click('button:has-text("Add a pool")')
  await page.fill('dialog input[name=name]', 'shared')
  await page.fill('dialog input[name=owner]', 'team-platform')
  await page.locator('dialog fieldset input').first().fill('mistral')
  expect(await accessibilityFaults(page)).toEqual([])
  await page.click('dialog button:has-text("Add the pool")')
  await row('Pools', 'provider mistral').waitFor()

  // A model would find out whose the call is.
  expect((await ask('PATCH', '/api/v1/settings', { stage_b_enabled: false })).status).toBe(200)
  const stated = { provider: 'mistral', requested_model: 'mistral-large-latest', attributed_service: undefined }
  const pooled = async () => {
    const [record] = await attributedAll(ask, callsOf('none', 1, { ...stated, attributed_identity: undefined }))
    return record.service
  }
  await expect.poll(pooled).toBe('shared')
  await goWithin(page, '/console/explorer')
  await goWithin(page, '/console/pools')
  await expect.poll(() => row('Pools', 'shared').textContent()).toMatch(/shared0\.0\d+/)
  await expect.poll(() => section('Spreading').textContent()).toMatch(/USD 0\.\d+ in pools: USD .* is spread/)
  expect(await layoutFaults(page)).toEqual([])

  // With people among them, it is a small group.
  const unallocated = { ...stated, provider: 'openai', requested_model: 'gpt-4o' }
  await attributedAll(ask, [
    { ...stated, attributed_identity: 'one@example.com' },
    ...Array.from({ length: 6 }, (_, i) => ({ ...unallocated, attributed_identity: `person-${i}@example.com` })),
  ])
  await goWithin(page, '/console/explorer')
  await page.locator('section[aria-label=Calls] tbody span:text-is("nobody")').first().waitFor()
  expect(await page.textContent('section[aria-label=Calls]')).not.toContain('unallocated')
  await goWithin(page, '/console/pools')
  await section('Pools').locator('p:has-text("small groups")').waitFor()
  await row('Pools', 'shared').locator('button:has-text("Remove")').click()
  await page.click('dialog button:has-text("Remove the pool")')
  await expect.poll(() => row('Pools', 'provider mistral').count()).toBe(0)
})

test('a schedule is added, its bucket is tested, and it is paused and removed', async () => {
  const receiver = await launchReceiverOfProduct()
  await goWithin(page, '/console/schedules')
  await page.click('button:has-text("Add a schedule")')
  await page.waitForSelector('dialog input[name=name]:focus')
  for (const [name, value] of Object.entries({
    name: 'For the lake',
    bucket: 'acme-finops',
    region: 'eu-central-1',
    endpoint: `https://127.0.0.1:${receiver.port}`,
    access_key_id: 'AKIAEXAMPLE',
    secret_access_key: 'secret',
  })) {
    await page.fill(`dialog input[name=${name}]`, value)
  }
  // The key that sends a form adds a filter to it first.
  await page.fill('dialog .add-filter input', 'payments')
  await page.keyboard.press('Enter')
  await page.locator('dialog .chip:has-text("service is payments")').waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await page.click('dialog button:has-text("Add the schedule")')
  await page.click('button.opens:has-text("For the lake")')
  await page.locator('.card').getByText('service is payments').waitFor()
  await page.click('button:has-text("Test the bucket")')
  // It answers everything, as no bucket does.
  await page
    .locator('.card')
    .getByText(/It (works|failed):/)
    .waitFor()
  expect(await layoutFaults(page)).toEqual([])

  await page.click('button:text-is("Pause")')
  await row('Export schedules', 'paused').first().waitFor()
  await page.click('.card button:text-is("Remove")')
  await page.click('dialog button:has-text("Remove the schedule")')
  await page.locator('text=None yet. A single file').waitFor()
  await receiver.close()
})

test('no page logged an error', () => {
  expect(console.faults).toEqual([])
})
