import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { askAs } from '../support/ask.js'
import { attributed } from '../support/attributed.js'
import { openConsole } from '../support/chromium.js'
import {
  ask,
  beginTask,
  browser,
  callsOf,
  console,
  fewSteps,
  hand,
  inLastMonth,
  openPage,
  openTasks,
  page,
  service,
} from '../support/console-tasks.js'
import { launchReceiverOfProduct } from '../support/product.js'
import { acknowledge, type Receiver } from '../support/receiver.js'

const CORRECTED = 500

let receiver: Receiver
/** The path of the webhook to the receiver. */
let hook: string

beforeAll(async () => {
  await openTasks([
    ...callsOf(7, 2, { attributed_service: 'search', input_tokens: 9_000 }),
    ...callsOf(7, 2, { attributed_service: 'checkout' }),
    ...callsOf(CORRECTED, 3, { attributed_service: 'lent-key' }),
    ...callsOf(7, inLastMonth(), { attributed_service: 'search' }),
  ])
  receiver = await launchReceiverOfProduct()
  const registered = await ask('POST', '/api/v1/webhooks', {
    url: `https://127.0.0.1:${receiver.port}/hook`,
    events: ['budget.threshold.crossed'],
  })
  expect(registered.status).toBe(201)
  hook = `/api/v1/webhooks/${registered.json.id}`
  const [sent] = await receiver.until(1)
  expect((await ask('POST', `${hook}/verify`, { challenge: sent?.json.data.challenge })).status).toBe(200)
})
afterAll(() => receiver.close())
beforeEach(beginTask)

describe('a lead of FinOps', () => {
  test('gives hundreds of calls to the service whose they are', async () => {
    await hand.click('section[data-table-total] button.opens:has-text("lent-key")')
    await hand.click('.inside a:has-text("Every call of lent-key")')
    await page.waitForSelector('.chip:has-text("lent-key")')
    await hand.click('summary:has-text("Give all of these calls to one service")')
    await hand.fill('.bulk input[name=service]', 'checkout')
    await hand.fill('.bulk input[name=owner]', 'team-checkout')
    await hand.fill('.bulk input[name=reason]', 'The key was lent.')
    await hand.click('button:has-text("See what would change")')
    await page.waitForSelector(`.bulk:has-text("${CORRECTED} calls")`)
    // It is of what was asked, and of nothing else.
    const period = await page.inputValue('.period select')
    await page.selectOption('.period select', '24h')
    await page.waitForSelector('.bulk:not(:has-text("Give them to checkout"))')
    await page.selectOption('.period select', period)
    await hand.click('.bulk button:has-text("Give them to checkout")')

    await page.waitForSelector(`.bulk [role=status]:has-text("${CORRECTED} of ${CORRECTED}")`)
    fewSteps()
  })

  test('reads on in a list while calls arrive, which waits for them to ask', async () => {
    await openPage('Explorer')
    const rows = page.locator('section[aria-label=Calls] button.opens')
    await expect.poll(() => rows.count()).toBe(50)
    let goOn: () => void = () => undefined
    const isHeld = new Promise<void>((resolve) => {
      goOn = resolve
    })
    await page.route(/&cursor=/, async (route) => {
      await isHeld
      await route.continue()
    })
    await Promise.all([page.waitForRequest(/&cursor=/), hand.click('button:has-text("Show more")')])
    await attributed(ask, { attributed_service: 'search', requested_model: 'gpt-4o', input_tokens: 1 })
    await page.waitForSelector('[role=status]:has-text("Newer calls have come")')
    goOn()

    await expect.poll(() => rows.count()).toBe(100)
    await page.unroute(/&cursor=/)
    fewSteps()
  })

  test('has the file of last month, and its total', async () => {
    await openPage('Exports')
    await hand.click('button:has-text("Create the export")')
    await page.waitForSelector('section[aria-label=Exports] tr:has-text("succeeded")')
    await hand.click('section[aria-label=Exports] button.opens')
    await expect.poll(() => page.textContent('.sum')).toMatch(/in the file\s*\d+ calls\s*\d+\.\d+ USD/)
    const [download] = await Promise.all([page.waitForEvent('download'), hand.click('button:has-text("Download")')])

    expect(download.suggestedFilename()).toContain('.csv')
    fewSteps()
  })

  test('has a budget for each team, of which the right people hear', async () => {
    await openPage('Budgets')
    await hand.click('button:has-text("Add a budget")')
    await hand.fill('dialog input[name=name]', 'Each team')
    await hand.fill('dialog input[name=ceiling]', '1000')
    await hand.choose('dialog select[name=per]', 'owner')
    await hand.click('dialog button:has-text("Add the budget")')

    await hand.click('section[aria-label=Budgets] button.opens:has-text("Each team")')
    const heard = page.locator('section[aria-label="Who hears of it"]')
    await expect.poll(() => heard.textContent()).toMatch(/\/hook.*75 %, 100 %, 150 %/)
    expect(await heard.textContent()).not.toContain('Nobody hears')
    fewSteps()
  })

  test('sends a colleague the link to what they see', async () => {
    await hand.choose('.controls select >> nth=0', 'owner')
    await page.waitForSelector('section[aria-label="By owner"]')
    await hand.choose('.period select', '7d')
    await page.waitForSelector(`.shown[aria-busy=false] [data-scope*='"stated":"7d"']`)
    const [link, total] = [page.url(), await page.getAttribute('[data-total]', 'data-total')]
    const colleague = { username: 'colleague', password: 'a quiet afternoon in Lisbon', scopes: ['read:reporting'] }
    expect((await ask('POST', '/api/v1/users', colleague)).status).toBe(201)
    const { context, page: theirs } = await openConsole(browser)
    await hand.open(link, theirs)
    await hand.fill('#username', colleague.username, theirs)
    await hand.fill('#password', colleague.password, theirs)
    await hand.click('button[value=allow]', theirs)

    await theirs.waitForSelector('section[aria-label="By owner"]')
    await theirs.waitForSelector(`.shown[aria-busy=false] [data-scope*='"stated":"7d"']`)
    expect(await theirs.getAttribute('[data-total]', 'data-total')).toBe(total)
    fewSteps()
    await context.close()
  })
})

describe('an engineer of the platform', () => {
  test('sees whether LiteLLM arrives, and opens the call', async () => {
    await openPage('Sources')
    await hand.choose('section[aria-label="Connect a source"] select', 'litellm')
    await hand.click('button:has-text("Create a key for LiteLLM")')
    await page.waitForSelector('[data-light=waiting]')
    const key = /atk_[\w-]+|[\w-]{32,}/.exec((await page.textContent('pre.block')) ?? '')?.[0] ?? ''
    const withKey = askAs(service.baseUrl, { 'x-api-key': key })
    await attributed(withKey, { attributed_service: 'search', ingestion_layer: 'gateway', requested_model: 'gpt-4o' })
    await page.waitForSelector('[data-light=seen]')
    await hand.click('[data-light=seen] a:has-text("Open it")')

    await page.waitForSelector('.card h2:has-text("search")')
    fewSteps()
  })
})

describe('an administrator', () => {
  test('replaces a key', async () => {
    await openPage('Access')
    await page.waitForSelector('section[aria-label="API keys"] tbody tr')
    await hand.click('section[aria-label="API keys"] button:has-text("Replace")')
    await hand.click('dialog button:has-text("Replace it")')
    await page.waitForSelector('dialog .secret')
    await hand.click('dialog button:has-text("I have it")')

    fewSteps()
  })

  test('finds a delivery that failed, and why', async () => {
    receiver.answer = (response) => void response.writeHead(500).end()
    const budget = await ask('POST', '/api/v1/budgets', { name: 'of the test', ceiling_usd: '1000' })
    await ask('POST', `/api/v1/budgets/${budget.json.id}/test`, {})
    const attempts = async () =>
      (await ask('GET', `${hook}/deliveries`)).json.data.map(
        ({ response_status: status }: { response_status: number | null }) => status,
      )
    await expect.poll(attempts).toContain(500)
    await openPage('Webhooks')
    await hand.click('section[aria-label=Webhooks] button.opens')

    const failed = 'section[aria-label="Delivery log"] tr:has-text("budget.threshold.crossed"):has-text("500")'
    await page.waitForSelector(failed)
    receiver.answer = acknowledge
    await hand.click(`${failed} button:has-text("Send it again")`)
    await receiver.until(1, ({ json }) => json.replayed)
    fewSteps()
  })

  test('reads what is wrong with a file before it changes anything', async () => {
    const lines = ['kind,name,owner', 'services,checkout,team-payments', 'services,,team-c']
    await openPage('Directory')
    await hand.click('nav.tabs a:has-text("file")')
    await hand.give('input[type=file]', 'directory.csv', lines.join('\r\n'))
    await hand.click('button:has-text("See what would change")')

    await expect.poll(() => page.textContent('section[aria-label=Import]')).toMatch(/refused.*line 3/)
    await expect.poll(() => page.textContent('section[aria-label=Import]')).toContain('team-checkout → team-payments')
    const { json } = await ask('GET', '/api/v1/directory/services?name=checkout')
    expect(json.data).toMatchObject([{ owner: 'team-checkout' }])
    fewSteps()
  })
})

test('an auditor who has the id of a record reads how its cost came about', async () => {
  const { id } = await attributed(ask, {
    attributed_service: 'search',
    requested_model: 'gpt-4o',
    input_tokens: 1_200,
    output_tokens: 250,
  })
  await hand.press('Control+k')
  // At once, as people do who know the keys: the dialog may still be on its way.
  await hand.type(id)
  await page.waitForSelector(`dialog [role=option]:has-text("${id}")`)
  await hand.press('Enter')

  await expect.poll(() => page.textContent('.card .sum')).toMatch(/1,200 input × 2\.5\/M.*0\.0055\s*USD/s)
  fewSteps()
})

test('no page logged an error, or was refused by its own policy', () => {
  expect(console.faults).toEqual([])
})
