import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addressOf } from '../../internal/console/figures/address.js'
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
import { answerChallenge, type Receiver } from '../support/receiver.js'
import type { Instance } from '../support/service.js'

/** Budgets that say who hears of them, and what has happened while somebody looks. */

let service: Instance
let ask: Ask
let browser: Browser
let console: ConsolePage
let page: Page
let receiver: Receiver

const section = (title: string) => page.locator(`section[aria-label="${title}"]`)

/** Calls of several people, of 0.0055 USD each. */
const calls = (count: number, stated: Record<string, unknown>) =>
  attributedAll(
    ask,
    Array.from({ length: count }, (_, i) => ({
      requested_model: 'gpt-4o',
      input_tokens: 1_200,
      output_tokens: 250,
      attributed_identity: `person-${i}@example.com`,
      ingestion_timestamp: new Date().toISOString(),
      ...stated,
    })),
  )

/** Of the path: one that answers, and one that fails whatever is sent but its challenge. */
async function registerWebhook(path: string): Promise<void> {
  const registered = await ask('POST', '/api/v1/webhooks', {
    url: `https://127.0.0.1:${receiver.port}/${path}`,
    events: ['budget.threshold.crossed'],
  })
  const one = `/api/v1/webhooks/${registered.json.id}`
  await expect.poll(async () => (await ask('GET', one)).json.status).toBe('verified')
}

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  for (const [name, owner] of [
    ['search', 'team-search'],
    ['chat', 'team-chat'],
  ]) {
    expect((await ask('POST', '/api/v1/directory/services', { name, owner })).status).toBe(201)
  }
  receiver = await launchReceiverOfProduct()
  receiver.answer = (response, received) => {
    if (received.json.type === 'webhook.verification') return answerChallenge(response, received)
    response.writeHead(received.path === '/failing' ? 503 : 200).end()
  }
  await calls(6, { attributed_service: 'search' })
  browser = await launchChromium()
  console = await openConsole(browser)
  page = console.page
  await signInByPassword(page, service)
  await page.waitForSelector('[data-total]')
})

afterAll(async () => {
  await browser.close()
  await receiver.close()
})

test('says that nobody hears of a budget, until somebody does', async () => {
  expect((await ask('POST', '/api/v1/budgets', { name: 'All', ceiling_usd: '0.06' })).status).toBe(201)
  await goWithin(page, addressOf('budgets', new URLSearchParams()))
  await section('Budgets').locator('tr:has-text("All"):has-text("nobody")').waitFor()
  await registerWebhook('answering')
  await registerWebhook('failing')

  await goWithin(page, addressOf('sources', new URLSearchParams()))
  await goWithin(page, addressOf('budgets', new URLSearchParams()))
  await section('Budgets').locator('tr:has-text("All"):has-text("2 webhooks")').waitFor()
})

test('a crossing shows while one looks, and its mark lies on the line', async () => {
  await page.click('button.opens:has-text("All")')
  await page.waitForSelector('.chart polyline.left')
  expect(await page.locator('.chart circle.crossing').count()).toBe(0)
  await calls(3, { attributed_service: 'chat' })

  await section('Budgets').locator('tbody tr:has-text("82.50 %"):has-text("75 %")').first().waitFor()
  await page.waitForSelector('.chart circle.crossing')
  const isOnLine = await page.evaluate(`(() => {
    const line = document.querySelector('.chart polyline.left')
    const mark = document.querySelector('.chart circle.crossing')
    const [x, y] = [mark.cx.baseVal.value, mark.cy.baseVal.value]
    const places = Array.from({ length: 2001 }, (_, i) => line.getPointAtLength((line.getTotalLength() * i) / 2000))
    return places.some((place) => Math.hypot(place.x - x, place.y - y) < 1)
  })()`)
  expect(isOnLine).toBe(true)
})

test('a test event says of each target whether it was delivered', async () => {
  await page.click('button:has-text("Send a test event")')
  await page.selectOption('dialog select[name=threshold]', '100')
  await page.click('dialog button:has-text("Send it")')

  const targets = section('Who hears of it')
  await targets.locator('tr:has-text("/answering"):has-text("delivered: 200 in")').waitFor()
  await targets.locator('tr:has-text("/failing"):has-text("not delivered: 503")').waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  expect(await layoutFaults(page)).toEqual([])
})

test('gives one owner a ceiling of its own; what is nobody’s is no owner', async () => {
  await calls(2, { attributed_service: 'of-nobody', attributed_identity: undefined })
  await calls(2, { attributed_identity: undefined })
  await page.click('button:has-text("Change it")')
  await page.selectOption('dialog select[name=per]', 'owner')
  await page.click('dialog button:has-text("Change the budget")')
  await section('By owner').locator('tr:has-text("team-search"):has-text("55.00 %")').waitFor()
  await section('By owner').locator('tbody tr:has-text("team-chat") button').click()
  await page.fill('dialog input[name=ceiling]', '0.0165')
  expect(await accessibilityFaults(page)).toEqual([])
  await page.click('dialog button:has-text("Set the ceiling")')

  await section('By owner').locator('tr:has-text("team-chat"):has-text("own"):has-text("100.00 %")').waitFor()
  expect(await section('By owner').locator('tbody th').allTextContents()).toEqual(['team-search', 'team-chat'])
  expect((await ask('GET', '/api/v1/budgets')).json.data).toMatchObject([
    { group_ceilings_usd: { 'team-chat': '0.0165' } },
  ])
  expect(await layoutFaults(page)).toEqual([])
})

test('no page logged an error, or was refused by its own policy', () => {
  expect(console.faults).toEqual([])
})
