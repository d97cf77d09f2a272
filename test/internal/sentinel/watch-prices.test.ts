import type { KV } from '@nats-io/kv'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { bucketRecords } from '../../../internal/broker/records.js'
import { tenantIdsCache } from '../../../internal/ids/ids.js'
import type { Invocation } from '../../../internal/invocations/invocation.js'
import {
  CHECKED_AGAIN_MS,
  type MissingPrices,
  MODELS_MAX,
  PERIOD_MS,
  type PriceReads,
  type Unpriceable,
  watchPrices,
} from '../../../internal/sentinel/watch-prices.js'
import { missingPriceOf, unpricedModels } from '../../../internal/store/queries/reports/missing-prices.js'
import { insertRows } from '../../../internal/store/sink.js'
import { ATTRIBUTIONS } from '../../../internal/store/tables/attributions.js'
import { loadPriceBook } from '../../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../../internal/valuation/cost/price-invocation.js'
import { ANNOUNCEMENTS, MISSING_PRICES } from '../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../support/buckets.js'
import { type Database, openDatabase } from '../../support/database.js'
import { admitted, idOf, NOW_MS } from '../../support/invocations.js'
import { finishedRow } from '../../support/rows.js'

const BOOK = loadPriceBook()
const HOUR_MS = 3_600_000

let buckets: Buckets
let store: Database
let announcements: KV
let kept: KV
beforeAll(async () => {
  buckets = await launchBuckets()
  announcements = await buckets.open(ANNOUNCEMENTS)
  kept = await buckets.open(MISSING_PRICES)
  store = await openDatabase()
})
afterAll(() => buckets.close())

let tenantId = 'tnt_0'
let emitted: object[]
let unpriceable: Unpriceable
beforeEach(() => {
  tenantId = `tnt_${Number(tenantId.slice(4)) + 1}`
  emitted = []
  unpriceable = new Map()
})

let inserted = 0
async function insert(...calls: Partial<Invocation>[]): Promise<void> {
  const rows = calls.map((stated) => {
    const event = { tenantId, id: idOf(++inserted), invocation: { eventTimeMs: NOW_MS, ...stated } }
    const { costUsd, basis: costBasis, detailsJson: costDetails } = priceInvocation(admitted(event).invocation, BOOK)
    return { ...finishedRow(event), costUsd, costBasis, costDetails }
  })
  await insertRows(store.client, ATTRIBUTIONS, rows, `prices ${inserted}`)
}

async function look(nowMs = NOW_MS, reads: Partial<PriceReads> = {}): Promise<void> {
  await watchPrices(
    tenantId,
    {
      models: (...asked) => unpricedModels(store.client, ...asked),
      missing: (...asked) => missingPriceOf(store.client, ...asked),
      ...reads,
    },
    unpriceable,
    bucketRecords<MissingPrices>(kept, async () => undefined),
    {
      bucket: announcements,
      idsOf: tenantIdsCache(new Uint8Array(32)),
      store: async (_, stored) => void emitted.push(JSON.parse(stored).data),
      lastSequence: async () => 0,
      isStored: async () => false,
      clock: () => nowMs,
    },
  )
}

test('a model without a price emits one event, however its provider is spelt or how many calls follow', async () => {
  const tuned = { provider: 'azure', requestedModel: 'tuned-1' }
  await insert(tuned, { ...tuned, eventTimeMs: NOW_MS - 1_000 }, { requestedModel: 'gpt-4o' })

  await look()
  await insert({ provider: 'az.ai.openai', requestedModel: 'Tuned-1' }, tuned)
  await look(NOW_MS + HOUR_MS)

  expect(emitted).toEqual([
    {
      provider: 'azure.ai.openai',
      served_model: 'tuned-1',
      reason: 'unknown_model',
      first_call_at: new Date(NOW_MS - 1_000).toISOString(),
    },
  ])
})

test('a missing tier and a missing fee are missing prices; calls that no price could help are not', async () => {
  await insert(
    { requestedModel: 'gpt-4o', serviceTier: 'flex' },
    { requestedModel: 'gpt-4o-mini', codeExecutionCalls: 1 },
    { requestedModel: 'gpt-4.1', outputTokens: undefined },
    { requestedModel: 'gpt-4.1-mini', cachedInputTokens: 5_000 },
    { requestedModel: 'stated', estimatedCostUsd: '0.01' },
  )

  await look()

  expect(emitted).toMatchObject([
    { served_model: 'gpt-4o', reason: 'no_flex_rate' },
    { served_model: 'gpt-4o-mini', reason: 'no_tool_fee' },
  ])
})

test('calls of the last 30 days are looked at, and a model that no price could help only now and then', async () => {
  const asked: string[] = []
  const missing: PriceReads['missing'] = async (_, { servedModel }) => {
    asked.push(servedModel)
    return undefined
  }
  await insert({ requestedModel: 'new' }, { requestedModel: 'old', eventTimeMs: NOW_MS - PERIOD_MS - HOUR_MS })

  await look(NOW_MS, { missing })
  await look(NOW_MS + CHECKED_AGAIN_MS - 1, { missing })
  await look(NOW_MS + CHECKED_AGAIN_MS, { missing })

  expect(asked).toEqual(['new', 'new'])
})

test('a check that fails half-way emits the rest later, and nothing twice', async () => {
  await insert({ requestedModel: 'one' }, { requestedModel: 'two' })
  const failing: PriceReads['missing'] = (id, model) => {
    if (model.servedModel === 'two') throw new Error('unavailable')
    return missingPriceOf(store.client, id, model)
  }

  await expect(look(NOW_MS, { missing: failing })).rejects.toThrow('unavailable')
  await look()

  expect(emitted).toMatchObject([{ served_model: 'one' }, { served_model: 'two' }])
})

test('a sender that invents names causes a limited number of events', async () => {
  const told = Array.from({ length: MODELS_MAX - 1 }, (_, i) => String(i))
  await kept.put(tenantId, JSON.stringify({ told }))
  await insert({ requestedModel: 'last' }, { requestedModel: 'one too many' })

  await look()

  expect(emitted).toMatchObject([{ served_model: 'last' }])
})
