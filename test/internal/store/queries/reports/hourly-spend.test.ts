import { beforeAll, expect, test } from 'vitest'
import { hourlySpendOf } from '../../../../../internal/store/queries/reports/hourly-spend.js'
import { insertRows } from '../../../../../internal/store/sink.js'
import { ATTRIBUTIONS } from '../../../../../internal/store/tables/attributions.js'
import { formatQuantity, parseSum } from '../../../../../internal/units/quantity.js'
import { type Database, openDatabase } from '../../../../support/database.js'
import { idOf } from '../../../../support/invocations.js'
import { finishedRow } from '../../../../support/rows.js'

let store: Database
beforeAll(async () => {
  store = await openDatabase()
})

const HOUR_MS = 60 * 60 * 1000
const AT_MS = Date.UTC(2026, 10, 20, 9)

test('the spend of one provider is one series, however its calls spell it, and is enough together', async () => {
  const call = (number: number, provider: string, hoursAgo: number) => ({
    ...finishedRow({ id: idOf(number), invocation: { provider, eventTimeMs: AT_MS - hoursAgo * HOUR_MS } }),
    costUsd: parseSum<'USD'>('6'),
  })
  // A stated cost that is implausible is no anomaly.
  const implausible = {
    ...call(5, 'azure', 0),
    costUsd: parseSum<'USD'>('99999'),
    exportEligibility: 'implausible_cost',
  }
  const rows = [
    ...[call(1, 'azure', 0), call(2, 'az.ai.openai', 0), call(3, 'azure.openai', 1), call(4, 'openai', 0)],
    implausible,
  ]
  await insertRows(store.client, ATTRIBUTIONS, rows, 'spend')

  const found = await hourlySpendOf(store.client, 'tnt_one', AT_MS, { atLeastUsd: '10', weeks: 2, trailingHours: 24 })

  expect(
    found.map(({ provider, spent }) => [provider, [...spent].map(([at, usd]) => [at, formatQuantity(usd)]).sort()]),
  ).toEqual([
    [
      'azure.ai.openai',
      [
        [AT_MS - HOUR_MS, '6'],
        [AT_MS, '12'],
      ],
    ],
  ])
})
