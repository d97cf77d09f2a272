import type { Page } from 'playwright-core'
import { DEFAULT_PERIOD } from '../../internal/console/figures/period.js'

/** What a person does, by mouse and keyboard: only such input counts as an interaction (Event Timing). */

/** Of the menu. */
export const PAGES = [
  'explorer',
  'unattributed',
  'budgets',
  'exports',
  'webhooks',
  'coverage',
  'models',
  'sources',
  'directory',
  'prices',
  'access',
  'audit',
] as const

const SHOWN = '.shown[aria-busy=false]'

export async function useOverview(page: Page): Promise<void> {
  for (const name of ['energy', 'carbon', 'calls', 'cost']) await page.click(`.switch label:has-text("${name}")`)
  await page.focus('.chart svg')
  for (let n = 0; n < 10; n++) await page.keyboard.press('ArrowRight')
  await page.click('details.behind summary')
  await page.click('details.behind summary')
  const row = page.locator('section[data-table-total] button.opens').first()
  await row.click()
  await page.waitForSelector('.inside table')
  await row.click()
  for (const by of ['owner', 'service']) {
    await page.focus('.controls select')
    await page.keyboard.press(by === 'owner' ? 'ArrowDown' : 'ArrowUp')
    await page.waitForSelector(`${SHOWN} [data-scope*='"by":"${by}"']`)
  }
  await page.fill('.add-filter input', 'service-00')
  await page.click('button:has-text("Add the filter")')
  await page.waitForSelector('.chip')
  await page.waitForSelector(SHOWN)
  await page.click('.chip')
  await page.waitForSelector('.chip', { state: 'detached' })
  await page.waitForSelector(SHOWN)
}

/** Each change is left until what changed is there too, as by a person who reads. */
const READ = `main > ${SHOWN} section.changes ${SHOWN}`

/**
 * In the page: milliseconds from the next click or choice until the figures of its question are painted. An answer that
 * comes within a frame leaves nothing busy, so two frames in a row count that show nothing of the question before.
 */
const ANSWERED = `new Promise((resolve, reject) => {
  const before = location.href
  let askedAt
  for (const type of ['click', 'change'])
    addEventListener(type, () => { askedAt ??= performance.now() }, { capture: true, once: true })
  const endsAt = performance.now() + 10_000
  const look = (quietAt) => (now) => {
    if (now > endsAt) reject(new Error('no other figures within ten seconds: ' + location.href))
    const isThere = location.href !== before && document.querySelector('main > .shown[aria-busy=false]') !== null
    if (isThere && quietAt !== undefined) resolve(quietAt - askedAt)
    else requestAnimationFrame(look(isThere ? now : undefined))
  }
  requestAnimationFrame(look(undefined))
})`

/** How long the overview takes to answer another filter and another period, none of which it was asked for before. */
export async function timeChanges(page: Page): Promise<{ filter_ms: number[]; period_ms: number[] }> {
  const timed = async (change: () => Promise<unknown>): Promise<number> => {
    await page.waitForSelector(READ)
    const answered = page.evaluate<number>(ANSWERED)
    await change()
    return answered
  }
  const [filter_ms, period_ms]: [number[], number[]] = [[], []]
  for (let n = 0; n < 8; n++) {
    await page.fill('.add-filter input', `service-0${n}`)
    filter_ms.push(await timed(() => page.click('button:has-text("Add the filter")')))
    await page.click('.chip')
    await page.waitForSelector('.chip', { state: 'detached' })
  }
  for (const period of ['7d', '90d', 'month', 'last-month'])
    period_ms.push(await timed(() => page.selectOption('.period select', period)))
  // What is used next needs calls of many people, and the newest one.
  await page.selectOption('.period select', DEFAULT_PERIOD)
  await page.waitForSelector(READ)
  return { filter_ms, period_ms }
}

/** Opens a page by the menu, as soon as its first list is there; in the explorer the card of a call too. */
export async function visit(page: Page, path: (typeof PAGES)[number]): Promise<void> {
  const link = page.locator(`header.top nav a[href*="/${path}"]`)
  if (!(await link.isVisible())) await page.click('header.top nav summary')
  await link.click()
  await page.waitForSelector(SHOWN)
  if (path !== 'explorer') return
  await page.locator('section[aria-label=Calls] button.opens').first().click()
  await page.waitForSelector('article.card dl')
  await page.click('button.sorts:has-text("cost")')
  await page.waitForSelector('th[aria-sort=descending]:has-text("cost")')
  await page.waitForSelector(SHOWN)
}
