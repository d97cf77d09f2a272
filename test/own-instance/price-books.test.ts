import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadPriceBookFile, type PriceBookFile } from '../../internal/valuation/cost/price-book.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributed } from '../support/attributed.js'
import { command } from '../support/instance.js'
import { launchService, type RunningService } from '../support/service.js'

/** One command updates the price book of a running service, and no record that exists is priced again. */

let service: RunningService
let ask: Ask
const folder = mkdtempSync(join(tmpdir(), 'attribution-books-'))

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-control', '1000', '--rate-read', '1000'] })
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
})
afterAll(() => service.stop())

const MILLION = { requested_model: 'gpt-4o-mini', input_tokens: 1_000_000, output_tokens: 0 }
const call = (ingestion_timestamp: string) => attributed(ask, { ...MILLION, ingestion_timestamp })
const shipped = loadPriceBookFile()
const bookWith = (input: string, stated: Partial<PriceBookFile> = {}): string => {
  // Of the service tiers nothing: their rates would not fit the changed one.
  const models = shipped.models.map(({ batch, flex, priority, ...row }) =>
    row.provider === 'openai' && row.model === 'gpt-4o-mini'
      ? { ...row, input }
      : { ...row, ...(batch && { batch }), ...(flex && { flex }), ...(priority && { priority }) },
  )
  const path = join(folder, `${input}.json`)
  writeFileSync(path, JSON.stringify({ ...shipped, models, as_of: '2026-11-10', ...stated }))
  return path
}
const run = async (...args: string[]) => {
  const { code, lines } = await command(service, ['prices', ...args])
  return { code, text: lines.join('\n'), json: () => JSON.parse(lines.find((line) => line.startsWith('{')) ?? '') }
}

test('a price book applies to calls of its period that arrive after its import; existing records stay', async () => {
  const [before, after] = ['2026-11-09T23:59:59.999Z', '2026-11-10T00:00:00.000Z']
  const old = await call(after)
  expect(old.cost_usd).toBe('0.15')

  const imported = await run('import', bookWith('0.2'), '--json')
  expect(imported.json()).toMatchObject({
    effective_from: after,
    added: 0,
    changed: 1,
    removed: 0,
    held: [],
    quarantined: [],
  })

  let record = await call(after)
  for (const end = Date.now() + 60_000; record.cost_usd === '0.15' && Date.now() < end; await sleep(20)) {
    record = await call(after)
  }
  expect(record.cost_usd).toBe('0.2')
  expect(record.explanation.cost.details).toMatchObject({ book_as_of: '2026-11-10', book_id: imported.json().book })
  expect((await call(before)).cost_usd).toBe('0.15')
  expect((await ask('GET', `/v1/attribution/${old.id}`)).json).toMatchObject({
    cost_usd: '0.15',
    materialized_at: old.materialized_at,
  })

  // A take-over finds the books again.
  process.kill(service.pid('attributor'), 'SIGKILL')
  expect((await call(after)).cost_usd).toBe('0.2')
})

test('importing the same price book again changes nothing, and a dry run imports nothing', async () => {
  const path = bookWith('0.2')
  const [again, dry] = [
    await run('import', path, '--json'),
    await run('import', bookWith('0.3'), '--dry-run', '--json'),
  ]
  const { lines } = await command(service, ['prices', 'list'])

  expect(again.code).toBe(0)
  expect(dry.json()).toMatchObject({ book: null, changed: 1 })
  // The calls so far cost 0.15 or 0.2 USD each, and would cost 0.3.
  const { costs, period } = dry.json()
  expect(costs).toEqual([
    expect.objectContaining({ provider: 'openai', served_model: 'gpt-4o-mini', newly_priced: 0, newly_unpriced: 0 }),
  ])
  expect(Number(costs[0].new_cost_usd)).toBeCloseTo(costs[0].records * 0.3, 9)
  expect(Number(costs[0].old_cost_usd)).toBeLessThanOrEqual(costs[0].records * 0.2)
  expect(Date.parse(period.to) - Date.parse(period.from)).toBe(30 * 24 * 60 * 60 * 1000)
  expect(lines.filter((line) => line.startsWith('{'))).toHaveLength(1)
})

test('a dry run sums only its period, and a period needs a dry run', async () => {
  const early = await run(
    'import',
    bookWith('0.3'),
    '--dry-run',
    '--json',
    '--from',
    '2026-01-01T00:00:00Z',
    '--to',
    '2026-02-01T00:00:00Z',
  )
  const without = await run('import', bookWith('0.3'), '--from', '2026-01-01T00:00:00Z')

  expect(early.json()).toMatchObject({ costs: [], period: { to: '2026-02-01T00:00:00.000Z' } })
  expect(without.code).toBe(1)
  expect(without.text).toContain('--from and --to need --dry-run')
})

test('a suspicious row keeps its old price until a person accepts it', async () => {
  const path = bookWith('7')
  const held = await run('import', path, '--effective-from', '2026-11-11T00:00:00Z')
  expect(held.text).toContain('openai/gpt-4o-mini  output_below_input, jump')
  expect((await call('2026-11-11T00:00:00Z')).cost_usd).toBe('0.2')

  await run('import', path, '--effective-from', '2026-11-12T00:00:00Z', '--accept', 'openai/gpt-4o-mini')
  for (const end = Date.now() + 60_000; (await call('2026-11-12T00:00:00Z')).cost_usd !== '7'; await sleep(20)) {
    expect(Date.now()).toBeLessThan(end)
  }
})

test('records priced by a wrong book are repriced on request once the right one is imported', async () => {
  const from = '2026-11-15T00:00:00.000Z'
  const untilPriced = async (price: string) => {
    let record = await call(from)
    for (const end = Date.now() + 60_000; record.cost_usd !== price && Date.now() < end; await sleep(20)) {
      record = await call(from)
    }
    return record
  }
  const take = ['--effective-from', from, '--accept', 'openai/gpt-4o-mini', '--json']
  const wrong = (await run('import', bookWith('9'), ...take)).json().book
  const record = await untilPriced('9')
  await run('import', bookWith('0.25'), ...take)
  expect((await untilPriced('0.25')).cost_usd).toBe('0.25')
  const window = ['--tenant', service.credentials.tenant_id, '--from', '2026-11-15', '--to', '2026-11-16']
  const { lines } = await command(service, ['reattribute', ...window, '--reprice-book', wrong, '--json'])

  const job = JSON.parse(lines.find((line) => line.startsWith('{')) ?? '')
  expect(job).toMatchObject({ status: 'done', valued: { book: wrong }, left: 0 })
  expect(job.cost_records).toBe(job.changed)
  const after = (await ask('GET', `/v1/attribution/${record.id}`)).json
  expect(after).toMatchObject({ cost_usd: '0.25', energy_wh: record.energy_wh })
  expect(after.explanation.history).toMatchObject([{ cost_usd: '9', ended_by: { change: 'revaluation' } }])
})

test('a file that is not a price book is refused with the fault', async () => {
  const { code, text } = await run('import', bookWith('-1'))

  expect(code).toBe(1)
  expect(text).toMatch(/models\.\d+\.input: must be a decimal string/)
})

test("a deployment's name gets the price and energy of its model once the tenant has mapped it", async () => {
  const named = { provider: 'azure', requested_model: 'prod-chat', input_tokens: 1000, output_tokens: 250 }
  expect(await attributed(ask, named)).toMatchObject({ cost_basis: 'unpriced', energy_basis: 'unknown' })

  await ask('POST', '/api/v1/model-names', { provider: 'azure', name: 'prod-chat', served_model: 'gpt-4o' })
  let record = await attributed(ask, named)
  for (const end = Date.now() + 60_000; record.cost_basis === 'unpriced' && Date.now() < end; await sleep(20)) {
    record = await attributed(ask, named)
  }

  expect(record).toMatchObject({ cost_basis: 'price_book', cost_usd: '0.005', energy_basis: 'modelled' })
  expect(record.explanation.cost.details.price.match).toContain('tenant_override')
  expect(record.explanation.footprint.details.model.match).toContain('tenant_override')
})
