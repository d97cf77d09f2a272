import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Ask, askAs } from '../support/ask.js'
import { attributed } from '../support/attributed.js'
import { genai, litellm, mapped, priced, pricesCommand } from '../support/proposed-books.js'
import { launchService, type RunningService } from '../support/service.js'

/** A newer price book on a running service: proposed, read, accepted by a yes, and taken back. */

let service: RunningService
let ask: Ask
const TODAY = new Date().toISOString().slice(0, 10)

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-control', '1000', '--rate-read', '1000'] })
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
})
afterAll(() => service.stop())

const MILLION = { input_tokens: 1_000_000, output_tokens: 0 }
const call = (requested_model: string, ingestion_timestamp = new Date().toISOString()) =>
  attributed(ask, { ...MILLION, requested_model, ingestion_timestamp })
const costs = async (model: string, cost: string) => {
  let record = await call(model)
  for (const end = Date.now() + 60_000; record.cost_usd !== cost && Date.now() < end; await sleep(20)) {
    record = await call(model)
  }
  expect(record.cost_usd).toBe(cost)
  return record
}
const run = pricesCommand(() => service)

const files = () => [
  '--effective-from',
  TODAY,
  '--genai-prices',
  genai(priced('gpt-4o-mini', 0.2, 0.7), priced('gpt-proposed', 3, 15), priced('gpt-4o', 2, 10), priced('o1', 9000, 1)),
  '--litellm',
  litellm({ 'gpt-4o-mini': mapped(2e-7, 7e-7), 'gpt-4o': mapped(3e-6, 1e-5) }),
]

test('a proposal says what it would change, and changes nothing before a yes', async () => {
  expect((await call('gpt-4o-mini')).cost_usd).toBe('0.15')
  expect((await call('gpt-proposed')).cost_basis).toBe('unpriced')

  const proposed = (await run('propose', ...files(), '--json')).json()
  const text = (await run('propose', ...files())).text

  expect(proposed).toMatchObject({
    proposal: expect.stringMatching(/^proposal_/),
    as_of: '2026-11-20',
    effective_from: TODAY,
    added: ['openai/gpt-proposed'],
    removed: [],
    held: [{ row: 'openai/o1', doubts: expect.arrayContaining(['implausible_magnitude']) }],
    disagreements: [{ row: 'openai/gpt-4o', price: 'input', ours: '2.5', said: { 'genai-prices': '2', litellm: '3' } }],
    effect: { newly_priced: { calls: 1, cost_usd: '3' } },
  })
  const mini = proposed.changed.find(({ row }: { row: string }) => row === 'openai/gpt-4o-mini')
  expect(mini).toMatchObject({
    from: TODAY,
    prices: expect.arrayContaining([{ price: 'input', before: '0.15', after: '0.2' }]),
  })
  expect(proposed.effect.costs).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ served_model: 'gpt-4o-mini', records: 1, difference_usd: '0.05' }),
      expect.objectContaining({ served_model: 'gpt-proposed', newly_priced: 1, difference_usd: '3' }),
    ]),
  )
  expect(text).toContain('openai/gpt-4o input: ours 2.5, genai-prices 2, litellm 3')
  expect(text).toContain('1 unpriced calls would have a price: 3 USD at list')
  expect((await run('list')).text.match(/"kind":"prices"/g)).toHaveLength(1)
  expect((await call('gpt-4o-mini')).cost_usd).toBe('0.15')
})

test('nobody accepts without a terminal or --yes, and an accepted book prices later calls until it is undone', async () => {
  const { proposal } = (await run('propose', ...files(), '--json')).json()
  const unasked = await run('accept', proposal)
  expect(unasked.code).toBe(1)
  expect(unasked.text).toContain('add --yes')

  const accepted = await run('accept', proposal, '--yes')
  const book = /book_\w+/.exec(accepted.text.split('\n').at(-1) ?? '')?.[0] ?? ''
  const record = await costs('gpt-4o-mini', '0.2')
  expect(record.explanation.cost.details).toMatchObject({ book_as_of: '2026-11-20', book_id: book })
  await costs('gpt-proposed', '3')
  expect((await call('gpt-4o')).cost_usd).toBe('2.5')
  expect(
    (await attributed(ask, { ...MILLION, requested_model: 'gpt-4o-mini', ingestion_timestamp: '2026-10-01T00:00:00Z' }))
      .cost_usd,
  ).toBe('0.15')
  expect((await run('accept', proposal, '--yes')).text).toContain(`${book} is this book`)
  expect((await run('propose', ...files(), '--json')).json()).toMatchObject({ proposal: null, added: [], changed: [] })

  const undone = await run('undo', book, '--yes')
  expect(undone.text).toContain(`${book} is undone: the price book of the release prices the calls`)
  await costs('gpt-4o-mini', '0.15')
  expect((await run('list')).text).toContain('"undone_at"')
  expect((await ask('GET', `/v1/attribution/${record.id}`)).json).toMatchObject({ cost_usd: '0.2' })

  expect((await run('accept', proposal, '--yes')).code).toBe(0)
  await costs('gpt-4o-mini', '0.2')
})
