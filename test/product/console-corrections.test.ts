import { createHash, randomBytes } from 'node:crypto'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storedCodes } from '../../internal/access/oauth/authorization-codes.js'
import { type StoredUser, userKey } from '../../internal/access/oauth/users.js'
import { consoleClientId, consoleLinkUri } from '../../internal/auth/console-client.js'
import { AUTHORIZATION_CODES, USERS } from '../../streams/buckets.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributed, attributedAll, untilAttributed } from '../support/attributed.js'
import {
  accessibilityFaults,
  type ConsolePage,
  goWithin,
  launchChromium,
  openConsole,
  statedIn,
} from '../support/chromium.js'
import { connectTo } from '../support/instance.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** What a person corrects at the console: one call, many calls, and what could not be named. */

const HOUR_S = 60 * 60

let service: Instance
let ask: Ask
let browser: Browser
let console: ConsolePage
let page: Page

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const created = await ask('POST', '/api/v1/directory/services', { name: 'checkout', owner: 'team-payments' })
  expect(created.status).toBe(201)
  const call = (attributed_service: string | undefined, people: number, requested_model = 'gpt-4o') =>
    Array.from({ length: people }, (_, i) => ({
      ...(attributed_service !== undefined && { attributed_service, attributed_identity: `person-${i}@example.com` }),
      ingestion_timestamp: new Date(Date.now() - HOUR_S * 1_000 * (i + 1)).toISOString(),
      requested_model,
      input_tokens: 1_200,
      output_tokens: 250,
    }))
  await attributedAll(ask, [
    ...call('checkout', 6),
    ...call('chekout', 6),
    ...call(undefined, 6),
    ...call('search', 6, 'of-no-price-book'),
  ])
  browser = await launchChromium()
  console = await openConsole(browser)
  page = console.page
  await signInHoursAgo(1)
})

afterAll(() => browser.close())

/** As if the person had signed in some hours ago, and had refreshed the tokens since. */
async function signInHoursAgo(hours: number): Promise<void> {
  const { tenant_id, base_url, console_url, admin_username } = service.credentials
  const broker = await connectTo(service)
  const user = (await (await broker.bucket(USERS)).get(userKey(tenant_id, admin_username)))?.json<StoredUser>()
  const verifier = randomBytes(32).toString('base64url')
  const code = await storedCodes(await broker.bucket(AUTHORIZATION_CODES)).issue(
    {
      tenant_id,
      client_id: consoleClientId(tenant_id) ?? '',
      user_id: user?.id ?? '',
      redirect_uri: consoleLinkUri(base_url),
      scopes: user?.scopes ?? [],
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      auth_time: Math.floor(Date.now() / 1_000) - hours * HOUR_S,
      session_id: randomBytes(16).toString('base64url'),
    },
    Date.now(),
  )
  await broker.close()
  await page.goto(`${console_url}#code=${code}&verifier=${verifier}`)
  await page.waitForSelector('[data-total]')
}

describe('the explorer', () => {
  test('shares its filters by the address, sorts, and shows how a cost adds up', async () => {
    await goWithin(page, '/console/explorer')
    await page.selectOption('.add-filter select >> nth=0', 'service')
    await page.fill('.add-filter input', 'checkout')
    await page.click('button:has-text("Add the filter")')
    await page.waitForSelector('.chip')
    await page.click('button.sorts:has-text("cost USD")')
    await page.waitForSelector('.shown[aria-busy=false] th[aria-sort=descending]:has-text("cost USD")')
    const tokens = page.locator('th:has-text("tokens in, out")')
    expect([await tokens.getAttribute('title'), await tokens.locator('button').count()]).toEqual([
      expect.stringContaining('Calls can be sorted by'),
      0,
    ])

    expect(statedIn(page)).toBe('filter[service][eq]=checkout&sort=-cost_usd')
    await expect.poll(() => page.locator('table.figures tbody tr').count()).toBe(6)

    await page.click('button.opens >> nth=0')
    await page.waitForSelector('.card .sum')
    await expect
      .poll(() => page.textContent('.card .sum'))
      .toMatch(/1,200 input × 2\.5\/M.*0\.003.*250 output × 10\/M.*0\.0025.*0\.0055\s*USD/s)
    expect(await accessibilityFaults(page)).toEqual([])
  })

  test('overrides a call after a sign-in in a window of its own, and undoes it on the same card', async () => {
    await page.evaluate(`document.querySelector('.card').dataset.first = 'true'`)
    await page.click('.card button:has-text("Give it to")')
    await page.fill('dialog input[name=service]', 'search')
    await page.fill('dialog input[name=owner]', 'team-search')
    await page.fill('dialog input[name=reason]', 'The key was lent.')
    await page.click('dialog button:has-text("Give it to search")')
    const again = page.locator('dialog:has-text("Sign in again") button:has-text("new window")')
    const [popup] = await Promise.all([page.context().waitForEvent('page'), again.click()])
    await popup.fill('#username', service.credentials.admin_username)
    await popup.fill('#password', service.credentials.admin_password)
    await popup.click('button[value=allow]')

    await page.waitForSelector('.card h2:has-text("search · team-search")')
    await expect.poll(() => page.textContent('.card')).toContain('Overridden by hand')
    // It is not this service's call any more, which the filter selects.
    await page.waitForSelector(
      'tr:has-text("no longer in this list") + tr.inside .card[data-first=true]:has-text("Done.")',
    )
    await page.click('.card button:has-text("Undo the override")')
    await page.waitForSelector('.card h2:has-text("checkout · team-payments")')
    await page.locator('text=no longer in this list').waitFor({ state: 'detached' })
    await page.waitForSelector('.card[data-first=true] .history li >> nth=1')
  })
})

/**
 * The page as it is read anew. Once opened it changes by what the person does alone, so that nothing moves under a
 * click.
 */
async function openUnattributed(): Promise<void> {
  await goWithin(page, '/console/sources')
  await page.waitForSelector('section[aria-label="What arrives"]')
  await goWithin(page, '/console/unattributed')
  await page.waitForSelector('.queue')
}

const STATUS = /\/v1\/attribution\/overrides\/[^/]+\/status/
const REPORT = /\/v1\/reports\/usage/

describe('unattributed', () => {
  test('lists by money what could not be named or priced, without a fault that axe finds', async () => {
    await expect
      .poll(async () => {
        await openUnattributed()
        return page.textContent('.queue')
      })
      .toMatch(/chekout is it checkout\?.*Calls that say nothing of who made them.*of-no-price-book/s)

    await page.click('button.opens:has-text("chekout")')
    await expect.poll(() => page.textContent('.chosen')).toContain('6 calls, USD 0.033')
    expect(await accessibilityFaults(page)).toEqual([])
  })

  test('makes a name an alias in one click, and attributes its calls again', async () => {
    await page.click('button:has-text("Yes, always: it is checkout")')
    await page.waitForSelector('.chosen [role=status]:has-text("6 calls of USD 0.033 moved")')

    await expect
      .poll(async () => (await ask('GET', '/v1/attribution?filter[service][eq]=chekout')).json.data.length)
      .toBe(0)
  })

  test('gives many calls to a service after showing what would change, and takes it back', async () => {
    await openUnattributed()
    await page.waitForSelector('[data-unattributed="0.033"]')
    await page.click('section:has(h2:text("Calls that say nothing")) button.opens')
    await page.fill('.bulk input[name=service]', 'checkout')
    await page.fill('.bulk input[name=owner]', 'team-payments')
    await page.fill('.bulk input[name=reason]', 'Only checkout uses this proxy.')
    await page.click('button:has-text("See what would change")')
    await page.waitForSelector('.bulk:has-text("6 calls of USD 0.033 would go to checkout")')

    // The job as if it took long, and the amount's report longer than from one count of it to the next: the job ends
    // once the amount has fallen, so that each report has to be read to its end.
    const counts = [0, 2, 3, 4]
    const cut: string[] = []
    page.on('requestfailed', (request) => REPORT.test(request.url()) && cut.push(request.url()))
    let onCounted = (): void => undefined
    const counted = new Promise<void>((resolve) => {
      onCounted = resolve
    })
    const fallen = page.waitForSelector('[data-unattributed="0"]')
    await page.route(STATUS, async (route) => {
      const overridden = counts.shift()
      if (overridden === undefined) {
        await expect.poll(async () => (await (await route.fetch()).json()).status).toBe('applied')
        onCounted()
        await fallen
      }
      const answer = await route.fetch()
      const running = overridden !== undefined && { status: 'running', overridden }
      await route.fulfill({ json: { ...(await answer.json()), ...running } })
    })
    await page.route(REPORT, async (route) => {
      await counted
      await route.continue()
    })
    await page.click('.bulk button:has-text("Give them to checkout")')
    await page.waitForSelector('.bulk [role=status]:has-text("6 of 6")')
    expect(cut).toEqual([])
    await page.unroute(STATUS)
    await page.unroute(REPORT)
    await page.click('.bulk button:has-text("Undo it")')
    await page.waitForSelector('[data-unattributed="0.033"]')
  })

  test('lists by money the calls whose facts contradict each other, and leads to them', async () => {
    const crawler = { name: 'crawler', owner: 'team-crawl' }
    const workload = { name: 'sa-crawler', service: 'crawler', is_workload: true }
    expect((await ask('POST', '/api/v1/directory/services', crawler)).status).toBe(201)
    expect((await ask('POST', '/api/v1/directory/identities', workload)).status).toBe(201)
    const call = {
      attributed_service: 'checkout',
      attributed_identity: 'sa-crawler',
      requested_model: 'gpt-4o',
      input_tokens: 1_000_000,
    }
    await untilAttributed(ask, call, ({ interpretation }) => interpretation.contested === 'workload_identity')
    for (const attributed_service of ['crawler', 'checkout']) {
      await attributed(ask, { attributed_service, trace_id: 'workflow' })
    }
    await untilAttributed(ask, { trace_id: 'workflow' }, ({ interpretation }) => interpretation.contested === 'trace')
    const conflicts = 'section:has(h2:text("Facts that contradict each other"))'
    await expect
      .poll(
        async () => {
          await openUnattributed()
          return page.textContent('.queue')
        },
        { timeout: 120_000 },
      )
      .toContain('checkout but the workload belongs to another service')
    expect(await page.textContent(conflicts)).toContain('takes calls whose traces name several services')

    await page.click(`${conflicts} button.opens:has-text("checkout")`)
    await page.waitForSelector('.chosen:has-text("made by a workload that the directory gives to another one")')
    expect(await accessibilityFaults(page)).toEqual([])
    await page.click('.chosen a:has-text("Look at the calls")')
    await page.waitForSelector('.chip:has-text("contested is workload identity")')
    await page.waitForSelector('table.figures tbody tr:has-text("checkout")')
  })

  test('says of calls that nobody has a price for that their cost is not known', async () => {
    await attributed(ask, { provider: 'mistral', requested_model: 'in-no-list', input_tokens: 100, output_tokens: 10 })
    const row = page.locator('.queue nav tr:has-text("to mistral")')
    await expect
      .poll(async () => {
        await openUnattributed()
        return row.locator('td').allTextContents()
      })
      .toEqual(['1 call', 'not known'])
  })
})

test('no page logged an error, or was refused by its own policy', () => {
  expect(console.faults).toEqual([])
})
