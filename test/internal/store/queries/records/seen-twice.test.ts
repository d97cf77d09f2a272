import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SharedBy, seenTwice } from '../../../../../internal/store/queries/records/seen-twice.js'
import { insertRows } from '../../../../../internal/store/sink.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../../../../internal/store/tables/attributions.js'
import { idOf, NOW_MS } from '../../../../support/invocations.js'
import { finishedRow } from '../../../../support/rows.js'
import { launchMigratedStore, type RunningStore, stopStore } from '../../../../support/store.js'

let store: RunningStore

beforeAll(async () => {
  store = await launchMigratedStore()
})
afterAll(() => stopStore(store))

const hexOf = (number: number): string => Buffer.from(idOf(number)).toString('hex')
const MINUTE_MS = 60_000
const EARLIER = { intake: 'litellm', principal: 'key_gw', validFromMs: NOW_MS } as const
const NEW = { intake: 'otlp', principal: 'key_app', validFromMs: NOW_MS + 1 } as const

const rowOf = (number: number, stated: Partial<AttributionRow>): AttributionRow => ({
  ...finishedRow({ id: new Uint8Array(idOf(number)) }),
  eventTimeMs: NOW_MS,
  ...stated,
})

/** The groups of the records that became valid last, as numbers of records. */
async function found(tenantId: string, by: SharedBy, minutes: readonly number[] = [0], membersMax = 64) {
  const windows = minutes.map((minute) => ({
    fromMs: NOW_MS + (minute - 1) * MINUTE_MS,
    toMs: NOW_MS + (minute + 1) * MINUTE_MS,
  }))
  const groups = await seenTwice(store.client, { tenantId, by, validFromMs: NOW_MS + 1, windows }, membersMax)
  return groups.map((members) => members.map(({ id }) => id).sort()).sort()
}

test('records of other sources with the same response id are found, near in time and of the tenant', async () => {
  await insertRows(
    store.client,
    ATTRIBUTIONS,
    [
      rowOf(1, { ...EARLIER, responseId: 'both' }),
      rowOf(2, { ...NEW, responseId: 'both' }),
      // Of one source; inserted before; far away; without an id; another tenant's.
      rowOf(3, { ...NEW, responseId: 'own' }),
      rowOf(4, { ...NEW, responseId: 'own' }),
      rowOf(5, { ...EARLIER, responseId: 'old' }),
      rowOf(6, { ...EARLIER, principal: 'key_3', responseId: 'old' }),
      rowOf(7, { ...EARLIER, responseId: 'far', eventTimeMs: NOW_MS - 5 * MINUTE_MS }),
      rowOf(8, { ...NEW, responseId: 'far' }),
      rowOf(9, { ...EARLIER, responseId: '' }),
      rowOf(10, { ...NEW, responseId: '' }),
      rowOf(11, { ...EARLIER, responseId: 'foreign', tenantId: 'tnt_two' }),
      rowOf(12, { ...NEW, responseId: 'foreign' }),
    ],
    'response ids',
  )

  expect(await found('tnt_one', 'response_id')).toEqual([[hexOf(1), hexOf(2)]])
  expect(await found('tnt_one', 'response_id', [-5, 0])).toEqual([
    [hexOf(1), hexOf(2)],
    [hexOf(7), hexOf(8)],
  ])
  expect(await found('tnt_one', 'trace_and_span')).toEqual([])
})

test('trace and span count together', async () => {
  const of = (number: number, source: Partial<AttributionRow>, traceId: string, spanId: string) =>
    rowOf(number, { ...source, tenantId: 'tnt_three', traceId, spanId })
  await insertRows(
    store.client,
    ATTRIBUTIONS,
    [of(21, EARLIER, 't1', 's1'), of(22, NEW, 't1', 's1'), of(23, EARLIER, 't2', 's1'), of(24, NEW, 't1', '')],
    'spans',
  )

  expect(await found('tnt_three', 'trace_and_span')).toEqual([[hexOf(21), hexOf(22)]])
})

test('an id that many records have is left out', async () => {
  const rows = Array.from({ length: 5 }, (_, i) =>
    rowOf(31 + i, { ...NEW, principal: `key_${i}`, tenantId: 'tnt_four', responseId: 'same' }),
  )
  await insertRows(store.client, ATTRIBUTIONS, rows, 'many')

  expect(await found('tnt_four', 'response_id', [0], 5)).toHaveLength(1)
  expect(await found('tnt_four', 'response_id', [0], 4)).toEqual([])
})
