import { expect, test } from 'vitest'
import { NewlyPriced } from '../../../../internal/attribution/changes/newly-priced.js'
import { priceBook } from '../../../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../../../internal/valuation/cost/price-invocation.js'
import { tenantPrices } from '../../../../internal/valuation/cost/tenant-prices.js'
import { admitted, idOf, type Stated } from '../../../support/invocations.js'
import { bookOf, priceRow } from '../../../support/price-books.js'
import { finishedRow } from '../../../support/rows.js'

const OLD = priceBook(bookOf([priceRow('known', '1', '2')]))
const NEW = priceBook(bookOf([priceRow('known', '3', '4'), priceRow('added', '4', '4')]))

/** A record of a call with 1,000 input and 250 output tokens, priced by the old book. */
function recorded(requestedModel: string, tenantId: string, person: number) {
  const invocation: Stated['invocation'] = { inputTokens: 1_000, outputTokens: 250, requestedModel }
  const stated = { id: new Uint8Array(idOf(1)), invocation }
  const { costUsd, basis, detailsJson } = priceInvocation(admitted(stated).invocation, OLD)
  const identityHash = new Uint8Array(16).fill(person)
  return { ...finishedRow(stated), tenantId, identityHash, costUsd, costBasis: basis, costDetails: detailsJson }
}

test('unpriced calls that a book prices are counted by tenant, with their dollars at list and their people', () => {
  const newly = new NewlyPriced(() => new Set())
  newly.add(
    [recorded('added', 'a', 1), recorded('added', 'a', 1), recorded('added', 'b', 0), recorded('known', 'b', 2)],
    NEW,
    () => undefined,
  )
  newly.add([recorded('added', 'a', 2), recorded('unheard-of', 'a', 3)], NEW, () => undefined)

  expect(newly.byTenant()).toEqual([
    ['a', { calls: 3, cost_usd: '0.015', people: 2 }],
    ['b', { calls: 1, cost_usd: '0.005', people: 0 }],
  ])
  expect(newly.total()).toEqual({ calls: 4, cost_usd: '0.02' })
})

test('a workload is no person', () => {
  const newly = new NewlyPriced(
    (tenantId) => new Set(tenantId === 'a' ? ['01', '02'].map((byte) => byte.repeat(16)) : []),
  )
  newly.add(
    [1, 2, 3].map((person) => recorded('added', 'a', person)),
    NEW,
    () => undefined,
  )

  expect(newly.byTenant()).toMatchObject([['a', { calls: 3, people: 1 }]])
})

test("a call that a tenant's own price already covers is not counted as a gain of the book", () => {
  const rates = { input: '9', output: '9' }
  const result = tenantPrices([{ provider: 'openai', model: 'added', from: '2026-01-01', rates }], [])
  const newly = new NewlyPriced(() => new Set())

  newly.add([recorded('added', 'a', 1)], NEW, () => (result.kind === 'prices' ? result.prices : undefined))

  expect(newly.total()).toEqual({ calls: 0, cost_usd: '0' })
})
