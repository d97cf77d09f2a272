import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectService, type ServiceClient } from '../../internal/local/replay/client.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { launchGateway, postTo, wireEvent } from '../support/gateway.js'
import type { Launched } from '../support/processes.js'
import { launchService, type RunningService } from '../support/service.js'
import { allRecords } from '../support/trace.js'

let service: RunningService
let client: ServiceClient
let second: { process: Launched; baseUrl: string }

async function launchSecond(): Promise<typeof second> {
  const port = await freePort()
  const process = await launchGateway(service, port)
  const baseUrl = `http://127.0.0.1:${port}`
  while (!(await fetch(`${baseUrl}/readyz`)).ok) await sleep(20)
  return { process, baseUrl }
}

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-read', '100000'] })
  client = connectService(service.baseUrl, service.credentials.api_key, 16)
  second = await launchSecond()
})

afterAll(async () => {
  await second.process.kill('SIGTERM')
  await client.close()
  await service.stop()
})

const event = (): string => JSON.stringify(wireEvent())

async function post(baseUrl: string, body: string, key: string) {
  const path = `${baseUrl}/api/v1/invocations`
  const { headers: _, ...answer } = await postTo(path, service.credentials.api_key, body, key)
  return answer
}

const PAIRS = 200
/** Of all at once, some would wait longer than a gateway waits for the owner of a key before it decides alone. */
const PAIRS_AT_ONCE = 10

async function inTurns<T>(send: () => Promise<T>): Promise<T[]> {
  const outcomes: T[] = []
  while (outcomes.length < PAIRS) outcomes.push(...(await Promise.all(Array.from({ length: PAIRS_AT_ONCE }, send))))
  return outcomes
}

test('two bodies under one key, sent to both gateways at once, get one 202 and one 422', async () => {
  const outcomes = await inTurns(async () => {
    const key = randomUUID()
    const answers = await Promise.all([post(service.baseUrl, event(), key), post(second.baseUrl, event(), key)])
    return answers.map(({ status }) => status).sort()
  })

  expect(new Set(outcomes.map(String))).toEqual(new Set(['202,422']))
})

test('one request sent to both gateways at once takes effect once, with the same answer at both', async () => {
  const outcomes = await inTurns(async () => {
    const [key, body] = [randomUUID(), event()]
    const answers = await Promise.all([post(service.baseUrl, body, key), post(second.baseUrl, body, key)])
    return {
      texts: new Set(answers.map(({ status, text }) => `${status} ${text}`)).size,
      replays: answers.filter(({ isReplay }) => isReplay).length,
    }
  })

  expect(outcomes.every(({ texts, replays }) => texts === 1 && replays === 1)).toBe(true)
})

test('a key admitted at one gateway is replayed and protected at the other, also after a kill', async () => {
  const taken = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const [key, body] = [randomUUID(), event()]
      // Of every second pair the answer is that the event is a duplicate.
      if (i % 4 > 1) await post(service.baseUrl, body, randomUUID())
      const first = await post(i % 2 === 0 ? second.baseUrl : service.baseUrl, body, key)
      return { key, body, first }
    }),
  )
  const check = async (baseUrl: string): Promise<void> => {
    for (const { key, body, first } of taken) {
      expect(await post(baseUrl, body, key)).toEqual({ ...first, isReplay: true })
      expect((await post(baseUrl, event(), key)).status).toBe(422)
    }
  }

  await check(service.baseUrl)
  await check(second.baseUrl)
  await second.process.kill('SIGKILL')
  await check(service.baseUrl)
  second = await launchSecond()
  await check(second.baseUrl)
})

test('each event has one record after all tests with two gateways', async () => {
  const last = JSON.parse((await post(second.baseUrl, event(), randomUUID())).text) as { invocation_id: string }
  while ((await client.find(last.invocation_id.replace('inv_', 'attr_'))) === undefined) await sleep(20)
  // 200 of the first test, 200 of the second, 40 of the third, and the last.
  let records = await allRecords(client)
  while (records.length < 441) records = await allRecords(client)

  expect(records.length).toBe(441)
  expect(new Set(records.map(({ id }) => id)).size).toBe(441)
})

test('the status of an event admitted at one gateway shows at the other at once', async () => {
  const statuses: number[] = []
  for (let i = 0; i < 20; i++) {
    const taken = JSON.parse((await post(second.baseUrl, event(), randomUUID())).text) as { invocation_id: string }
    const fate = await fetch(`${service.baseUrl}/api/v1/invocations/${taken.invocation_id}`, {
      headers: { 'x-api-key': service.credentials.api_key },
    })
    statuses.push(fate.status)
  }

  expect(new Set(statuses)).toEqual(new Set([200]))
})
