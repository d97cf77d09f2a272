/** What people come to the console for: the page of a tenant with calls, and a hand whose steps are counted. */
import type { Browser, Page } from 'playwright-core'
import { expect } from 'vitest'
import { type Ask, askAs } from './ask.js'
import { attributeMany } from './attributed.js'
import { type ConsolePage, launchChromium, openConsole, signInByPassword } from './chromium.js'
import { newTenantOfProduct } from './product.js'
import { atEnd } from './run/at-end.js'
import type { Instance } from './service.js'

const DAY_MS = 24 * 60 * 60 * 1_000
/** A step is a click, a choice or a field that is filled in: no task takes more. */
const STEPS_MAX = 8

export let service: Instance
export let ask: Ask
export let browser: Browser
export let console: ConsolePage
export let page: Page
let steps = 0

/** A person's hand: whatever it does is a step. */
export const hand = {
  click(selector: string, of: Page = page): Promise<void> {
    steps++
    return of.click(selector)
  },
  async choose(selector: string, value: string): Promise<void> {
    steps++
    await page.selectOption(selector, value)
  },
  fill(selector: string, value: string, of: Page = page): Promise<void> {
    steps++
    return of.fill(selector, value)
  },
  async open(link: string, of: Page): Promise<void> {
    steps++
    await of.goto(link)
  },
  /** A file that lies on the person's machine. */
  give(selector: string, name: string, text: string): Promise<void> {
    steps++
    return page.setInputFiles(selector, { name, mimeType: 'text/csv', buffer: Buffer.from(text) })
  },
  type(text: string): Promise<void> {
    steps++
    return page.keyboard.type(text)
  },
  press(keys: string): Promise<void> {
    steps++
    return page.keyboard.press(keys)
  },
}

export const callsOf = (count: number, daysAgo: number, stated: Record<string, unknown>) =>
  Array.from({ length: count }, (_, i) => ({
    attributed_identity: `person-${i % 7}@example.com`,
    ingestion_timestamp: new Date(Date.now() - daysAgo * DAY_MS - i * 1_000).toISOString(),
    requested_model: 'gpt-4o',
    input_tokens: 1_000,
    output_tokens: 100,
    ...stated,
  }))

/** How many days ago the middle of last month was, in UTC. */
export const inLastMonth = (): number => {
  const now = new Date()
  const at = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 15, 12)
  return (Date.now() - at) / DAY_MS
}

/** A tenant with calls, and its console, until the test file ends. */
export async function openTasks(calls: readonly Record<string, unknown>[]): Promise<void> {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  for (const name of ['checkout', 'search']) {
    const created = await ask('POST', '/api/v1/directory/services', { name, owner: `team-${name}` })
    expect(created.status).toBe(201)
  }
  await attributeMany(ask, calls)
  browser = await launchChromium()
  atEnd(() => browser.close())
  console = await openConsole(browser)
  page = console.page
  await signInByPassword(page, service)
}

/** Begins a task at the first page. */
export async function beginTask(): Promise<void> {
  await page.click('a.brand')
  await page.waitForSelector('[data-total]')
  steps = 0
}

/** Opens a page by the menu, as everybody can: without keys. */
export async function openPage(title: string): Promise<void> {
  const link = page.locator(`nav[aria-label=Pages] a:text-is("${title}")`)
  if (!(await link.isVisible())) await hand.click('nav[aria-label=Pages] summary')
  await hand.click(`nav[aria-label=Pages] a:text-is("${title}")`)
  await page.waitForSelector(`h1:text-is("${title}")`, { state: 'attached' })
}

export const fewSteps = (): void => expect(steps).toBeLessThanOrEqual(STEPS_MAX)
