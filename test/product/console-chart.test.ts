import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
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
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** The chart and the tables below it: what a person sees of small groups, where a click leads, what stays chosen. */

const DAY_MS = 24 * 60 * 60 * 1_000
const dayOf = (ago: number): string => new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10)
/** Midday, so that a call is within its day of any zone nearby. */
const middayOf = (ago: number): string => `${dayOf(ago)}T12:00:00Z`

let service: Instance
let ask: Ask
let browser: Browser
let console: ConsolePage
let page: Page

const callsOf = (name: string, people: number, ago: number, model = 'gpt-4o') =>
  Array.from({ length: people }, (_, i) => ({
    attributed_service: name,
    attributed_identity: `person-${i}@example.com`,
    ingestion_timestamp: middayOf(ago),
    requested_model: model,
    input_tokens: 1_000 + 7 * i,
    output_tokens: 100,
  }))

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  for (const name of ['search', 'chat', 'mail']) {
    const created = await ask('POST', '/api/v1/directory/services', { name, owner: `team-${name}` })
    expect(created.status).toBe(201)
  }
  await attributedAll(ask, [
    ...callsOf('search', 7, 4),
    // On this day fewer than five people called it; in the period more did.
    ...callsOf('search', 3, 3),
    ...callsOf('chat', 6, 3, 'gpt-4o-mini'),
    ...callsOf('mail', 8, 2),
  ])
  browser = await launchChromium()
  console = await openConsole(browser)
  page = console.page
  await signInByPassword(page, service)
})

afterAll(() => browser.close())

const PERIOD = `${dayOf(5)}..${dayOf(1)}`
const CHART = 'section[data-chart-total]'
const params = () => new URL(page.url()).searchParams

/** Goes to the overview and waits for its figures. */
async function goToOverview(more: Readonly<Record<string, string>> = {}): Promise<void> {
  const stated = { period: PERIOD, zone: 'UTC', ...more }
  await goWithin(page, addressOf('', new URLSearchParams(stated)))
  await page.waitForSelector(`.shown[aria-busy=false] [data-scope*='"stated":"${stated.period}"']`)
  await page.waitForSelector(`${CHART} svg[role=application]`)
  // What changed is read when the figures are there; till then it is that of another period, and pale.
  await page.waitForSelector('[data-change]')
  await page.locator('.shown[aria-busy=true]').first().waitFor({ state: 'detached' })
}

/** Where the middle of a bar is. */
async function middleOf(bar: number, bars: number): Promise<readonly [number, number]> {
  const grid = page.locator(`${CHART} .axis`)
  await grid.scrollIntoViewIfNeeded()
  const box = await grid.boundingBox()
  if (box === null) throw new Error('the chart has no axis')
  return [box.x + ((bar + 0.5) / bars) * box.width, box.y - 10]
}

describe('the chart', () => {
  test('shows small groups as such, never as 0, and says why the table has fewer of them', async () => {
    await goToOverview()

    await page.waitForSelector(`${CHART} g rect.folded`)
    expect(await page.textContent(`${CHART} .legend`)).toContain('small groups')
    const said = await page.textContent(`${CHART} .notice`)
    expect(said).toMatch(/Small groups are USD [\d.]+ in this chart and nothing in the table below/)
    expect(said).toContain('search')
    await page.click(`${CHART} details.behind summary`)
    const row = page.locator(`${CHART} tbody tr`).nth(2)
    await expect.poll(() => row.textContent()).toContain('–')
    expect(await row.textContent()).not.toContain('−')
  })

  test('a click goes to the day, and from an hour to its calls', async () => {
    await goToOverview()
    await page.mouse.click(...(await middleOf(3, 5)))
    await expect.poll(() => params().get('period')).toBe(`${dayOf(2)}..${dayOf(2)}`)
    await page.waitForSelector(`.shown[aria-busy=false] [data-scope*='"stated":"${dayOf(2)}..${dayOf(2)}"']`)
    await expect.poll(() => page.textContent(`${CHART} svg`)).toContain('12:00')
    await page.mouse.click(...(await middleOf(12, 24)))

    await expect.poll(() => page.locator('.chip').count()).toBeGreaterThanOrEqual(2)
    expect(params().get('filter[event_time][gte]')).toBe(middayOf(2).replace('Z', '.000Z'))
    expect(params().get('filter[service][eq]')).toBe('mail')
    await expect.poll(() => page.locator('section[aria-label=Calls] tbody tr').count()).toBe(8)
    await page.goBack()
    await page.waitForSelector(CHART)
    await page.goBack()
    await expect.poll(() => params().get('period')).toBe(PERIOD)
  })

  test('drawing over days goes to them', async () => {
    await goToOverview()
    await page.mouse.move(...(await middleOf(1, 5)))
    await page.mouse.down()
    await page.mouse.move(...(await middleOf(2, 5)))
    await page.mouse.move(...(await middleOf(3, 5)))
    await page.mouse.up()

    await expect.poll(() => params().get('period')).toBe(`${dayOf(4)}..${dayOf(2)}`)
  })

  test('is read and opened by keyboard alone', async () => {
    await goToOverview()
    const chart = page.locator(`${CHART} svg[role=application]`)
    await chart.focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => page.textContent(`${CHART} .reading`)).toMatch(/USD .*search USD/)
    await page.keyboard.press('Shift+ArrowRight')
    await expect.poll(() => page.textContent(`${CHART} .reading`)).toContain(' – ')
    await page.keyboard.press('Enter')

    await expect.poll(() => params().get('period')).toBe(`${dayOf(4)}..${dayOf(3)}`)
  })

  test('has its form in the address, each without a fault that axe finds or a label that is cut', async () => {
    for (const [form, part] of [
      ['lines', 'polyline.line'],
      ['share', 'rect.series'],
      ['bars', 'rect.series'],
    ]) {
      await goToOverview()
      await page.click(`.forms label:has-text("${form}")`)
      await expect.poll(() => params().get('chart')).toBe(form === 'bars' ? null : form)
      await page.locator(`${CHART} ${part}`).first().waitFor()
      expect(await layoutFaults(page)).toEqual([])
      for (const width of [390, 1_440]) {
        await page.setViewportSize({ width, height: 900 })
        await expect
          .poll(() =>
            page.locator(`${CHART} svg[role=application]`).evaluate((svg) => {
              const outer = svg.getBoundingClientRect()
              return [...svg.querySelectorAll('text')]
                .map((text) => ({ words: text.textContent, box: text.getBoundingClientRect() }))
                .filter(({ box }) => box.left < outer.left - 1 || box.right > outer.right + 1)
                .map(({ words }) => words)
            }),
          )
          .toEqual([])
      }
    }
    await page.setViewportSize({ width: 1_280, height: 900 })
  })

  test('a name has one colour in every period and grouping, and no two of a chart are alike', async () => {
    const fills = () =>
      page
        .locator(`${CHART} .legend > span`)
        .evaluateAll((all) =>
          Object.fromEntries(
            all.map((each) => [
              each.textContent?.trim() ?? '',
              each.querySelector('rect')?.getAttribute('class') ?? '',
            ]),
          ),
        )
    await goToOverview()
    const first = await fills()
    await goToOverview({ period: `${dayOf(5)}..${dayOf(4)}` })
    const fewer = await fills()
    await goToOverview({ period: '90d' })
    const more = await fills()

    expect(fewer['search']).toMatch(/^series c\d$/)
    expect([fewer['search'], more['search']]).toEqual([first['search'], first['search']])
    expect(new Set(Object.values(more)).size).toBe(Object.keys(more).length)
  })

  test('marks what happened in the period, and reads it', async () => {
    await goToOverview()
    await page.click('summary:has-text("What happened")')
    await page.click('button:has-text("Add a note")')
    await page.fill('dialog input[name=text]', 'search 4.2')
    await page.fill('dialog input[name=at]', `${dayOf(3)}T12:00`)
    await page.click('dialog button:has-text("Add the note")')

    await page.waitForSelector(`${CHART} .sign.annotation`)
    await page.mouse.move(...(await middleOf(2, 5)))
    await expect.poll(() => page.textContent(`${CHART} .reading`)).toContain('note: search 4.2')
    expect(await accessibilityFaults(page)).toEqual([])
  })
})

describe('tables', () => {
  const BREAKDOWN = 'section[data-table-total]'
  const namesShown = () =>
    page.locator(`${BREAKDOWN} tbody tr > th`).evaluateAll((cells) => cells.map((cell) => cell.textContent?.trim()))

  test('the breakdown is sorted by any column, either way, as the address says', async () => {
    await goToOverview()
    await page.click(`${BREAKDOWN} thead button:has-text("calls")`)
    await expect.poll(() => page.getAttribute(`${BREAKDOWN} th:has-text("calls")`, 'aria-sort')).toBe('descending')
    expect(await namesShown()).toEqual(['search', 'mail', 'chat'])
    await page.click(`${BREAKDOWN} thead button:has-text("calls")`)

    await expect.poll(() => params().get('sort')).toBe('calls')
    await expect.poll(namesShown).toEqual(['chat', 'mail', 'search'])
    await page.click(`${BREAKDOWN} thead button:has-text("service")`)
    await expect.poll(namesShown).toEqual(['search', 'mail', 'chat'])
  })

  test('columns are chosen, and stay in this browser', async () => {
    await goToOverview()
    await page.click(`${BREAKDOWN} summary:has-text("Columns")`)
    await page.click(`${BREAKDOWN} .columns label:has-text("energy Wh")`)
    await page.click(`${BREAKDOWN} .columns label:has-text("people")`)
    const heads = () =>
      page.locator(`${BREAKDOWN} thead th`).evaluateAll((all) => all.map((each) => each.textContent?.trim()))
    await expect.poll(heads).toContain('energy Wh')
    expect(await accessibilityFaults(page)).toEqual([])
    await goWithin(page, addressOf('explorer', new URLSearchParams({ period: PERIOD, zone: 'UTC' })))
    await page.waitForSelector('section[aria-label=Calls]')
    await goToOverview()

    expect(await heads()).toContain('energy Wh')
    expect(await heads()).not.toContain('people')
  })

  test('the explorer saves what it lists, with the columns that are shown, and says how many', async () => {
    const asked = { period: PERIOD, zone: 'UTC', 'filter[service][eq]': 'chat' }
    await goWithin(page, addressOf('explorer', new URLSearchParams(asked)))
    await page.waitForSelector('section[aria-label=Calls] tbody tr:has-text("chat")')
    await page.click('summary:has-text("Columns")')
    await page.click('.columns label:has-text("evidence")')
    await page.waitForSelector('section[aria-label=Calls] th:has-text("evidence")')
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('.download >> text=CSV')])
    const chunks = await (await download.createReadStream()).toArray()
    const [head = '', ...lines] = Buffer.concat(chunks).toString('utf8').trim().split('\r\n')

    const { data } = (await ask('GET', '/v1/attribution?filter[service][eq]=chat&sort=-event_time')).json
    await expect.poll(() => page.textContent('.download')).toContain('All 6 calls are in the file.')
    expect(head.split(',')).toEqual(expect.arrayContaining(['id', 'service', 'input_tokens', 'evidence_basis']))
    const cost = head.split(',').indexOf('cost_usd')
    expect(lines.map((line) => [line.split(',')[0], line.split(',')[cost]])).toEqual(
      data.map((each: { id: string; cost_usd: string }) => [each.id, each.cost_usd]),
    )
    expect(await accessibilityFaults(page)).toEqual([])
  })
})

test('no page logged an error', () => {
  expect(console.faults).toEqual([])
})
