import { expect, test } from 'vitest'
import { BookChanges } from '../../../../internal/attribution/changes/book-changes.js'
import { formatQuantity } from '../../../../internal/units/quantity.js'
import { priceBook } from '../../../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../../../internal/valuation/cost/price-invocation.js'
import { tenantPrices } from '../../../../internal/valuation/cost/tenant-prices.js'
import { admitted, idOf, type Stated } from '../../../support/invocations.js'
import { bookOf, priceRow } from '../../../support/price-books.js'
import { finishedRow } from '../../../support/rows.js'

const OLD = priceBook(bookOf([priceRow('gpt-4o', '2.5', '10'), priceRow('gone', '1', '1'), priceRow('same', '1', '2')]))
const NEW = priceBook(bookOf([priceRow('gpt-4o', '2', '8'), priceRow('added', '4', '4'), priceRow('same', '1', '2')]))

/** A record of a call with 1,000 input and 250 output tokens, priced by the old book. */
function recorded(invocation: Stated['invocation'] = {}) {
  const stated = { id: new Uint8Array(idOf(1)), invocation: { inputTokens: 1_000, outputTokens: 250, ...invocation } }
  const { costUsd, basis, detailsJson } = priceInvocation(admitted(stated).invocation, OLD)
  return { ...finishedRow(stated), costUsd, costBasis: basis, costDetails: detailsJson }
}

const changesOf = (rows: ReturnType<typeof recorded>[], prices?: Parameters<BookChanges['add']>[2]) => {
  const changes = new BookChanges()
  changes.add(rows, NEW, prices ?? (() => undefined))
  return changes.largestFirst().map(({ oldCost, newCost, ...rest }) => {
    return { ...rest, old: formatQuantity(oldCost), new: formatQuantity(newCost) }
  })
}

test('the costs of records that a book would change are summed by provider and model, the largest change first', () => {
  const rows = [
    recorded(),
    recorded({ inputTokens: 2_000 }),
    recorded({ requestedModel: 'added' }),
    recorded({ requestedModel: 'gone' }),
    recorded({ requestedModel: 'same' }),
    recorded({ requestedModel: 'unheard-of' }),
  ]

  expect(changesOf(rows)).toEqual([
    { provider: 'openai', servedModel: 'added', records: 1, old: '0', new: '0.005', newlyPriced: 1, newlyUnpriced: 0 },
    {
      provider: 'openai',
      servedModel: 'gpt-4o',
      records: 2,
      old: '0.0125',
      new: '0.01',
      newlyPriced: 0,
      newlyUnpriced: 0,
    },
    { provider: 'openai', servedModel: 'gone', records: 1, old: '0.00125', new: '0', newlyPriced: 0, newlyUnpriced: 1 },
  ])
})

test("a tenant's own price stays the stronger one, and its model names hold", () => {
  const rates = { input: '9', output: '9' }
  const overrides = [{ provider: 'openai', model: 'added', from: '2026-01-01', rates }]
  const names = [{ provider: 'openai', model: 'prod', servedBy: { provider: 'openai', model: 'gpt-4o' } }]
  const result = tenantPrices(overrides, names)
  const prices = result.kind === 'prices' ? result.prices : undefined

  const changed = changesOf([recorded({ requestedModel: 'added' }), recorded({ requestedModel: 'prod' })], () => prices)

  expect(changed).toMatchObject([{ servedModel: 'prod', old: '0', new: '0.004', newlyPriced: 1 }])
})

test('a stated cost that was not trusted does not count here either', () => {
  const row = { ...recorded(), estimatedCostUsd: (10n ** 18n) as ReturnType<typeof recorded>['costUsd'] }

  expect(changesOf([row])).toMatchObject([{ records: 1, old: '0.005', new: '0.004' }])
})
