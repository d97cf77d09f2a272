import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectService, type ServiceClient } from '../../internal/local/replay/client.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { ask } from '../support/ask.js'
import { launchGateway, postTo, wireEvent } from '../support/gateway.js'
import type { Launched } from '../support/processes.js'
import { drawn } from '../support/run/rings.js'
import { launchService, type RunningService } from '../support/service.js'
import { allRecords } from '../support/trace.js'

let service: RunningService
let client: ServiceClient
let second: { process: Launched; baseUrl: string }
let metricsPorts: readonly [number, number]

async function launchSecond(): Promise<typeof second> {
  const port = await freePort()
  const process = await launchGateway(service, port, { ATTRIBUTION_METRICS_PORT: String(metricsPorts[1]) })
  const baseUrl = `http://127.0.0.1:${port}`
  while (!(await fetch(`${baseUrl}/readyz`)).ok) await sleep(20)
  return { process, baseUrl }
}

beforeAll(async () => {
  metricsPorts = [await freePort(), await freePort()]
  service = await launchService({
    roles: [],
    args: ['--rate-read', '100000', '--metrics-port', String(metricsPorts[0])],
  })
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

/** A figure of both gateways. */
const measured = (name: string): Promise<number[]> =>
  Promise.all(
    metricsPorts.map(async (port) => {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
      return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
    }),
  )

/** Both gateways have the keys of all answered requests. */
const untilFollowed = (keys: number): Promise<unknown> =>
  expect.poll(() => measured('attribution_admission_index_keys')).toEqual([keys, keys])

/** All events of one type, by the cursor. */
async function loggedEvents(type: string): Promise<readonly { readonly invocation_id: string }[]> {
  const found: { readonly invocation_id: string }[] = []
  for (let cursor = ''; ; ) {
    const path = `/api/v1/events/log?type=${type}&limit=200${cursor}`
    const { json } = await ask(service.baseUrl, 'GET', path, { 'x-api-key': service.credentials.api_key })
    found.push(...json.data.map(({ data }: { data: { invocation_id: string } }) => data))
    if (!json.page.has_more) return found
    cursor = `&cursor=${json.page.next_cursor}`
  }
}

const PAIRS = drawn(200)
const PAIRS_AT_ONCE = 10
let keys = 0
/** Of events that were accepted. */
const accepted = new Set<string>()
const idOf = ({ text }: { readonly text: string }): string =>
  (JSON.parse(text) as { invocation_id: string }).invocation_id

async function inTurns<T>(send: () => Promise<T>): Promise<T[]> {
  const outcomes: T[] = []
  while (outcomes.length < PAIRS) outcomes.push(...(await Promise.all(Array.from({ length: PAIRS_AT_ONCE }, send))))
  keys += PAIRS
  return outcomes
}

test('of two bodies under one key, sent to both gateways at once, one is refused or both are named', async () => {
  const both = new Set<string>()

  const outcomes = await inTurns(async () => {
    const key = randomUUID()
    const answers = await Promise.all([post(service.baseUrl, event(), key), post(second.baseUrl, event(), key)])
    const ids = answers.filter(({ status }) => status === 202).map(idOf)
    for (const id of ids) accepted.add(id)
    if (ids.length === 2) for (const id of ids) both.add(id)
    return answers.map(({ status }) => status).sort()
  })

  expect(outcomes.filter((statuses) => String(statuses) !== '202,422' && String(statuses) !== '202,202')).toEqual([])
  console.log(`${both.size / 2} of ${PAIRS} keys were taken by both gateways`)
  // An answer does not wait until the other gateway has its key.
  const reported = () => measured('attribution_admission_key_conflicts_total')
  await expect.poll(reported).toEqual([both.size / 2, both.size / 2])
  const named = async () => new Set((await loggedEvents('ingestion.key.conflict')).map((one) => one.invocation_id))
  await expect.poll(named, { timeout: 20_000 }).toEqual(both)
})

test('one request sent to both gateways at once gets the same answer at both', async () => {
  const outcomes = await inTurns(async () => {
    const [key, body] = [randomUUID(), event()]
    const answers = await Promise.all([post(service.baseUrl, body, key), post(second.baseUrl, body, key)])
    for (const answer of answers) accepted.add(idOf(answer))
    return {
      texts: new Set(answers.map(({ status, text }) => `${status} ${text}`)).size,
      replays: answers.filter(({ isReplay }) => isReplay).length,
    }
  })

  expect(outcomes.every(({ texts, replays }) => texts === 1 && replays < 2)).toBe(true)
})

test('a key admitted at one gateway is replayed and protected at the other, also after a kill', async () => {
  const taken = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const [key, body] = [randomUUID(), event()]
      // Of some the answer is that the event is a duplicate.
      if (i % 4 > 1) await post(service.baseUrl, body, randomUUID())
      const first = await post(i % 2 === 0 ? second.baseUrl : service.baseUrl, body, key)
      accepted.add(idOf(first))
      return { key, body, first }
    }),
  )
  keys += 60
  const check = async (baseUrl: string): Promise<void> => {
    for (const { key, body, first } of taken) {
      expect(await post(baseUrl, body, key)).toEqual({ ...first, isReplay: true })
      expect((await post(baseUrl, event(), key)).status).toBe(422)
    }
  }
  await untilFollowed(keys)

  await check(service.baseUrl)
  await check(second.baseUrl)
  await second.process.kill('SIGKILL')
  await check(service.baseUrl)
  second = await launchSecond()
  await check(second.baseUrl)
})

test('each event has one record after all tests with two gateways', async () => {
  accepted.add(idOf(await post(second.baseUrl, event(), randomUUID())))

  let records = await allRecords(client)
  while (records.length < accepted.size) records = await allRecords(client)

  expect(records.length).toBe(accepted.size)
  expect(new Set(records.map(({ invocation_id }) => invocation_id))).toEqual(accepted)
})

test('the status of an event admitted at one gateway shows at the other at once', async () => {
  const statuses: number[] = []
  for (let i = 0; i < 20; i++) {
    const id = idOf(await post(second.baseUrl, event(), randomUUID()))
    const status = await fetch(`${service.baseUrl}/api/v1/invocations/${id}`, {
      headers: { 'x-api-key': service.credentials.api_key },
    })
    statuses.push(status.status)
  }

  expect(new Set(statuses)).toEqual(new Set([200]))
})
