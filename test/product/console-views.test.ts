import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addressOf, readAddress } from '../../internal/console/figures/address.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributedAll } from '../support/attributed.js'
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

/** Views that a team saves, and the palette: by keyboard, as far as that goes. */

const HOUR_MS = 60 * 60 * 1_000
const READER = { admin_username: 'reader@example.com', admin_password: 'a quiet afternoon in Lisbon' }

let browser: Browser
let service: Instance
let ask: Ask
let console: ConsolePage
let page: Page
let recordId: string

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const { admin_username: username, admin_password: password } = READER
  const scopes = ['read:attribution', 'read:reporting']
  expect((await ask('POST', '/api/v1/users', { username, password, scopes })).status).toBe(201)
  const known = [
    await ask('POST', '/api/v1/directory/services', { name: 'checkout', owner: 'team-shop' }),
    await ask('POST', '/api/v1/directory/identities', { name: 'Zoe Anders', owner: 'team-shop' }),
  ]
  expect(known.map(({ status }) => status)).toEqual([201, 201])
  const calls = Array.from({ length: 6 }, (_, i) => ({
    attributed_service: 'checkout',
    attributed_identity: `person-${i}@example.com`,
    ingestion_timestamp: new Date(Date.now() - HOUR_MS).toISOString(),
    requested_model: 'gpt-4o',
    input_tokens: 1_000 + i,
    output_tokens: 100,
  }))
  recordId = (await attributedAll(ask, calls))[0].id
  browser = await launchChromium()
  console = await openConsole(browser)
  page = console.page
  await signInByPassword(page, service)
})
afterAll(() => browser.close())

const go = (name: string, query = '') => goWithin(page, addressOf(name, new URLSearchParams(query)))
const place = () => {
  const { pathname, search } = new URL(page.url())
  const { page: name, params } = readAddress(pathname, search)
  params.delete('zone')
  return [name, Object.fromEntries(params)]
}
const dialog = (title: string) => page.getByRole('dialog', { name: title })
const focused = () => page.evaluate<string | null>('document.activeElement.getAttribute("aria-label")')

/** Opens the palette, and finds by a text. */
async function search(text: string): Promise<void> {
  await page.keyboard.press('Control+k')
  await dialog('Search and do').waitFor()
  await expect.poll(focused).toBe('A page, a name, an id or an action')
  await page.keyboard.type(text)
}
const option = (name: string | RegExp) => page.getByRole('option', { name })

const FILTERED = { 'filter[service][eq]': 'checkout', period: '7d' }
const QUERY = new URLSearchParams(FILTERED).toString()

describe('saved views', () => {
  test('those of an earlier version, which this browser has, are kept at the service', async () => {
    await page.evaluate(
      `localStorage.setItem('attribution.views', JSON.stringify({ Long: 'a=' + 'x'.repeat(2048), Old: 'sort=-cost_usd' }))`,
    )
    await go('explorer', QUERY)
    await page.waitForSelector('.chip')
    await page.keyboard.press('v')
    await dialog('Saved views')
      .getByText(/only in this browser: Long, Old/)
      .waitFor()
    await page.click('dialog button:has-text("Keep them")')
    await dialog('Saved views').getByRole('link', { name: 'Old' }).waitFor()
    await dialog('Saved views')
      .getByText(/does not take Long:/)
      .waitFor()
    await page.click('dialog button:has-text("Forget them")')
    await page.locator('dialog button:has-text("Forget them")').waitFor({ state: 'detached' })

    expect(await page.evaluate(`localStorage.getItem('attribution.views')`)).toBeNull()
    expect(await page.locator('dialog :text("only in this browser")').count()).toBe(0)
  })

  test('a page is saved as it is, and opened from any other', async () => {
    await page.fill('dialog input[name=name]', 'Checkout, this week')
    await page.check('dialog input[name=shared]')
    await page.click('dialog button:has-text("Save this view")')
    const saved = dialog('Saved views').getByRole('link', { name: 'Checkout, this week' })
    await saved.waitFor()
    expect(await layoutFaults(page)).toEqual([])
    await page.keyboard.press('Escape')
    await go('')
    await page.waitForSelector('[data-total]')
    await page.keyboard.press('v')
    await saved.click()

    await page.waitForSelector('.chip:has-text("checkout")')
    expect(place()).toEqual(['explorer', FILTERED])
  })

  test('others see what is shared, and whose it is, and cannot change it', async () => {
    const own = { console, page }
    console = await openConsole(browser)
    page = console.page
    await signInByPassword(page, { credentials: { ...service.credentials, ...READER } })
    await page.keyboard.press('v')
    const row = dialog('Saved views').getByRole('row', { name: 'Checkout, this week' })
    await row.getByText(service.credentials.admin_username).waitFor()

    expect(await dialog('Saved views').getByRole('link').allTextContents()).toEqual(['Checkout, this week'])
    expect(await row.getByRole('button').count()).toBe(0)
    expect(console.faults).toEqual([])
    await page.context().close()
    ;({ console, page } = own)
  })

  test('its owner unshares and removes one', async () => {
    await page.keyboard.press('v')
    await page.getByRole('button', { name: 'Unshare Checkout, this week' }).click()
    await page.getByRole('button', { name: 'Share Checkout, this week' }).waitFor()
    await page.getByRole('button', { name: 'Remove Old' }).click()
    await dialog('Saved views').getByRole('link', { name: 'Old' }).waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')

    expect(await page.locator('dialog[open]').count()).toBe(0)
  })
})

describe('the palette', () => {
  test('leads to a page, a name, a view and a call, by keyboard alone', async () => {
    await search('audit')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.title()).toContain('Audit log')

    await search('checkout')
    await option(/^checkout service$/).waitFor()
    expect(await layoutFaults(page)).toEqual([])
    await page.keyboard.press('Enter')
    await expect.poll(place).toEqual(['', FILTERED])

    await search('this week')
    await option(/saved view/).waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(place).toEqual(['explorer', FILTERED])

    await search(recordId)
    await page.keyboard.press('Enter')
    await page.waitForSelector('.card .sum')
    expect(place()).toEqual(['explorer', { period: '7d', record: recordId }])
  })

  test('finds people and the directory, by a part of a name in any case', async () => {
    await search('zoe')
    await option(/Zoe Anders/).click()
    await page.waitForSelector('section[aria-label="Identities"] tr:only-child:has-text("Zoe Anders")')

    await search('READER@')
    await option(/reader@example.com/).click()
    await page.waitForSelector('section[aria-label="People"] .card')
  })

  test('opens the dialog of another page at its first field, and moves by arrows', async () => {
    await search('add a')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.type(' budget')
    await page.keyboard.press('Enter')
    await page.waitForSelector('dialog input[name=name]:focus')

    expect(place()[0]).toBe('budgets')
    await page.keyboard.press('Control+k')
    expect(await page.locator('dialog').count()).toBe(1)
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
  })

  test('has what was typed before it was there, which the page beneath does not take for its keys', async () => {
    await go('explorer')
    await page.reload()
    await page.waitForSelector('h1:text-is("Explorer")', { state: 'attached' })
    let send: () => void = () => undefined
    const isSent = new Promise<void>((resolve) => {
      send = resolve
    })
    await page.route(/\.js$/, async (route) => {
      await isSent
      await route.continue()
    })
    const isAsked = page.waitForRequest(/\.js$/)
    await page.keyboard.press('Control+k')
    await isAsked
    await page.keyboard.type('v1 c')
    send()
    await expect.poll(focused).toBe('A page, a name, an id or an action')
    await page.keyboard.type('all')

    expect(await dialog('Search and do').getByRole('combobox').inputValue()).toBe('v1 call')
    expect(place()[0]).toBe('explorer')
    await page.unroute(/\.js$/)
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
  })

  test('shows whoever may not read people and settings neither these nor their actions', async () => {
    const own = { console, page }
    console = await openConsole(browser)
    page = console.page
    await signInByPassword(page, { credentials: { ...service.credentials, ...READER } })
    await search('check')
    await option(/^checkout/)
      .first()
      .waitFor()

    expect(await option(/directory/).count()).toBe(0)
    for (const text of ['audit', 'add a', 'reader', 'budgets']) {
      await dialog('Search and do').getByRole('combobox').fill(text)
      await option('Calls whose service contains').waitFor()
      expect(await option(/Audit log|Add a|person|Budgets/).count(), text).toBe(0)
    }
    expect(console.faults).toEqual([])
    await page.context().close()
    ;({ console, page } = own)
  })
})

test('a key goes to the field in which one types, another lists the keys', async () => {
  for (const [name, focusedField] of [
    ['explorer', '.add-filter input:focus'],
    ['directory', 'input[type=search]:focus'],
    ['audit', 'input[type=search]:focus'],
  ]) {
    await go(name as string)
    await page.waitForSelector('[data-filter]')
    await page.keyboard.press('/')
    await page.waitForSelector(focusedField as string)
  }
  await page.keyboard.press('?')
  expect(await page.inputValue('input[type=search]')).toBe('?')
  await page.fill('input[type=search]', '')
  await page.locator('main').focus()
  await page.keyboard.press('?')
  await dialog('Keys').waitFor()
  expect(await layoutFaults(page)).toEqual([])
  await search('')
  await dialog('Keys').waitFor({ state: 'detached' })

  expect(console.faults).toEqual([])
})
