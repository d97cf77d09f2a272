import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask } from '../support/ask.js'
import { wireEvent } from '../support/gateway.js'
import { onFailure } from '../support/run/at-end.js'
import { killRole, launchService, type RunningService } from '../support/service.js'
import { storeOf } from '../support/service-store.js'
import { readBooks } from '../support/usage.js'

/** Calls that two sources show, while the attributor, the store and the broker are killed. */

let service: RunningService
let otherKey: string

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-control', '100000', '--rate-read', '100000'] })
  const made = await ask(
    service.baseUrl,
    'POST',
    '/api/v1/api-keys',
    { 'x-api-key': service.credentials.api_key },
    { name: 'gateway', scopes: ['read:attribution'] },
  )
  otherKey = made.json.secret
})
afterAll(() => service.stop())

const ROUNDS = 12
const CALLS_PER_ROUND = 25

/** Sends events until they are taken, under the same key, whatever is killed meanwhile. */
async function send(apiKey: string, events: readonly object[]): Promise<void> {
  const headers = { 'x-api-key': apiKey, 'idempotency-key': randomUUID() }
  for (;;) {
    const answer = await ask(service.baseUrl, 'POST', '/api/v1/invocations', headers, events).catch(() => undefined)
    if (answer?.status === 202) return
    await sleep(50)
  }
}

async function pageOf(path: string) {
  for (;;) {
    const headers = { 'x-api-key': service.credentials.api_key }
    const answer = await ask(service.baseUrl, 'GET', path, headers).catch(() => undefined)
    if (answer?.status === 200) return answer.json
    await sleep(50)
  }
}

/** Ids of all records of these services that reads show. */
async function recordsOf(services: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (let cursor = ''; ; ) {
    const { data, page } = await pageOf(`/v1/attribution?limit=200&filter[service][in]=${services.join()}${cursor}`)
    ids.push(...data.map(({ id }: { id: string }) => id))
    if (page.has_more !== true) return ids
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`
  }
}

test('every call is one record with both events, and counted once, whichever process is killed', async () => {
  // A second try finds what the first has left.
  const run = randomUUID()
  const [app, gateway] = [`app-${run}`, `gateway-${run}`]
  const working = { isOver: false }
  const killing = (async () => {
    for (const role of ['attributor', 'store', 'attributor', 'nats', 'attributor', 'store', 'attributor']) {
      await sleep(700)
      if (working.isOver) return
      await killRole(service, role)
    }
  })()
  for (let round = 0; round < ROUNDS; round++) {
    const events = (name: string) =>
      Array.from({ length: CALLS_PER_ROUND }, (_, i) =>
        wireEvent({
          event_id: randomUUID(),
          // Of different workflows: the two events of a call meet in no partition.
          trace_id: `${name}-${round}-${i}`,
          response_id: `${run}-${round}-${i}`,
          input_tokens: 1_000,
          output_tokens: 100,
          attributed_service: name,
          attribution_confidence: name === app ? 0.9 : 0.5,
          ingestion_timestamp: new Date().toISOString(),
        }),
      )
    await Promise.all([send(service.credentials.api_key, events(app)), send(otherKey, events(gateway))])
    await sleep(300)
  }
  working.isOver = true
  await killing

  let ids = await recordsOf([app, gateway])
  onFailure(() => `records at last: ${ids.length}, wanted ${ROUNDS * CALLS_PER_ROUND}`)
  while (ids.length !== ROUNDS * CALLS_PER_ROUND) {
    await sleep(200)
    ids = await recordsOf([app, gateway])
  }
  const store = storeOf(service)
  const counted = await store.query({
    query: `SELECT service, JSONLength(seen_by, 'also') AS others, toString(sum(cost_usd)), count() FROM attributions
            WHERE (id, valid_from) NOT IN (SELECT id, valid_from FROM closed) AND service IN ({services: Array(String)})
            GROUP BY ALL`,
    query_params: { services: [app, gateway] },
    format: 'JSONCompactEachRow',
  })
  const [[name, others, , records], ...more] = (await counted.json()) as [[string, string, string, string]]
  expect([name, Number(others), Number(records), more]).toEqual([app, 1, ROUNDS * CALLS_PER_ROUND, []])
  const books = await readBooks(store)
  await store.close()
  expect(books.rollups).toEqual(books.records)
})
