import { beforeAll, expect, test } from 'vitest'
import { seenTwice } from '../../../../../internal/store/queries/records/seen-twice.js'
import { insertRows } from '../../../../../internal/store/sink.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../../../../internal/store/tables/attributions.js'
import { type Database, openDatabase } from '../../../../support/database.js'
import { idOf, NOW_MS } from '../../../../support/invocations.js'
import { finishedRow } from '../../../../support/rows.js'

let store: Database

beforeAll(async () => {
  store = await openDatabase()
})

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
async function found(tenantId: string, minutes: readonly number[] = [0], membersMax = 64) {
  const windows = minutes.map((minute) => ({
    fromMs: NOW_MS + (minute - 1) * MINUTE_MS,
    toMs: NOW_MS + (minute + 1) * MINUTE_MS,
  }))
  const groups = await seenTwice(
    store.client,
    { tenantId, validFromMs: NOW_MS + 1, windows, inserted: windows, hasInstrumented: true },
    membersMax,
  )
  // Records may have several things in common.
  const named = new Map(groups.map((members) => members.map(({ id }) => id).sort()).map((ids) => [ids.join(), ids]))
  return [...named.values()].sort()
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

  expect(await found('tnt_one')).toEqual([[hexOf(1), hexOf(2)]])
  expect(await found('tnt_one', [-5, 0])).toEqual([
    [hexOf(1), hexOf(2)],
    [hexOf(7), hexOf(8)],
  ])
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

  expect(await found('tnt_three')).toEqual([[hexOf(21), hexOf(22)]])
})

test('an id that many records have is left out', async () => {
  const rows = Array.from({ length: 5 }, (_, i) =>
    rowOf(31 + i, { ...NEW, principal: `key_${i}`, tenantId: 'tnt_four', responseId: 'same' }),
  )
  await insertRows(store.client, ATTRIBUTIONS, rows, 'many')

  expect(await found('tnt_four', [0], 5)).toHaveLength(1)
  expect(await found('tnt_four', [0], 4)).toEqual([])
})

test('a span and the one around it are found, whichever came first; siblings without it are not', async () => {
  const of = (number: number, source: Partial<AttributionRow>, spanId: string, parentSpanId = '') =>
    rowOf(number, { ...source, tenantId: 'tnt_five', traceId: 't', spanId, parentSpanId })
  const old = { ...NEW, validFromMs: NOW_MS }
  await insertRows(
    store.client,
    ATTRIBUTIONS,
    [
      of(41, old, 'inner-1', 'outer-1'),
      of(42, NEW, 'outer-1'),
      of(43, old, 'outer-2'),
      of(44, NEW, 'inner-2', 'outer-2'),
      of(45, old, 'sibling-1', 'agent'),
      of(46, NEW, 'sibling-2', 'agent'),
    ],
    'parents',
  )

  expect(await found('tnt_five')).toEqual([
    [hexOf(41), hexOf(42)],
    [hexOf(43), hexOf(44)],
  ])
})

test('the id of a request is compared with those of requests and of answers', async () => {
  const of = (number: number, source: Partial<AttributionRow>) => rowOf(number, { ...source, tenantId: 'tnt_six' })
  await insertRows(
    store.client,
    ATTRIBUTIONS,
    [
      of(51, { ...EARLIER, requestId: 'amzn-1', responseId: 'chatcmpl-1' }),
      of(52, { ...NEW, responseId: 'amzn-1', requestId: 'amzn-1' }),
      of(53, { ...EARLIER, requestId: 'call-2' }),
      of(54, { ...NEW, requestId: 'call-2' }),
      // Attempts of one observer.
      of(55, { ...NEW, requestId: 'call-3', responseId: 'chatcmpl-2' }),
      of(56, { ...NEW, requestId: 'call-3', responseId: 'chatcmpl-3' }),
    ],
    'requests',
  )

  expect(await found('tnt_six')).toEqual([
    [hexOf(51), hexOf(52)],
    [hexOf(53), hexOf(54)],
  ])
})

test('calls with equal counts are found where two instrumentations show them at one time, or in one trace', async () => {
  const of = (number: number, instrumentation: string, stated: Partial<AttributionRow>) =>
    rowOf(number, {
      ...NEW,
      tenantId: 'tnt_seven',
      instrumentation,
      traceId: `t${number}`,
      spanId: `s${number}`,
      ...stated,
    })
  const early = { inputTokens: 10, outputTokens: 20 }
  const late = { ...early, eventTimeMs: NOW_MS + 50_000 }
  await insertRows(
    store.client,
    ATTRIBUTIONS,
    [
      of(61, 'langchain', early),
      of(62, 'openai', { ...early, eventTimeMs: NOW_MS + 1_900 }),
      of(63, 'openai', { inputTokens: 11, outputTokens: 20 }),
      of(64, 'openai', { ...late, traceId: 't61' }),
      // One instrumentation, at one time; another credential; native events.
      of(65, 'openai', { inputTokens: 7, outputTokens: 7 }),
      of(66, 'openai', { inputTokens: 7, outputTokens: 7 }),
      of(67, 'langchain', { ...early, principal: 'key_other', eventTimeMs: NOW_MS + 30_000 }),
      of(68, '', { ...early, intake: '' }),
      // The sender of a stream who does not know its input.
      of(69, 'langchain', { inputTokens: 0, outputTokens: 400 }),
      of(70, 'openai', { inputTokens: 3_100, outputTokens: 400 }),
    ],
    'twins',
  )

  // Nothing new is among them.
  const two = { ...early, validFromMs: NOW_MS - 1, eventTimeMs: NOW_MS - 20_000 }
  await insertRows(store.client, ATTRIBUTIONS, [of(71, 'langchain', two), of(72, 'openai', two)], 'older twins')

  expect(await found('tnt_seven')).toEqual([
    [hexOf(61), hexOf(62)],
    [hexOf(61), hexOf(64)],
    [hexOf(69), hexOf(70)],
  ])
})
