import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  keepProposal,
  keptProposals,
  PROPOSAL_ROWS_MAX,
  PROPOSALS_MAX,
  readProposal,
} from '../../../../internal/valuation/books/proposals.js'
import { BOOK_PROPOSALS, ENERGY_TABLE_FILES, PRICE_BOOK_FILES } from '../../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../../support/buckets.js'
import { bookOf, priceRow } from '../../../support/price-books.js'

let buckets: Buckets
beforeAll(async () => {
  buckets = await launchBuckets()
})
afterAll(() => buckets.close())

const opened = async () => {
  const broker = await buckets.connect()
  return {
    bucket: await broker.bucket(BOOK_PROPOSALS),
    prices: await broker.objects(PRICE_BOOK_FILES),
    energy: await broker.objects(ENERGY_TABLE_FILES),
  }
}
const file = (input: string) => bookOf([priceRow('gpt-4o', input, '100')])
const HELD = [{ name: 'openai/gpt-4o', doubts: ['jump'] }]
const of = (nowMs: number) => ({ kind: 'prices', base: '2026-11-01', held: HELD, nowMs }) as const

test('a proposal is kept once, with its file and what was held, and is read by its kind', async () => {
  const { bucket, prices, energy } = await opened()

  const first = await keepProposal(bucket, prices, file('1'), of(1_000))
  const again = await keepProposal(bucket, prices, file('1'), of(2_000))
  const other = await keepProposal(bucket, prices, file('1'), { ...of(3_000), base: 'book_1' })

  expect(first).toMatchObject({ kind: 'prices', as_of: '2026-12-01', rows: 1, base: '2026-11-01', held: HELD })
  expect([again.id, other.id === first.id]).toEqual([first.id, false])
  expect((await keptProposals(bucket)).map(({ id }) => id)).toEqual([other.id, first.id])
  expect(await readProposal(bucket, prices, 'prices', first.id)).toEqual({ proposal: again, file: file('1') })
  expect(await readProposal(bucket, energy, 'energy', first.id)).toBeUndefined()
  expect(await readProposal(bucket, prices, 'prices', 'proposal_none')).toBeUndefined()
})

test('of many held rows and changed costs a proposal has the first, and their number', async () => {
  const { bucket, prices } = await opened()
  const held = Array.from({ length: 100_000 }, (_, at) => ({ name: `openai/model-${at}`, doubts: ['jump'] }))
  const cost = { provider: 'openai', served_model: 'a', records: 1, old_cost_usd: '1', new_cost_usd: '2' }
  const costs = Array(20_000).fill({ ...cost, difference_usd: '1', newly_priced: 0, newly_unpriced: 0 })
  const effect = { from: '2026-10-01', to: '2026-11-01', costs, newlyPriced: { calls: 0, cost_usd: '0' } }

  const { id } = await keepProposal(bucket, prices, file('3'), { ...of(4_000), held, effect })

  const { proposal } = (await readProposal(bucket, prices, 'prices', id)) ?? {}
  expect(proposal?.held).toEqual(held.slice(0, PROPOSAL_ROWS_MAX))
  expect(proposal).toMatchObject({ held_count: 100_000 })
  expect(proposal?.effect?.costs).toHaveLength(PROPOSAL_ROWS_MAX)
})

test('of each kind only the newest proposals are kept', async () => {
  const { bucket, prices, energy } = await opened()
  const one = await keepProposal(bucket, energy, file('1'), { ...of(0), kind: 'energy' })

  for (let i = 0; i <= PROPOSALS_MAX; i++) await keepProposal(bucket, prices, file(`2.${i}`), of(10_000 + i))

  const left = await keptProposals(bucket)
  expect(left.filter(({ kind }) => kind === 'prices')).toHaveLength(PROPOSALS_MAX)
  expect(left.at(-1)).toEqual(one)
  expect(await prices.info(left[0]?.id ?? '')).not.toBeNull()
})
