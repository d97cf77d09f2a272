import { gunzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
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
import { command } from '../support/instance.js'
import { sendPlanted } from '../support/planted-calls.js'
import { launchReceiverOfProduct, newTenantOfProduct } from '../support/product.js'
import type { Receiver } from '../support/receiver.js'
import type { Instance } from '../support/service.js'

/** What administrators do at the console: budgets, exports, and whatever else is set up rather than looked at. */

const HOUR_MS = 60 * 60 * 1_000
/** As a name from outside: no page may make HTML of it. */
const PLANTED = '<img src=x onerror=document.title=1>'

let service: Instance
let ask: Ask
let browser: Browser
let console: ConsolePage
let page: Page

const section = (title: string) => page.locator(`section[aria-label="${title}"]`)

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const created = await ask('POST', '/api/v1/directory/services', { name: 'search', owner: PLANTED })
  expect(created.status).toBe(201)
  const calls = (stated: Record<string, unknown>) =>
    Array.from({ length: 6 }, (_, i) => ({
      attributed_identity: `person-${i}@example.com`,
      ingestion_timestamp: new Date(Date.now() - HOUR_MS).toISOString(),
      input_tokens: 1_200,
      output_tokens: 250,
      ...stated,
    }))
  await attributedAll(ask, [
    ...calls({ attributed_service: 'search', requested_model: 'gpt-4o' }),
    ...calls({ requested_model: 'gpt-4o-mini' }),
  ])
  browser = await launchChromium()
  console = await openConsole(browser)
  page = console.page
  await signInByPassword(page, service)
  await page.waitForSelector('[data-total]')
})

afterAll(() => browser.close())

describe('budgets', () => {
  test('says what a budget is while there is none', async () => {
    await goWithin(page, '/console/budgets')
    await section('Budgets').locator('text=None yet').waitFor()

    expect(await layoutFaults(page)).toEqual([])
  })

  test('adds a budget, shows how it is spent, and where it was crossed', async () => {
    await page.click('button:has-text("Add a budget")')
    await page.fill('dialog input[name=name]', 'Search')
    await page.fill('dialog input[name=ceiling]', '0.04')
    await page.fill('dialog input[name=service]', 'search')
    await page.fill('dialog input[name=thresholds]', '50, 75, 100')
    expect(await layoutFaults(page)).toEqual([])
    await page.click('dialog button:has-text("Add the budget")')
    await page.click('button.opens:has-text("Search")')
    await page.waitForSelector('.chart polyline.left')
    await expect
      .poll(async () => (await ask('GET', '/api/v1/budgets')).json.data[0].current.crossings[1].crossed_at)
      .not.toBeNull()
    await goWithin(page, '/console/sources')
    await page.waitForSelector('section[aria-label="Senders"]')
    await page.goBack()
    await page.waitForSelector('.chart circle.crossing')

    const row = section('Budgets').locator('tbody tr').first()
    await expect.poll(() => row.textContent()).toMatch(/0\.033.*82\.50 %.*service search/)
    await expect
      .poll(() => page.getAttribute('.chart svg', 'aria-label'))
      .toMatch(/^USD 0\.0070 left of 0\.040;.*75 % crossed/)
    await expect.poll(() => page.locator('.chart circle.crossing').count()).toBe(2)
    expect(await layoutFaults(page)).toEqual([])
  })

  test('changes it to one for each owner, and says that nobody hears its test event', async () => {
    await page.click('button:has-text("Change it")')
    await page.fill('dialog input[name=ceiling]', '0.05')
    await page.selectOption('dialog select[name=per]', 'owner')
    await page.click('dialog button:has-text("Change the budget")')
    await page.waitForSelector(`section[aria-label="By owner"] tr:has-text("${PLANTED}"):has-text("66.00 %")`)
    await page.click('button:has-text("Send a test event")')
    await page.selectOption('dialog select[name=threshold]', '100')
    await page.click('dialog button:has-text("Send it")')

    await page.waitForSelector('[role=status]:has-text("A test event of 100 % is sent")')
    await page.waitForSelector('section[aria-label="Who hears of it"]:has-text("Nobody hears at 50 %, 75 %, 100 %.")')
    expect((await ask('GET', '/api/v1/budgets')).json.data).toMatchObject([
      { name: 'Search', per: 'owner', ceiling_usd: '0.05', filter: { service: 'search' }, thresholds: [50, 75, 100] },
    ])
    expect(await layoutFaults(page)).toEqual([])
  })

  test('removes it', async () => {
    await page.click('button:has-text("Remove it")')
    await page.click('dialog button:has-text("Remove the budget")')
    await section('Budgets').locator('text=None yet').waitFor()

    expect((await ask('GET', '/api/v1/budgets')).json.data).toEqual([])
  })
})

describe('exports', () => {
  const today = new Date().toISOString().slice(0, 10)

  test('says that there are none, and refuses what the service refuses', async () => {
    await goWithin(page, '/console/exports')
    await section('Exports').locator('text=None yet').waitFor()
    await page.fill('input[name=from]', today)
    await page.fill('input[name=to]', '2020-01-31')
    await page.click('button:has-text("Create the export")')
    await page.waitForSelector('.create [role=alert]')

    expect(await layoutFaults(page)).toEqual([])
  })

  test('creates one with filters, follows it, and its manifest accounts for every call', async () => {
    const yesterday = new Date(Date.now() - 2 * HOUR_MS).toISOString().slice(0, 10)
    await page.fill('input[name=from]', yesterday)
    await page.fill('input[name=to]', today)
    await page.selectOption('.add-filter select >> nth=0', 'service')
    await page.fill('.add-filter input', 'search')
    await page.click('button:has-text("Add the filter")')
    await page.click('button:has-text("Create the export")')
    await section('Exports').locator('tr:has-text("succeeded"):has-text("service is search")').waitFor()
    await page.click('section[aria-label="Exports"] button.opens')
    await page.waitForSelector('.sum')

    await expect
      .poll(() => page.textContent('.sum'))
      .toMatch(/in the file\s*6 calls\s*0\.033 USD.*everything\s*6 calls\s*0\.033 USD/s)
    expect(await layoutFaults(page)).toEqual([])
  })

  test('downloads the file', async () => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('button:has-text("Download")')])
    const bytes = Buffer.concat(await (await download.createReadStream()).toArray())

    const lines = gunzipSync(bytes).toString('utf8').trim().split('\r\n')
    expect(lines.length).toBeGreaterThan(1)
    expect(lines[0]).toContain('BilledCost')
    expect(page.url().split('?')[0]).toBe(`${service.credentials.console_url}/exports`)
  })
})

describe('webhooks', () => {
  let receiver: Receiver
  const log = () => section('Delivery log')

  beforeAll(async () => {
    receiver = await launchReceiverOfProduct()
  })
  afterAll(() => receiver.close())

  test('registers one, and shows its secret once', async () => {
    await goWithin(page, '/console/webhooks')
    await section('Webhooks').locator('text=None yet').waitFor()
    expect(await layoutFaults(page)).toEqual([])
    await page.click('button:has-text("Register a webhook")')
    await page.fill('dialog input[name=url]', `https://127.0.0.1:${receiver.port}/hook`)
    expect(await layoutFaults(page)).toEqual([])
    await page.click('dialog button:has-text("Register it")')

    const secret = (await page.textContent('dialog .secret')) ?? ''
    expect(secret).toMatch(/^whsec_/)
    const kept = await page.evaluate('JSON.stringify([location.href, {...localStorage}, {...sessionStorage}])')
    expect(kept).not.toContain(secret)
    await page.click('dialog button:has-text("I have it")')
    await section('Webhooks').locator('text=pending').waitFor()
    await expect.poll(() => page.content()).not.toContain(secret)
  })

  test('confirms the challenge that the receiver has logged', async () => {
    const [sent] = await receiver.until(1)
    await page.click('button:has-text("Confirm a challenge")')
    await page.fill('dialog input[name=challenge]', sent?.json.data.challenge)
    await page.click('dialog button:has-text("Confirm it")')

    await section('Webhooks').locator('td:text-is("verified")').waitFor()
  })

  test('shows what is sent while one looks, and sends it again', async () => {
    await log().locator('tr:has-text("webhook.verification")').first().waitFor()
    const budget = await ask('POST', '/api/v1/budgets', { name: 'all', ceiling_usd: '1000' })
    await ask('POST', `/api/v1/budgets/${budget.json.id}/test`, {})
    await receiver.until(1, ({ json }) => json.type === 'budget.threshold.crossed')
    await log().locator('tr:has-text("budget.threshold.crossed"):has-text("acknowledged")').waitFor()
    await page.click('button:has-text("Send it again")')
    await receiver.until(2, ({ json }) => json.type === 'budget.threshold.crossed')
    await log().locator('tr:has-text("(replay)")').first().waitFor()

    expect(await layoutFaults(page)).toEqual([])
  })

  test('sends again what a time had, and replaces the secret', async () => {
    await page.click('button:has-text("Send events again")')
    await page.selectOption('dialog select[name=which]', 'time')
    await page.fill('dialog input[name=from]', new Date(Date.now() - HOUR_MS).toISOString().slice(0, 16))
    await page.fill('dialog input[name=to]', new Date(Date.now() + HOUR_MS).toISOString().slice(0, 16))
    await page.click('dialog button:has-text("Send them again")')
    await receiver.until(3, ({ json }) => json.type === 'budget.threshold.crossed')
    await page.click('button:has-text("Replace the secret")')
    await page.click('dialog button:has-text("Replace it")')
    await page.waitForSelector('dialog .secret:has-text("whsec_")')
    await page.click('dialog button:has-text("I have it")')

    await page.waitForSelector('dt:has-text("old secret")')
    await page.click('button:has-text("Remove it")')
    await page.click('dialog button:has-text("Remove it")')
    await section('Webhooks').locator('text=None yet').waitFor()
  })
})

describe('the directory', () => {
  const fileOf = (lines: readonly string[]) => ({
    name: 'directory.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(['kind,name,owner,aliases,is_workload', ...lines].join('\r\n')),
  })

  test('adds, changes, finds and removes a service', async () => {
    await goWithin(page, '/console/directory')
    await section('Services').locator(`tr:has-text("search"):has-text("${PLANTED}")`).waitFor()
    await page.click('button:has-text("Add a service")')
    await page.fill('dialog input[name=name]', 'checkout')
    await page.fill('dialog input[name=owner]', 'team-shop')
    await page.fill('dialog input[name=aliases]', 'checkout-v2, kasse')
    expect(await layoutFaults(page)).toEqual([])
    await page.click('dialog button:has-text("Add it")')
    await section('Services').locator('tr:has-text("checkout-v2, kasse")').waitFor()
    expect(await layoutFaults(page)).toEqual([])
    await page.click('tr:has-text("checkout") button:has-text("Change")')
    await page.fill('dialog input[name=owner]', 'team-payments')
    await page.click('dialog button:has-text("Change it")')
    await section('Services').locator('tr:has-text("team-payments")').waitFor()
    await page.fill('input[type=search]', 'checkout')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.shown[aria-busy=false] tbody tr:only-child:has-text("checkout")')

    await page.click('tr:has-text("checkout") button:has-text("Remove")')
    await page.click('dialog button:has-text("Remove it")')
    await section('Services').locator('text=No name contains this').waitFor()
  })

  test.each(['identities', 'credentials', 'layers', 'rules'])(
    'has %s, without a fault that axe finds',
    async (list) => {
      await goWithin(page, `/console/directory?list=${list}`)
      await page.waitForSelector('section.list .shown[aria-busy=false]')

      expect(await layoutFaults(page)).toEqual([])
    },
  )

  test('tries a mapping rule before it is saved, saves it with the calls of the past, and applies it again', async () => {
    await goWithin(page, '/console/directory?list=rules')
    await page.click('button:has-text("Add a rule")')
    await page.fill('dialog input[name=name]', 'small-model')
    await page.selectOption('dialog select >> nth=0', 'model')
    await page.selectOption('dialog select >> nth=1', 'exact')
    await page.fill('dialog .filters input', 'gpt-4o-mini')
    await page.fill('dialog input[name=service]', 'search')
    expect(await layoutFaults(page)).toEqual([])
    await page.click('dialog button:has-text("See what would change")')
    await expect.poll(() => page.textContent('dialog')).toMatch(/: ?6 calls of USD 0\.0020 would move/)
    expect(await layoutFaults(page)).toEqual([])
    await page.click('dialog button:has-text("Save the rule")')
    await page.waitForSelector('dialog [role=status]:has-text("6 calls of USD 0.0020 moved")')
    await page.click('dialog button:text-is("Close")')
    await section('Mapping rules').locator('tr:has-text("model is gpt-4o-mini")').waitFor()
    await page.click('button:has-text("Apply to the past")')
    await page.click('dialog button:has-text("Apply it")')
    await section('Mapping rules').locator('[role=status]:has-text("0 calls")').waitFor()

    await expect
      .poll(async () => (await ask('GET', '/v1/attribution?filter[service][eq]=search')).json.data.length)
      .toBe(12)
    expect(await layoutFaults(page)).toEqual([])
  })

  test('shows what a file would add, change, remove and refuse, and then does it', async () => {
    for (const name of ['a', 'b']) await ask('POST', '/api/v1/directory/identities', { name, owner: 'team-a' })
    await goWithin(page, '/console/directory?list=file')
    const lines = ['identities,a,team-b,,', 'identities,ada@example.com,team-b,,', 'services,,team-c,,']
    await page.setInputFiles('input[type=file]', fileOf(lines))
    await page.click('button:has-text("See what would change")')
    await page.waitForSelector('[role=status]:has-text("1 added, 1 changed")')
    const shown = () => page.textContent('section[aria-label=Import]')
    await expect.poll(shown).toMatch(/1 added, 1 changed, \d removed, 1 refused/)
    await expect.poll(shown).toMatch(/refusedservices.*line 4/)
    await expect.poll(shown).toContain('owner team-a → team-b')
    expect(await page.isDisabled('button:has-text("Make these")')).toBe(true)
    await page.locator('.notice:has-text("removes more than a tenth")').waitFor()
    await page.check('input[name=allow_removals]')
    expect((await ask('GET', '/api/v1/directory/identities?name=ada@example.com')).json.data).toEqual([])
    expect(await layoutFaults(page)).toEqual([])

    await page.click('button:has-text("Make these")')
    await page.waitForSelector('[role=status]:has-text("Done:")')
    const identities = async () => (await ask('GET', '/api/v1/directory/identities')).json.data
    await expect
      .poll(identities)
      .toEqual(
        expect.arrayContaining([
          expect.objectContaining({ name: 'a', owner: 'team-b' }),
          expect.objectContaining({ name: 'ada@example.com' }),
        ]),
      )
  })

  test('exports the directory as a file', async () => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('button:has-text("Export it")')])
    const text = Buffer.concat(await (await download.createReadStream()).toArray()).toString('utf8')

    expect(text).toContain('identities,ada@example.com,team-b')
  })
})

describe('coverage', () => {
  test('maps which layers send calls, and which are missing', async () => {
    const missing = { name: 'edge-gateway', pathway: 'application_direct' }
    expect((await ask('POST', '/api/v1/directory/sources', missing)).status).toBe(201)
    // The page reads the coverage once, the service a moment after its sources change.
    await expect
      .poll(async () => {
        await goWithin(page, '/console/audit')
        await goWithin(page, '/console/coverage')
        await section('Coverage').locator('tbody tr').first().waitFor()
        return section('Coverage').locator('thead').textContent()
      })
      .toContain('edge-gateway')

    await section('Coverage').locator('td:has-text("sends calls")').first().waitFor()
    await section('Coverage').locator('td:has-text("missing")').first().waitFor()
    expect(await layoutFaults(page)).toEqual([])
  })
})

describe('models', () => {
  test('says what a model is while there is none', async () => {
    await goWithin(page, '/console/models')
    await section('Models').locator('text=None yet').waitFor()

    expect(await layoutFaults(page)).toEqual([])
  })

  test('shows the card of a version with its calibration, recalls and restores it', async () => {
    await sendPlanted(ask, 3_000, Date.now() - 3 * HOUR_MS)
    const { tenant_id } = service.credentials
    const trained = await command(service, ['model', 'train', '--tenant', tenant_id, '--json'])
    expect(trained.code, trained.lines.join()).toBe(0)
    await expect
      .poll(async () => (await ask('GET', '/v1/models')).json.data.map(({ status }: { status: string }) => status))
      .toEqual(['serving'])
    await goWithin(page, '/console/audit')
    await goWithin(page, '/console/models')
    await section('Models').locator('td:text-is("serving")').waitFor()
    await page.click('section[aria-label=Models] button.opens')
    await page.waitForSelector('.chart circle.bin')
    await expect.poll(() => page.textContent('.card')).toMatch(/learned from.*proved by facts.*validated on.*passed/s)
    expect(await layoutFaults(page)).toEqual([])

    await page.click('button:has-text("Recall it")')
    await page.click('dialog button:has-text("Recall it")')
    await section('Models').locator('td:text-is("recalled")').waitFor()
    await page.click('button:has-text("Restore it")')
    await page.click('dialog button:has-text("Restore it")')
    await section('Models').locator('td:text-is("serving")').waitFor()
  })
})

test('names are text on every page, and no page logged an error, or was refused by its own policy', async () => {
  expect(await page.title()).not.toBe('1')
  expect(console.faults).toEqual([])
})
