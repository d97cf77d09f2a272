import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addressOf } from '../../internal/console/figures/address.js'
import { usdShown } from '../../internal/console/figures/shown.js'
import type { Manifest } from '../../internal/exports/export-contract.js'
import { formatQuantity, parseSum, sum } from '../../internal/units/quantity.js'
import { type Ask, askAs } from '../support/ask.js'
import { listedAll, type ShownRecord, untilAttributed } from '../support/attributed.js'
import {
  type ConsolePage,
  goWithin,
  launchChromium,
  layoutFaults,
  openConsole,
  signInByPassword,
} from '../support/chromium.js'
import { parseCsv } from '../support/focus-rules.js'
import { untilKnown } from '../support/instance.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** What the console says can be charged, beside the chargeback files of five months that have little in common. */

let service: Instance
let ask: Ask
let browser: Browser
let console: ConsolePage
let page: Page

/** Calls of so many people, each once. */
const callsOf = (name: string, people: number, stated: Record<string, unknown> = {}) =>
  Array.from({ length: people }, (_, i) => ({
    attributed_service: name,
    attributed_identity: `person-${i}@example.com`,
    input_tokens: 1_000 + 7 * i,
    output_tokens: 100,
    ...stated,
  }))

const AMBIGUOUS = { alternative_input_tokens: 1_600, alternative_output_tokens: 250 }
const MONTHS: Readonly<Record<string, readonly Record<string, unknown>[]>> = {
  // All of it can be charged.
  '2026-06': callsOf('search', 7),
  // Nobody's, and of a service that the directory does not list.
  '2026-07': [
    ...callsOf('search', 6),
    ...Array.from({ length: 4 }, () => ({ input_tokens: 1_000, output_tokens: 10 })),
    { attributed_service: 'of-nobody', input_tokens: 3_000, output_tokens: 30 },
  ],
  // Sure enough, and held back: costs that cannot be right, and one dispute. One has no price.
  '2026-08': [
    ...callsOf('search', 6),
    ...callsOf('search', 5, { estimated_cost_usd: '41.17' }),
    ...callsOf('search', 1, { requested_model: 'of-no-price-book' }),
  ],
  // Billed to nobody, counted by estimate, or in two ways.
  '2026-09': [
    ...callsOf('chat', 6),
    ...callsOf('chat', 5, { is_cost_notional: true, estimated_cost_usd: '0.01' }),
    ...callsOf('chat', 5, { usage_basis: 'estimated' }),
    ...callsOf('search', 5, AMBIGUOUS),
  ],
  // A small group, which a large one joins.
  '2026-10': [
    ...callsOf('search', 31, { requested_model: 'gpt-4o-mini' }),
    ...callsOf('chat', 6),
    ...callsOf('tiny', 2),
  ],
}
const daysOf = (month: string) => {
  const [year = 0, number = 0] = month.split('-').map(Number)
  return { from: `${month}-01`, to: new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10) }
}
/** Of each month, in the order of `MONTHS`. */
const recordsOf = new Map<string, readonly ShownRecord[]>()

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  for (const name of ['search', 'chat', 'tiny']) {
    const created = await ask('POST', '/api/v1/directory/services', { name, owner: `team-${name}` })
    expect(created.status).toBe(201)
  }
  for (const [month, calls] of Object.entries(MONTHS)) {
    const dated = calls.map((call, i) => ({
      ingestion_timestamp: `${month}-${String(1 + (i % 28)).padStart(2, '0')}T10:00:00Z`,
      ...call,
    }))
    recordsOf.set(month, await listedAll(ask, dated))
  }
  await chargeWithoutOwner('2026-07')
  const [disputed] = recordsOf.get('2026-08') ?? []
  await ask('POST', `/v1/attribution/${disputed.id}/dispute`, { reason: 'Not ours.' })
  while ((await recordAgain(disputed)).interpretation.export_eligibility !== 'disputed') await sleep(50)
  browser = await launchChromium()
  console = await openConsole(browser)
  page = console.page
  await signInByPassword(page, service)
  await page.waitForSelector('[data-total], .first-run')
})

afterAll(() => browser.close())

/** A call of a credential whose service has no owner in the directory: it may be charged, to that service. */
async function chargeWithoutOwner(month: string): Promise<void> {
  const made = await ask('POST', '/api/v1/api-keys', { name: 'Jobs', scopes: ['read:attribution'] })
  await ask('POST', '/api/v1/directory/principals', { principal_id: made.json.id, service: 'batch-jobs' })
  await untilKnown(service.baseUrl, made.json.secret)
  const asJobs = askAs(service.baseUrl, { 'x-api-key': made.json.secret })
  const call = { ingestion_timestamp: `${month}-09T10:00:00Z`, input_tokens: 2_000, output_tokens: 20 }
  await untilAttributed(asJobs, call, ({ service: name }) => name === 'batch-jobs')
}

const recordAgain = async ({ id }: ShownRecord): Promise<ShownRecord> =>
  (await ask('GET', `/v1/attribution/${id}`)).json

const added = (amounts: readonly string[]): string => formatQuantity(sum(amounts.map((text) => parseSum<'USD'>(text))))

/** A chargeback file, as a person orders it. */
async function fileOf(month: string) {
  const ordered = await ask('POST', '/v1/exports/focus', { format: 'focus', period: daysOf(month) })
  expect(ordered.status).toBe(202)
  for (;;) {
    const { json: job } = await ask('GET', ordered.json.status_url)
    expect(['queued', 'running', 'succeeded']).toContain(job.status)
    if (job.status !== 'succeeded') {
      await sleep(50)
      continue
    }
    const [file, manifest] = await Promise.all([fetch(job.result_url), fetch(job.manifest_url)])
    const { rows } = parseCsv(String(gunzipSync(Buffer.from(await file.arrayBuffer()))))
    return { cost: added(rows.map((row) => row['BilledCost'] ?? '')), manifest: (await manifest.json()) as Manifest }
  }
}

async function openMonth(month: string, by = 'service'): Promise<void> {
  const { from, to } = daysOf(month)
  const period = `${from}..${to}`
  await goWithin(page, addressOf('', new URLSearchParams({ period, zone: 'UTC', by })))
  const shown = JSON.stringify({ by, stated: period }).slice(1, -1)
  await page.waitForSelector(`.shown[aria-busy=false] [data-scope*='${shown}']`)
}

async function csvOfTable(): Promise<readonly Readonly<Record<string, string>>[]> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.click('section[data-table-total] >> text=CSV'),
  ])
  const chunks = await (await download.createReadStream()).toArray()
  return parseCsv(Buffer.concat(chunks).toString('utf8').trim()).rows
}

test.each(Object.keys(MONTHS))(
  'of %s can be charged what its chargeback file has, to the last digit',
  async (month) => {
    const { cost, manifest } = await fileOf(month)
    await openMonth(month)

    expect(await page.getAttribute('[data-chargeable]', 'data-chargeable')).toBe(cost)
    expect(cost).toBe(manifest.totals.billed_cost)
    expect(await page.getAttribute('[data-total]', 'data-total')).toBe(manifest.everything.cost_usd)
    expect(await page.textContent('.trusted')).toContain(`can be charged USD ${usdShown(cost)}`)

    const table = await csvOfTable()
    expect(added(table.map((row) => row['eligible_usd'] ?? ''))).toBe(cost)
    const { from, to } = daysOf(month)
    const until = new Date(Date.parse(to) + 24 * 60 * 60 * 1000).toISOString().slice(0, 10)
    for (const by of ['service', 'owner', 'export_eligibility', 'service,served_model']) {
      const { json } = await ask('GET', `/v1/reports/usage?from=${from}&to=${until}&group_by=${by}`)
      const rows: readonly { cost_usd: string; cost_usd_by_trust: Record<string, string> }[] = json.data
      expect(added(rows.map((row) => row.cost_usd_by_trust['eligible'] ?? ''))).toBe(cost)
      for (const row of rows) expect(added(Object.values(row.cost_usd_by_trust))).toBe(row.cost_usd)
    }
  },
)

describe('the overview', () => {
  test('says by reason what is not charged, and which calls these are', async () => {
    await openMonth('2026-08')
    const { manifest } = await fileOf('2026-08')
    const [implausible] = manifest.left_out.filter(({ reason }) => reason === 'implausible_cost')

    const said = await page.textContent('.trusted')
    expect(said).toContain(`implausible cost ${usdShown(implausible?.cost_usd ?? '')}`)
    expect(said).toContain('held back')
    await page.click('.trusted a:has-text("implausible cost")')
    await page.locator('section[aria-label=Calls] tbody tr').first().waitFor()
    expect(await page.locator('section[aria-label=Calls] tbody tr').count()).toBe(implausible?.count)
  })

  test('says what is charged although nobody owns it', async () => {
    await openMonth('2026-07')

    await expect.poll(() => page.textContent('.trusted')).toContain('is of services that have no owner')
  })

  test('a folded row looks folded, and its people do not contradict it', async () => {
    await openMonth('2026-10')
    const folded = page.locator('section[data-table-total] tr.folded')

    await expect.poll(() => folded.count()).toBe(1)
    const [name, people] = await folded.locator('th, td').allTextContents()
    expect([name, people]).toEqual(['small groups (2 shown together, at least one of fewer than 5 people)', '31'])
    const look = "getComputedStyle(document.querySelector('tr.folded')).backgroundImage"
    expect(await page.evaluate(look)).toContain('gradient')
    // What is still of the month before is pale.
    await expect.poll(() => page.locator('.shown[aria-busy=true]').count()).toBe(0)
    expect(await layoutFaults(page)).toEqual([])
  })
})

describe('the card', () => {
  test.each([
    ['2026-06', 0, /0\.95.*chargeback-ready/],
    ['2026-08', 0, /not charged back: disputed/],
    ['2026-08', 6, /not charged back: implausible cost/],
    ['2026-08', 11, /not charged back: no price/],
    ['2026-09', 6, /not charged back: billed to nobody/],
    ['2026-09', 11, /not charged back: advisory/],
    ['2026-09', 16, /not charged back: ambiguous usage/],
  ])('of %s, call %i, says what becomes of it', async (month, at, words) => {
    const { id }: ShownRecord = recordsOf.get(month)?.[at] ?? {}
    await goWithin(page, addressOf('explorer', new URLSearchParams({ record: id, period: '12m' })))
    const card = page.locator(`article.card:has-text("${id.slice(-5)}") header`)

    await expect.poll(() => card.textContent()).toMatch(words)
    if (words.source.includes('not charged')) expect(await card.textContent()).not.toContain('ready')
  })
})

test('no page logged an error', () => expect(console.faults).toEqual([]))
