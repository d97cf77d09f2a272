import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  countPassedOver,
  type PassedOverByLayer,
  type PassedOverCounts,
} from '../../../../internal/ingest/otlp/passed-over-counts.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { PASSED_OVER } from '../../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../../support/buckets.js'

const NOON = Date.UTC(2026, 10, 21, 12)
const HOUR_MS = 3_600_000
const agents = (count: number, layer = 'application'): PassedOverByLayer =>
  new Map([[layer, new Map([['agent', count]])]])

let buckets: Buckets
let isBrokerUp = true
const opened: PassedOverCounts[] = []

beforeAll(async () => {
  buckets = await launchBuckets()
})
afterAll(async () => {
  for (const counts of opened) await counts.close()
  await buckets.close()
})

/** The counts of one gateway. */
async function open(): Promise<PassedOverCounts> {
  const bucket = await (await buckets.connect()).bucket(PASSED_OVER)
  const counts = countPassedOver({ bucket, isBrokerUp: () => isBrokerUp, log: createLog('test', 'silent') })
  opened.push(counts)
  return counts
}

test('the counts of several gateways that store at the same time are added, per tenant, layer and kind', async () => {
  const gateways = await Promise.all([open(), open(), open()])
  for (const [index, { onPassedOver }] of gateways.entries()) {
    onPassedOver('tnt_1', agents(2), NOON)
    onPassedOver('tnt_1', agents(1, 'gateway'), NOON + index)
    onPassedOver('tnt_2', agents(5), NOON)
  }

  await Promise.all(gateways.map(({ flush }) => flush()))
  await gateways[0]?.flush()

  for (const { read } of gateways) {
    expect(await read('tnt_1', NOON)).toEqual([
      { layer: 'application', kind: 'agent', count: 6, lastAtMs: NOON },
      { layer: 'gateway', kind: 'agent', count: 3, lastAtMs: NOON + 2 },
    ])
    expect(await read('tnt_2', NOON)).toMatchObject([{ count: 15 }])
    expect(await read('tnt_3', NOON)).toEqual([])
  }
})

test('an hour counts until it is a day old, and is then forgotten', async () => {
  const { onPassedOver, flush, read } = await open()
  onPassedOver('tnt_day', agents(1), NOON)
  await flush()
  onPassedOver('tnt_day', agents(10), NOON + 2 * HOUR_MS)
  await flush()

  expect(await read('tnt_day', NOON + 24 * HOUR_MS)).toMatchObject([{ count: 11 }])
  expect(await read('tnt_day', NOON + 25 * HOUR_MS)).toMatchObject([{ count: 10 }])
  onPassedOver('tnt_day', agents(100), NOON + 25 * HOUR_MS)
  await flush()
  expect(Object.keys((await (await buckets.open(PASSED_OVER)).get('tnt_day'))?.json<object>() ?? {})).toHaveLength(2)
})

test('what is counted while the broker is away is stored once it is back', async () => {
  const { onPassedOver, flush, read } = await open()
  isBrokerUp = false
  onPassedOver('tnt_away', agents(3), NOON)
  await flush()
  isBrokerUp = true
  onPassedOver('tnt_away', agents(4), NOON)

  expect(await read('tnt_away', NOON)).toEqual([])
  await flush()
  expect(await read('tnt_away', NOON)).toMatchObject([{ count: 7 }])
})
