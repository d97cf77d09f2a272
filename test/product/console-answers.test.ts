import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { linkTo } from '../../internal/console/figures/address.js'
import { dayTextOf } from '../../internal/console/figures/days.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributedAll, untilAttributed } from '../support/attributed.js'
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

/** What a platform engineer answers on "Unattributed": the past moves with each answer, and can be moved back. */

const HOUR_MS = 60 * 60 * 1_000
/** Of one call below. */
const USD = 0.0055

let service: Instance
let ask: Ask
let browser: Browser
let console: ConsolePage
let page: Page

/** Without an identity, nobody owns them. */
const calls = (count: number, stated: object) =>
  Array.from({ length: count }, (_, i) => ({
    ingestion_timestamp: new Date(Date.now() - HOUR_MS * (1 + (i % 20))).toISOString(),
    provider: 'openai',
    requested_model: 'gpt-4o',
    input_tokens: 1_200,
    output_tokens: 250,
    ...stated,
  }))

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  await ask('PATCH', '/api/v1/settings', { stage_b_enabled: false })
  await ask('POST', '/api/v1/directory/services', { name: 'checkout', owner: 'team-payments' })
  await untilAttributed(ask, {}, ({ service: name }: { service: string }) => name === 'unallocated')
  await attributedAll(ask, [
    ...calls(120, { attributed_service: 'mailer' }),
    ...calls(90, { attributed_service: 'chekout' }),
    ...calls(60, {}),
    ...calls(30, { provider: 'anthropic', requested_model: 'in-house', estimated_cost_usd: '0.0055' }),
    ...calls(10, { attributed_service: 'checkout', requested_model: 'of-no-price-book' }),
  ])
  browser = await launchChromium()
  console = await openConsole(browser)
  page = console.page
  await signInByPassword(page, service)
})

afterAll(() => browser.close())

/** The page as it is read anew. */
async function openUnattributed(): Promise<void> {
  await goWithin(page, linkTo('sources', new URLSearchParams()))
  await page.waitForSelector('section[aria-label="What arrives"]')
  await goWithin(page, linkTo('unattributed', new URLSearchParams()))
  await page.waitForSelector('.queue')
}

const amount = async (): Promise<number> => Number(await page.getAttribute('[data-unattributed]', 'data-unattributed'))
const item = (text: string) => page.locator(`.queue nav button.opens:has-text("${text}")`)
const recent = () => page.locator('section[aria-label="Recent answers"] tbody tr')

test('sorts by money, kinds as well as what is in them', async () => {
  await expect
    .poll(async () => {
      await openUnattributed()
      return (await item('mailer').count()) * (await item('of-no-price-book').count())
    })
    .toBe(1)

  const rows = await page.locator('.queue nav button.opens').allTextContents()
  expect(rows.findIndex((row) => row.startsWith('mailer'))).toBe(0)
  expect(rows.findIndex((row) => row.startsWith('chekout'))).toBe(1)
  expect(rows.slice(-2).join()).toContain('of-no-price-book')
})

test('tells nobody that calls of an unknown name are in the chargeback file', async () => {
  const reader = { username: 'reader', password: 'a quiet afternoon in Lisbon', scopes: ['read:reporting'] }
  expect((await ask('POST', '/api/v1/users', reader)).status).toBe(201)
  const { context, page: theirs } = await openConsole(browser)
  const credentials = { ...service.credentials, admin_username: reader.username, admin_password: reader.password }
  await signInByPassword(theirs, { credentials })
  await goWithin(theirs, linkTo('unattributed', new URLSearchParams()))
  await theirs.locator('.queue:has-text("of-no-price-book")').waitFor()

  expect(await theirs.textContent('.queue')).not.toContain('chekout')
  await context.close()
})

describe('a name that the directory does not know', () => {
  test('is a new service of a team: its calls move, the amount falls, and nothing of it is without an owner', async () => {
    const before = await amount()
    await item('mailer').click()
    const form = page.locator('.chosen form:has(button:text-is("Add the service"))')
    await form.locator('input[name=owner]').fill('team-mail')
    await form.locator('button:has-text("See what would move")').click()
    await page.waitForSelector('.chosen [role=status]:has-text("120 calls of USD 0.66 would move")')
    expect((await ask('GET', '/api/v1/directory/services?name=mailer')).json.data).toEqual([])
    expect(await accessibilityFaults(page)).toEqual([])

    await form.locator('button:text-is("Add the service")').click()
    await page.waitForSelector('.chosen [role=status]:has-text("120 calls of USD 0.66 moved")')
    await expect.poll(amount).toBeCloseTo(before - 120 * USD, 6)
    await item('mailer').waitFor({ state: 'detached' })
    await expect.poll(() => page.textContent('.queue nav')).not.toContain('mailer')
  })

  test('is in the list of answers, with who gave it and what moved, and is taken back from there', async () => {
    await expect.poll(() => recent().first().textContent()).toContain('mailer is a service of team-mail')
    expect(await recent().first().textContent()).toMatch(/120.*0\.66/)
    expect(await recent().first().textContent()).toContain(service.credentials.admin_username)

    const before = await amount()
    await recent().first().locator('button:has-text("Undo")').click()
    await expect.poll(amount).toBeCloseTo(before + 120 * USD, 6)
    await item('mailer').waitFor()
    await expect.poll(() => recent().first().textContent()).toContain('no service of the directory any more')
    expect((await ask('GET', '/api/v1/directory/services?name=mailer')).json.data).toEqual([])
  })

  test('is another name of a service in one click', async () => {
    const before = await amount()
    await item('chekout').click()
    await page.click('button:has-text("Yes, always: it is checkout")')
    await page.waitForSelector('.chosen [role=status]:has-text("90 calls of USD 0.50 moved")')

    await expect.poll(amount).toBeCloseTo(before - 90 * USD, 6)
    await expect.poll(() => recent().first().textContent()).toContain('chekout is another name of checkout')
  })
})

test('a service that the directory got without the past gets its calls by the same answer', async () => {
  await ask('POST', '/api/v1/directory/services', { name: 'mailer', owner: 'team-mail' })
  await openUnattributed()
  await item('mailer').click()
  await page.click('.chosen button:has-text("Give them to the owner")')
  await page.waitForSelector('.chosen [role=status]:has-text("120 calls of USD 0.66 moved")')
  await item('mailer').waitFor({ state: 'detached' })
})

describe('calls that say nothing of who made them', () => {
  test('go to the service of their key', async () => {
    await item('to openai').click()
    const form = page.locator('.chosen form:has(button:has-text("Its calls are of this service"))')
    await form.locator('input[name=service]').fill('checkout')
    await form.locator('button:has-text("See what would move")').click()
    await page.waitForSelector('.chosen [role=status]:has-text("would move")')
    expect(await page.textContent('.chosen [role=status]')).toMatch(/91 calls/)
  })

  test('go where a rule says, which moves the past with it, and are back when it is removed', async () => {
    const before = await amount()
    await page.click('.chosen button:has-text("Write a rule for such calls")')
    await page.fill('dialog input[name=name]', 'small-jobs')
    await page.selectOption('dialog select >> nth=0', 'model')
    await page.selectOption('dialog select >> nth=1', 'exact')
    await page.fill('dialog .filters input', 'gpt-4o')
    await page.fill('dialog input[name=service]', 'checkout')
    await page.fill('dialog input[name=owner]', 'team-jobs')
    await page.click('dialog button:has-text("See what would change")')
    await page.waitForSelector('dialog [role=status]:has-text("61 calls of USD 0.33 would move")')
    await page.click('dialog button:has-text("Save the rule")')
    await page.waitForSelector('dialog [role=status]:has-text("61 calls of USD 0.33 moved")')
    await page.click('dialog button:text-is("Close")')
    await expect.poll(amount).toBeCloseTo(before - 60 * USD, 6)

    await expect.poll(() => recent().first().textContent()).toContain('The rule small-jobs, applied to the past')
    await recent().first().locator('button:has-text("Remove the rule")').click()
    await expect.poll(amount).toBeCloseTo(before, 6)
    expect((await ask('GET', '/api/v1/mapping-rules')).json.data).toEqual([])
  })

  test('or to a person or program that they state, whose name is in no job', async () => {
    const name = 'sa-nightly-batch'
    // As many people as a group has at least that is listed.
    await attributedAll(
      ask,
      [name, 'p-1', 'p-2', 'p-3', 'p-4', 'p-5'].flatMap((attributed_identity) =>
        calls(5, {
          provider: 'mistral',
          requested_model: 'in-house',
          estimated_cost_usd: '0.001',
          attributed_identity,
        }),
      ),
    )
    await expect
      .poll(async () => {
        await openUnattributed()
        return item('to mistral').count()
      })
      .toBe(1)
    const before = await amount()
    await item('to mistral').click()
    const form = page.locator('.chosen form:has(button:has-text("Add the identity"))')
    await form.locator('input[name=name]').fill(name)
    await form.locator('input[name=owner]').fill('team-batch')
    await form.locator('input[name=is_workload]').check()
    expect(await accessibilityFaults(page)).toEqual([])
    const since = form.locator('input[name=since]')
    const first = await since.inputValue()
    await since.fill(dayTextOf(Date.now() + 48 * HOUR_MS, 'UTC'))
    await form.locator('button:has-text("Add the identity")').click()
    // The identity is there, and the calls of a time that has not begun are refused.
    await form.locator('[role=alert]:has-text("must be before to")').waitFor()
    expect((await ask('GET', `/api/v1/directory/identities?name=${name}`)).json.data).toHaveLength(1)
    await since.fill(first)
    await form.locator('button:has-text("Add the identity")').click()

    await page.waitForSelector('.chosen tr:has-text("team-batch"):has-text("5")')
    await expect.poll(amount).toBeCloseTo(before - 0.005, 6)
    const answers = await ask('GET', '/api/v1/reattributions')
    expect(answers.json.data[0]).toMatchObject({ what: 'period', name: null, can_undo: false })
    expect(JSON.stringify(answers.json)).not.toContain(name)
  })

  test('or into a pool that somebody owns', async () => {
    await item('to anthropic').click()
    const form = page.locator('.chosen form:has(button:has-text("Keep them in the pool"))')
    await form.locator('input[name=name]').fill('shared-anthropic')
    await form.locator('input[name=owner]').fill('team-platform')
    await form.locator('button:text-is("Keep them in the pool")').click()
    await page.waitForSelector('.chosen [role=status]:has-text("30 calls of USD 0.16 moved")')
    await expect.poll(() => recent().first().textContent()).toContain('The pool shared-anthropic of team-platform')
    expect(await accessibilityFaults(page)).toEqual([])
  })
})

test('calls without a price get one, too', async () => {
  await item('of-no-price-book').click()
  await page.fill('.chosen label:has-text("input tokens") input', '2.5')
  await page.fill('.chosen label:has-text("output tokens") input', '10')
  await page.waitForSelector('.chosen:has-text("About USD 0.055")')
  await page.click('.chosen button:has-text("Set the price")')
  await page.waitForSelector('.chosen [role=status]:has-text("0.055")')
  await item('of-no-price-book').waitFor({ state: 'detached' })
})

test('the directory says what of the past a new owner moves', async () => {
  await goWithin(page, linkTo('directory', new URLSearchParams()))
  await page.click('tr:has-text("mailer") button:has-text("Change")')
  await page.fill('dialog input[name=owner]', 'team-post')
  await page.click('dialog button:has-text("See what would move")')
  await page.waitForSelector('dialog [role=status]:has-text("120 calls of USD 0.66 would move")')
  expect(await accessibilityFaults(page)).toEqual([])
  await page.click('dialog button:has-text("Change it")')
  await page.waitForSelector('dialog [role=status]:has-text("120 calls of USD 0.66 moved")')
  await page.click('dialog button:text-is("Close")')
  await page.waitForSelector('tr:has-text("mailer"):has-text("team-post")')
})

test('identities are followed by the calls of the past when these are attributed again', async () => {
  await goWithin(page, linkTo('directory', new URLSearchParams(), { list: 'identities' }))
  const past = page.locator('section[aria-label="Calls of the past"]')
  await past.locator('button:has-text("See what would move")').click()
  await past.locator('[role=status]:has-text("calls of USD")').waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
})

test('no page logged an error, or was refused by its own policy', () => {
  expect(console.faults).toEqual([])
})
