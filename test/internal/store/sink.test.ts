import { beforeAll, expect, test } from 'vitest'
import { connectStore } from '../../../internal/store/client.js'
import { insertRows } from '../../../internal/store/sink.js'
import { ATTRIBUTIONS } from '../../../internal/store/tables/attributions.js'
import { type Database, openDatabase } from '../../support/database.js'
import { idOf, NOW_MS } from '../../support/invocations.js'
import { finishedRow } from '../../support/rows.js'
import { readBooks } from '../../support/usage.js'
import { missingValues } from '../../support/values.js'

const BATCHES = Number(process.env['ATTRIBUTION_SINK_BATCHES'] ?? 25)
const WRITERS = 3
const ROWS_A_BATCH = 50

let store: Database

beforeAll(async () => {
  store = await openDatabase()
})

const batch = (index: number) =>
  Array.from({ length: ROWS_A_BATCH }, (_, i) =>
    finishedRow({
      id: idOf(index * ROWS_A_BATCH + i),
      invocation: { eventTimeMs: NOW_MS + index * 1_000, attributedIdentity: `person-${i % 7}`, inputTokens: i },
    }),
  )

test('rows that several writers insert at once under one token, each in an order of its own, are stored and counted once', async () => {
  const writers = Array.from({ length: WRITERS }, () => connectStore(store.connection))

  for (let index = 0; index < BATCHES; index++) {
    const rows = batch(index)
    await Promise.all(
      writers.map((writer, i) => {
        const ordered = [...rows.slice(i * 7), ...rows.slice(0, i * 7)]
        return insertRows(writer, ATTRIBUTIONS, ordered, `batch ${index}`)
      }),
    )
  }
  await Promise.all(writers.map((writer) => writer.close()))

  const answer = await store.client.query({ query: 'SELECT count() AS rows FROM attributions', format: 'JSONEachRow' })
  expect(await answer.json()).toEqual([{ rows: String(BATCHES * ROWS_A_BATCH) }])
  const { records, rollups } = await readBooks(store.client)
  expect(records.length).toBeGreaterThan(0)
  expect(rollups).toEqual(records)
  expect(await missingValues(store.client)).toEqual([])
})
