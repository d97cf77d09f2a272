import { afterAll, beforeAll, expect, test } from 'vitest'
import { DEFAULT_SETTINGS, type Tenant } from '../../../internal/auth/tenant.js'
import { PROBE_TENANT_ID } from '../../../internal/ids/probe-tenant.js'
import { openSentinel } from '../../../internal/sentinel/open-sentinel.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { TENANTS } from '../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../support/buckets.js'
import { type Database, openDatabase } from '../../support/database.js'

const TENANT = 'tnt_kept'
const NEVER_MS = 3_600_000

let buckets: Buckets
let running: Database
beforeAll(async () => {
  ;[buckets, running] = await Promise.all([launchBuckets(), openDatabase()])
})
afterAll(async () => {
  await buckets.close()
})

test('a sentinel deletes records of our own probes after two days, and a tenant’s after its retention', async () => {
  const { client } = running
  const tenant: Tenant = {
    id: TENANT,
    name: 'Kept',
    created_at: '2026-01-01T00:00:00Z',
    settings: DEFAULT_SETTINGS,
  }
  await (await buckets.open(TENANTS)).put(TENANT, JSON.stringify(tenant))
  for (const id of [PROBE_TENANT_ID, TENANT]) {
    for (const days of [0, 1, 4, 500]) {
      const values = `('${id}', toStartOfDay(now('UTC')) - INTERVAL ${days} DAY)`
      await client.command({ query: `INSERT INTO usage_15m (tenant_id, bucket) VALUES ${values}` })
    }
  }
  const keptOf = async (id: string): Promise<number[]> => {
    const result = await client.query({
      query:
        "SELECT dateDiff('day', bucket, now('UTC')) AS age FROM usage_15m " +
        'WHERE tenant_id = {id:String} ORDER BY age',
      query_params: { id },
      format: 'JSONEachRow',
    })
    return (await result.json<{ age: string }>()).map(({ age }) => Number(age))
  }

  const stopping = new AbortController()
  const sentinel = await openSentinel(
    {
      broker: await buckets.connect(),
      store: client,
      publish: async () => ({ kind: 'unanswered' }) as never,
      membership: { owns: () => true },
      idsOf: () => ({ tag: new Uint8Array(4), sip: new Uint8Array(16) }) as never,
      sourcesOf: () => [],
      watchConnectors: async () => undefined,
      applyPending: async () => undefined,
      budgetsEveryMs: NEVER_MS,
      surveyEveryMs: NEVER_MS,
      onLost: () => undefined,
      clock: Date.now,
      log: createLog('test', 'silent'),
    },
    stopping.signal,
  )

  await expect.poll(() => keptOf(PROBE_TENANT_ID)).toEqual([0, 1])
  await expect.poll(() => keptOf(TENANT)).toEqual([0, 1, 4])
  stopping.abort()
  await sentinel.stopped
})
