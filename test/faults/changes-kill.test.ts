import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Asked, ask } from '../support/ask.js'
import { wireEvent } from '../support/gateway.js'
import { killRole, launchService, type RunningService } from '../support/service.js'
import { storeOf } from '../support/service-store.js'
import { readBooks } from '../support/usage.js'

/** Overrides and disputes while the store, the attributor, the gateway and the broker are killed. */

let service: RunningService

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-control', '100000', '--rate-read', '100000'] })
})
afterAll(() => service.stop())

const WORKERS = 6
const ROUNDS = 12

/** Asks until there is a final answer: the same key gets one, whichever process is killed. */
async function askUntilFinal(method: string, path: string, body?: unknown): Promise<Asked> {
  const headers = { 'x-api-key': service.credentials.api_key, 'idempotency-key': randomUUID() }
  for (;;) {
    try {
      const answer = await ask(service.baseUrl, method, path, headers, body)
      const isBusy = answer.status === 409 && answer.json.error_code === 'IDEMPOTENCY_IN_PROGRESS'
      if (answer.status < 500 && answer.status !== 429 && !isBusy) return answer
    } catch {
      // The gateway is dead.
    }
    await sleep(50)
  }
}

async function newRecord(worker: number): Promise<string> {
  const stated = { attributed_identity: `person-${worker}`, ingestion_timestamp: new Date().toISOString() }
  const { json } = await askUntilFinal('POST', '/api/v1/invocations', wireEvent(stated))
  const path = `/v1/attribution/${json.invocation_id.replace('inv_', 'attr_')}`
  while ((await askUntilFinal('GET', path)).status !== 200) await sleep(20)
  return path
}

interface Taken {
  readonly path: string
  /** What was answered with a 2xx, in order. */
  readonly changes: readonly string[]
}

/** What a person does with one record, one thing after the other, and hears that it is done or kept. */
async function work(worker: number): Promise<Taken> {
  const path = await newRecord(worker)
  const changes: string[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const kind = ['override', 'dispute'][round % 2] ?? ''
    const isUndone = round % 4 >= 2
    const body =
      kind === 'override'
        ? { service: `service-${round}`, owner: `team-${worker}`, reason: 'so it is' }
        : { reason: 'so it is' }
    const { status, json } = await askUntilFinal(
      isUndone ? 'DELETE' : 'POST',
      `${path}/${kind}`,
      isUndone ? undefined : body,
    )
    expect([status, json?.error_code]).toEqual([expect.toSatisfy((code: number) => code < 300), undefined])
    changes.push(isUndone ? `undo_${kind}` : kind)
    // One that is only kept is waited for: the next would else be judged by a state that is not there yet.
    while (status === 202 && (await historyOf(path)).length < changes.length) await sleep(50)
  }
  return { path, changes }
}

const historyOf = async (path: string): Promise<readonly string[]> =>
  (await askUntilFinal('GET', path)).json.explanation.history.map(
    ({ ended_by }: { ended_by: { change: string } }) => ended_by.change,
  )

test('each accepted change is in the history exactly once, rollups equal records, whatever is killed', async () => {
  const killed: string[] = []
  const working = { isOver: false }
  const killing = (async () => {
    for (const role of ['attributor', 'store', 'gateway', 'attributor', 'nats', 'store', 'gateway', 'attributor']) {
      await sleep(1_500)
      if (working.isOver) return
      await killRole(service, role)
      killed.push(role)
    }
  })()
  const taken = await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)))
  working.isOver = true
  await killing

  expect(new Set(killed)).toEqual(new Set(['attributor', 'store', 'gateway', 'nats']))
  for (const { path, changes } of taken) expect(await historyOf(path)).toEqual(changes)
  const store = storeOf(service)
  const { records, rollups } = await readBooks(store)
  await store.close()
  expect(records.length).toBeGreaterThan(0)
  expect(rollups).toEqual(records)
})
