import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { connectService } from '../../internal/local/replay/client.js'
import { startProduct } from '../eval/product.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import type { Processes } from '../processes.js'
import { fill } from '../reports/fill.js'
import { writeResult } from '../results.js'
import { table } from '../table.js'
import { launchBrowser } from './browser.js'
import { PAGES, timeChanges, useOverview, visit } from './interactions.js'
import { longestInteraction, observe, painted, roundsOf, scriptBytes } from './measures.js'

/**
 * Question: how soon does the console show its overview of a large tenant, how soon does it answer a person, how soon
 * does it show a new call, and how much JavaScript is that?
 *
 * The product runs as `npm start` starts it, with the calls of `reports` in its store. Headless Chromium on the same
 * machine opens the console with an empty cache, as a person does: by name and password, over the network stack of the
 * machine.
 */
export interface ConsoleOptions {
  readonly checkout: string
  readonly natsServerBin: string
  readonly rows: number
  readonly repeats: number
}

const FIRST_PAINT_MS_MAX = 1_500
const INTERACTION_MS_MAX = 200
const TO_CHART_BYTES_MAX = 200 * 1024
const ALL_BYTES_MAX = 400 * 1024
const LIVE_MS_MAX = 3_000
/** Of 300,000 calls. */
const FILTER_MS_MAX = 500
const PERIOD_MS_MAX = 700
/** Beyond it there is no figure. */
const SHOWN_MS_MAX = 60_000

export const consoleQuestion = (options: ConsoleOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'console', signal, (folder, processes) => answer(options, folder, processes))

interface Credentials {
  readonly tenant_id: string
  readonly api_key: string
  readonly console_url: string
  readonly admin_username: string
  readonly admin_password: string
}

async function answer(options: ConsoleOptions, folder: string, processes: Processes): Promise<void> {
  const { checkout, natsServerBin, rows, repeats } = options
  const product = await startProduct(folder, natsServerBin, processes)
  const credentials = JSON.parse(readFileSync(join(product.dataDir, 'credentials.json'), 'utf8')) as Credentials
  const startedAt = performance.now()
  await fill(product.dataDir, credentials.tenant_id, rows)
  const loadingS = (performance.now() - startedAt) / 1_000
  const browser = await launchBrowser(checkout)
  try {
    const opened = []
    for (let repeat = 0; repeat < repeats; repeat++) opened.push(await open(browser, credentials))
    const page = await newPage(browser)
    await signIn(page, credentials)
    const live = await watch(page, credentials.api_key, product.baseUrl, repeats)
    const changes = await timeChanges(page)
    // The newest call is now one that came over the API: it has a card.
    const used = await use(page)
    const figures = { opened, ...used, live, changes }
    writeResult(join(checkout, 'bench', 'results', 'console.json'), {
      question: 'how soon does the console show and answer, and how much JavaScript is that',
      provenance: provenance(checkout),
      load: { rows, repeats, loading_s: loadingS },
      figures,
    })
    print(figures)
  } finally {
    await browser.close()
  }
}

async function signIn(page: Page, credentials: Credentials): Promise<void> {
  await page.goto(credentials.console_url)
  await page.fill('#username', credentials.admin_username)
  await page.fill('#password', credentials.admin_password)
  await page.click('button[value=allow]')
  try {
    await page.waitForSelector('[data-chart-total]', { timeout: SHOWN_MS_MAX })
  } catch (cause) {
    throw new Error(`the overview shows no chart: ${await page.textContent('body')}`, { cause })
  }
}

const newPage = async (browser: Browser): Promise<Page> => {
  const context = await browser.newContext({
    viewport: { width: 1_440, height: 900 },
    locale: 'en-US',
    timezoneId: 'UTC',
  })
  const page = await context.newPage()
  await observe(page)
  return page
}

/** A first visit: from the return of the sign-in page to the first paint, and to the chart with all figures. */
async function open(browser: Browser, credentials: Credentials) {
  const page = await newPage(browser)
  await signIn(page, credentials)
  const shown = { ...(await painted(page)), script_bytes: await scriptBytes(page), ...(await roundsOf(page)) }
  await page.context().close()
  return shown
}

/** Everything that a person does on the overview, and each page once. */
async function use(page: Page) {
  await useOverview(page)
  for (const path of PAGES) await visit(page, path)
  return { interaction: await longestInteraction(page), all_script_bytes: await scriptBytes(page) }
}

/** From the 202 of a new call to the total that contains it. */
async function watch(page: Page, apiKey: string, baseUrl: string, times: number): Promise<readonly number[]> {
  const client = connectService(baseUrl, apiKey, 1)
  const sightings: number[] = []
  for (let n = 0; n < times; n++) {
    // Not in step with the page.
    await sleep(4_000 + 700 * (n % 3))
    const before = await page.getAttribute('[data-total]', 'data-total')
    await client.send(callOf(n))
    const sentAt = performance.now()
    await page.waitForSelector(`[data-total]:not([data-total="${before}"])`)
    sightings.push(performance.now() - sentAt)
  }
  await client.close()
  return sightings
}

const callOf = (n: number) => ({
  event_id: crypto.randomUUID(),
  ingestion_timestamp: new Date().toISOString(),
  ingestion_layer: 'application',
  provider: 'openai',
  requested_model: 'gpt-4o',
  attributed_service: 'service-00',
  attributed_identity: 'person-1@example.com',
  input_tokens: 100_000 + n,
  output_tokens: 20_000,
})

interface Figures {
  readonly opened: readonly Awaited<ReturnType<typeof open>>[]
  readonly interaction: Awaited<ReturnType<typeof longestInteraction>>
  readonly all_script_bytes: number
  readonly live: readonly number[]
  readonly changes: Awaited<ReturnType<typeof timeChanges>>
}

function print({ opened, interaction, all_script_bytes: allBytes, live, changes }: Figures): void {
  const most = (values: readonly number[]): number => Math.max(...values)
  const median = (values: readonly number[]): number =>
    values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
  const line = (name: string, value: number, max: number | undefined, unit: string): string[] => [
    name,
    `${value.toFixed(0)} ${unit}`,
    max === undefined ? '' : `${max} ${unit}${value <= max ? '' : ', missed'}`,
  ]
  const KIB = 1024
  const toChart = most(opened.map(({ script_bytes: bytes }) => bytes)) / KIB
  process.stdout.write(
    `\n${table([
      ['the console', 'measured', 'bar'],
      line('first contentful paint, worst', most(opened.map(({ first_paint_ms: ms }) => ms)), FIRST_PAINT_MS_MAX, 'ms'),
      line('overview with all figures, median', median(opened.map(({ chart_ms: ms }) => ms)), undefined, 'ms'),
      line('rounds of reports', most(opened.map(({ rounds }) => rounds)), undefined, ''),
      line(`interaction to next paint, worst (${interaction.name})`, interaction.ms, INTERACTION_MS_MAX, 'ms'),
      line('JavaScript to the first chart', toChart, TO_CHART_BYTES_MAX / KIB, 'KiB'),
      line('JavaScript of all pages', allBytes / KIB, ALL_BYTES_MAX / KIB, 'KiB'),
      line('a new call in the total, median', median(live), LIVE_MS_MAX, 'ms'),
      line('a new call in the total, worst', most(live), LIVE_MS_MAX, 'ms'),
      line('a change of filter, median', median(changes.filter_ms), FILTER_MS_MAX, 'ms'),
      line('a change of period, median', median(changes.period_ms), PERIOD_MS_MAX, 'ms'),
    ])}`,
  )
}
