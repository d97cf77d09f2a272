import { beforeAll, expect, test } from 'vitest'
import { traceNeighbours } from '../../../../../internal/store/queries/attribution/trace-neighbours.js'
import { insertRows } from '../../../../../internal/store/sink.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../../../../internal/store/tables/attributions.js'
import { type Database, openDatabase } from '../../../../support/database.js'
import { idOf, NOW_MS, type Stated } from '../../../../support/invocations.js'
import { finishedRow } from '../../../../support/rows.js'

let store: Database
beforeAll(async () => {
  store = await openDatabase()
})

function row(number: number, event: Stated['invocation'], stated: Stated = {}): AttributionRow {
  const invocation = { eventTimeMs: NOW_MS - 1_000 + number, inputTokens: number, traceId: 'trace-one', ...event }
  return finishedRow({ ...stated, id: idOf(number), invocation }, { verdict: {} })
}

test('the calls of a trace are given with their stated identities, the earliest first, of one tenant', async () => {
  const rows = [
    row(1, { attributedIdentity: 'ada@example.com' }),
    row(2, { attributedIdentity: undefined }),
    row(3, { attributedIdentity: 'ada@example.com' }),
    row(4, { traceId: 'trace-two' }),
    row(5, { eventTimeMs: NOW_MS - 50_000 }),
    row(6, {}, { tenantId: 'tnt_two' }),
  ]
  await insertRows(store.client, ATTRIBUTIONS, rows, 'neighbours')
  const window = { tenantId: 'tnt_one', fromMs: NOW_MS - 2_000, toMs: NOW_MS, asOfMs: NOW_MS + 1_000 }

  const read = await traceNeighbours(store.client, window, ['trace-one'], 16)
  const few = await traceNeighbours(store.client, window, ['trace-one', 'trace-two'], 1)

  expect(read.map(({ input_tokens }) => Number(input_tokens))).toEqual([1, 2, 3])
  expect(read[0]?.identity_hash_hex).toMatch(/^[0-9a-f]{32}$/)
  expect(read.map(({ identity_hash_hex }) => identity_hash_hex)).toEqual([
    read[0]?.identity_hash_hex,
    null,
    read[0]?.identity_hash_hex,
  ])
  expect(few.map(({ input_tokens }) => Number(input_tokens)).sort()).toEqual([1, 4])
})
