import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { consoleClientId } from '../../internal/auth/console-client.js'
import { type Ask, askAs } from '../support/ask.js'
import {
  accessibilityFaults,
  type ConsolePage,
  launchChromium,
  layoutFaults,
  openConsole,
  signInByPassword,
} from '../support/chromium.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** How a person stays signed in in a real browser, is asked again, and leaves. */

const BOB = { username: 'bob', password: 'a quiet afternoon in Lisbon' }

let service: Instance
let ask: Ask
let browser: Browser
let console: ConsolePage & { readonly context: BrowserContext }
let page: Page

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  expect((await ask('POST', '/api/v1/users', { ...BOB, scopes: ['read:reporting'] })).status).toBe(201)
  browser = await launchChromium()
})
beforeEach(async () => {
  console = await openConsole(browser)
  page = console.page
})
afterEach(async () => {
  expect(console.faults).toEqual([])
  await console.context.close()
})
afterAll(() => browser.close())

const consoleUrl = (path: string): string => service.credentials.console_url + path
const signedIn = (of: Page) => of.waitForSelector('header.top')

const cookie = async () => {
  const found = (await console.context.cookies()).filter(({ name }) => name.startsWith('attribution-'))
  return found.find(({ name }) => name.includes('cli_'))
}

/** As an administrator's revocation does, or the end of its time. */
async function endOnServer(): Promise<void> {
  const answer = await fetch(`${service.baseUrl}/v1/oauth/revoke`, {
    method: 'POST',
    body: new URLSearchParams({
      client_id: consoleClientId(service.credentials.tenant_id) ?? '',
      token: (await cookie())?.value ?? '',
    }),
  })
  expect(answer.status).toBe(200)
}

async function fillSignIn(at: Page, username: string, password: string): Promise<void> {
  await at.fill('#username', username)
  await at.fill('#password', password)
  await at.click('button[value=allow]')
}

describe('a sign-in', () => {
  test('stays when the page is loaded again, left and come back to, and in a second tab', async () => {
    await signInByPassword(page, service, '/explorer?sort=cost_usd')
    await page.reload()
    await signedIn(page)
    await page.goto(`${service.baseUrl}/docs/errors/RATE_LIMITED`)
    await page.goBack()
    await signedIn(page)
    expect(page.url()).toBe(consoleUrl('/explorer?sort=cost_usd&zone=UTC'))
    const second = await console.context.newPage()
    await second.goto(consoleUrl('/budgets'))
    await signedIn(second)

    expect(await second.textContent('header.top')).toContain(service.credentials.admin_username)
    expect(await cookie()).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/' })
    expect(await page.evaluate('document.cookie')).toBe('')
  })

  test('asks for no consent, and comes to the view that was asked for, also by an older address', async () => {
    const { tenant_id, base_url, admin_username, admin_password } = service.credentials
    await page.goto(
      `${base_url}/console/explorer?tenant=${tenant_id}&period=7d&filter[service][eq]=search&record=attr_1`,
    )
    expect(await page.textContent('main')).not.toContain('requests access')
    expect(await accessibilityFaults(page)).toEqual([])
    await fillSignIn(page, admin_username, admin_password)
    await signedIn(page)

    expect(page.url()).toBe(consoleUrl('/explorer?period=7d&filter[service][eq]=search&record=attr_1&zone=UTC'))
  })

  test('is found by the name of the tenant, where the browser knows it', async () => {
    await signInByPassword(page, service)
    const [name = ''] = Object.values<string>(
      JSON.parse(await page.evaluate<string>(`localStorage.getItem('attribution.tenants')`)),
    )
    await page.goto(`${service.baseUrl}/console/t/${encodeURIComponent(name.toLowerCase())}/budgets`)
    await signedIn(page)

    expect(page.url()).toBe(consoleUrl('/budgets?zone=UTC'))
  })

  test('by a colleague’s link shows the days of their time zone', async () => {
    const colleague = await openConsole(browser, 'Asia/Kolkata')
    await signInByPassword(colleague.page, service, '/explorer?period=7d')
    expect(colleague.page.url()).toBe(consoleUrl('/explorer?period=7d&zone=Asia/Kolkata'))
    await page.goto(colleague.page.url())
    await fillSignIn(page, service.credentials.admin_username, service.credentials.admin_password)
    await signedIn(page)

    expect(await page.inputValue('header.top select:has(option:text-is("UTC"))')).toBe('Asia/Kolkata')
    await colleague.context.close()
  })

  test('that a person cancels leads to no sign-in page again', async () => {
    await page.goto(consoleUrl('/budgets'))
    await page.click('button[value=deny]')

    await page.waitForSelector('main.sign-in [role=alert]')
    expect(await page.inputValue('form input')).toBe(service.credentials.tenant_id)
  })
})

describe('a page that is left open, and reads what is new by itself', () => {
  const DAY_MS = 24 * 60 * 60 * 1_000
  let openedMs: number

  beforeEach(async () => {
    await page.clock.install()
    await signInByPassword(page, service, '/explorer')
    openedMs = Date.now()
  })

  test('says with each renewal for how long nobody has used it', async () => {
    const idleMsAt = async (atMs: number): Promise<number> => {
      const renewal = page.waitForRequest('**/v1/oauth/console/token')
      await page.clock.setSystemTime(openedMs + atMs)
      return 1_000 * Number(new URLSearchParams((await renewal).postData() ?? '').get('idle_s'))
    }

    expect(await idleMsAt(6 * DAY_MS)).toBeGreaterThan(5.9 * DAY_MS)
    await page.keyboard.press('Shift')
    expect(await idleMsAt(6.1 * DAY_MS)).toBeLessThan(DAY_MS)
  })

  test('asks for a new sign-in after a week in which nobody has used it', async () => {
    await page.clock.setSystemTime(openedMs + 7.1 * DAY_MS)

    await page.waitForSelector('dialog:has-text("Your sign-in has ended")')
  })
})

describe('a sign-in that ends in the middle of a form', () => {
  /** @returns the window in which the person is to sign in again */
  async function askedAgain(): Promise<Page> {
    await signInByPassword(page, service, '/access?list=people')
    await page.click('button:has-text("Add a person")')
    await page.fill('dialog input[name=username]', 'carl')
    await page.check('dialog input[value="read:reporting"]')
    await endOnServer()
    await page.click('dialog button:has-text("Add the person")')
    await page.waitForSelector('dialog:has-text("Your sign-in has ended")')
    const [opened] = await Promise.all([
      page.waitForEvent('popup'),
      page.click('button:has-text("Sign in in a new window")'),
    ])
    return opened
  }

  test('is asked for where the person is, and the form goes on', async () => {
    const opened = await askedAgain()
    expect(await layoutFaults(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.waitForSelector('dialog:has-text("Your sign-in has ended")')
    await fillSignIn(opened, service.credentials.admin_username, service.credentials.admin_password)
    await page.waitForSelector('dialog:has-text("carl can sign in")')

    expect((await ask('GET', '/api/v1/users?limit=200')).json.data).toContainEqual(
      expect.objectContaining({ username: 'carl', scopes: ['read:reporting'] }),
    )
  })

  test('is not gone on with by somebody else', async () => {
    const before = (await ask('GET', '/api/v1/users?limit=200')).json.data
    const opened = await askedAgain()
    await fillSignIn(opened, BOB.username, BOB.password)
    await page.waitForSelector('main.sign-in:has-text("bob has signed in in this browser")')
    expect(await layoutFaults(page)).toEqual([])
    expect((await ask('GET', '/api/v1/users?limit=200')).json.data).toEqual(before)
    await page.click('button:has-text("Go on as bob")')
    await signedIn(page)

    expect(await page.textContent('header.top')).toContain('bob')
  })

  test('goes on by a sign-in in another tab', async () => {
    await askedAgain()
    const second = await console.context.newPage()
    await second.goto(consoleUrl(''))
    await fillSignIn(second, service.credentials.admin_username, service.credentials.admin_password)
    await signedIn(second)

    // The form is sent, and refused by the name that an earlier test has added.
    await page.locator('dialog:has-text("Your sign-in has ended")').waitFor({ state: 'detached' })
    await page.waitForSelector('dialog [role=alert]')
  })
})

describe('a sign-out', () => {
  test('ends the sign-in in every tab of the browser, and on the server', async () => {
    await signInByPassword(page, service)
    const second = await console.context.newPage()
    await second.goto(consoleUrl('/budgets'))
    await signedIn(second)
    const { name = '', value = '' } = (await cookie()) ?? {}
    await page.click('header.top .tools summary')
    await page.click('button:has-text("Sign out")')
    for (const tab of [page, second]) await tab.waitForSelector('main.sign-in')
    expect(await cookie()).toBeUndefined()
    await second.reload()
    await second.waitForSelector('#username')

    const answer = await fetch(`${service.baseUrl}/v1/oauth/console/token`, {
      method: 'POST',
      headers: { origin: service.baseUrl, cookie: `${name}=${value}` },
      body: new URLSearchParams({ client_id: consoleClientId(service.credentials.tenant_id) ?? '' }),
    })
    expect(answer.status).toBe(400)
  })
})
