/** A real browser for the tests of the console. */
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { ensureChromium } from '../../deploy/setup/chromium.mjs'
import type { Instance } from './service.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export async function launchChromium(): Promise<Browser> {
  const { path, libraries } = await ensureChromium(ROOT)
  return chromium.launch({
    executablePath: path,
    // The tests may run as root, for whom Chromium has no sandbox.
    args: ['--no-sandbox'],
    env: { ...process.env, LD_LIBRARY_PATH: libraries } as Record<string, string>,
  })
}

/** Longer than a page takes while other test files use both processors. */
const WAITING_MS_MAX = 120_000

/** A page at the console, and what a person would not see: errors of its scripts, and requests to anywhere else. */
export interface ConsolePage {
  readonly page: Page
  readonly faults: readonly string[]
}

/** Opens the console as a person whose browser is in a time zone. */
export async function openConsole(
  browser: Browser,
  timezoneId = 'UTC',
  more: BrowserContextOptions = {},
): Promise<ConsolePage & { context: BrowserContext }> {
  const viewport = { width: 1_280, height: 900 }
  const context = await browser.newContext({ timezoneId, locale: 'en-US', viewport, ...more })
  context.setDefaultTimeout(WAITING_MS_MAX)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', ({ message }) => faults.push(message))
  page.on('console', (message) => {
    // The browser logs every answer that is no success; the page shows those to the person.
    const isAnswer = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isAnswer) faults.push(message.text())
  })
  return { context, page, faults }
}

/** Signs in at the page of the service by name and password. */
export async function signInByPassword(
  page: Page,
  { credentials }: Pick<Instance, 'credentials'>,
  path = '',
): Promise<void> {
  await page.goto(credentials.console_url + path)
  await page.fill('#username', credentials.admin_username)
  await page.fill('#password', credentials.admin_password)
  await page.click('button[value=allow]')
  await page.waitForSelector('header.top')
}

/** Goes to an address of the console as its own links do, so that the sign-in stays. */
export const goWithin = (page: Page, path: string): Promise<void> =>
  page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate')); undefined`,
  )

/** What a page states in its address, beside the time zone, which is always there. */
export const statedIn = (page: Page): string =>
  new URL(page.url()).search
    .slice(1)
    .split('&')
    .filter((each) => !each.startsWith('zone='))
    .join('&')

/** Rules of axe that look at colours: the others find in dark what they have found in light. */
const RULES_OF_COLOURS = ['color-contrast', 'link-in-text-block']

/** What axe finds on the page, in light and in dark: rule, and where. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  const found: string[] = []
  // As large as the console itself; it stays while a page goes to others of the console.
  if (await page.evaluate(() => !('axe' in globalThis))) await page.evaluate(axe.source)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const { violations } = await page.evaluate(
      (rules) =>
        (globalThis as unknown as { axe: typeof axe }).axe.run({
          resultTypes: ['violations'],
          ...(rules.length > 0 && { runOnly: rules }),
        }),
      colorScheme === 'light' ? [] : RULES_OF_COLOURS,
    )
    found.push(...violations.map(({ id, nodes }) => `${colorScheme} ${id}: ${nodes.map(({ html }) => html).join(' ')}`))
  }
  return found
}

/** From a telephone to a desk. */
const WIDTHS = [390, 1_440] as const

/** What axe finds at both widths, in light and in dark, and whether the page is wider than its window. */
export async function layoutFaults(page: Page): Promise<string[]> {
  const found: string[] = []
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    found.push(...(await accessibilityFaults(page)).map((fault) => `${width} px: ${fault}`))
    const shownWidth = await page.evaluate<number>('document.documentElement.scrollWidth')
    if (shownWidth > width) found.push(`${width} px: the page is ${shownWidth} px wide`)
  }
  return found
}
