import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { insertRows } from '../../../../internal/store/sink.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { CLOSED, type ClosedRow } from '../../../../internal/store/tables/closed.js'
import { type Database, openDatabase } from '../../../support/database.js'
import { idOf, NOW_MS } from '../../../support/invocations.js'
import { finishedRow } from '../../../support/rows.js'
import { readBooks } from '../../../support/usage.js'

let store: Database

beforeAll(async () => {
  store = await openDatabase()
})

let ids = 0
const record = fc
  .record({
    service: fc.constantFrom('search', 'chat'),
    minutes: fc.nat(60),
    provider: fc.constantFrom('openai', 'anthropic'),
    attributedIdentity: fc.constantFrom(undefined, 'ann', 'bob', 'eve'),
    inputTokens: fc.option(fc.nat(10_000), { nil: undefined }),
    outputTokens: fc.option(fc.nat(10_000), { nil: undefined }),
    estimatedCostUsd: fc.constantFrom('0.1', '12345678901234567890.123456789012345678', '0.000000000000000001'),
  })
  .map(({ service, minutes, ...stated }) => {
    const invocation = { ...stated, eventTimeMs: NOW_MS + minutes * 60_000 }
    return finishedRow({ id: idOf(++ids), invocation }, { verdict: { service, owner: `team-${service}` } })
  })

const closing = (version: AttributionRow, closedAtMs: number): ClosedRow => ({
  version,
  closedAtMs,
  change: 'override',
  changeId: 'chg_one',
  actor: 'cli',
})

test('rollups equal the records, to the last digit and person, however often an insert is repeated', async () => {
  let token = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { minLength: 1, maxLength: 30 }),
      fc.nat(30),
      fc.nat(2),
      async (rows, changed, repeats) => {
        const [inserted, replaced] = [`i${++token}`, `r${token}`]
        const old = rows.slice(0, changed)
        const next = old.map((row) => ({ ...row, owner: 'team-other', validFromMs: NOW_MS + 1 }))
        for (let i = 0; i <= repeats; i++) {
          await insertRows(store.client, ATTRIBUTIONS, rows, inserted)
          await insertRows(store.client, ATTRIBUTIONS, next, replaced)
          await insertRows(
            store.client,
            CLOSED,
            old.map((row) => closing(row, NOW_MS + 1)),
            replaced,
          )
        }
      },
    ),
    { numRuns: 12 },
  )

  const { records, rollups } = await readBooks(store.client)
  expect(records.length).toBeGreaterThan(10)
  expect(rollups).toEqual(records)
})
