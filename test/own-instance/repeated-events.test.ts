import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectService, type ServiceClient } from '../../internal/local/replay/client.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { launchGateway, postTo, wireEvent } from '../support/gateway.js'
import type { Launched } from '../support/processes.js'
import { killRole, launchService, type RunningService } from '../support/service.js'
import { allRecords } from '../support/trace.js'

/** One event_id, sent to two gateways under two keys. */
const EVENTS = 80
const AT_ONCE = 10

let service: RunningService
let client: ServiceClient
let second: Launched
let addresses: readonly [string, string]

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-read', '100000', '--partitions', '4'] })
  client = connectService(service.baseUrl, service.credentials.api_key, 16)
  const port = await freePort()
  second = await launchGateway(service, port)
  addresses = [service.baseUrl, `http://127.0.0.1:${port}`]
  while (!(await fetch(`${addresses[1]}/readyz`)).ok) await sleep(20)
})

afterAll(async () => {
  await second.kill('SIGTERM')
  await client.close()
  await service.stop()
})

type Fields = Record<string, unknown>

interface Result {
  readonly invocation_id: string
}

async function post(address: string, body: Fields | readonly Fields[]): Promise<Result & { results: Result[] }> {
  const path = `${address}/api/v1/invocations`
  const { status, text } = await postTo(path, service.credentials.api_key, JSON.stringify(body), randomUUID())
  if (status !== 202) throw new Error(`${status} ${text}`)
  return JSON.parse(text) as Result & { results: Result[] }
}

const traced = (): Fields => wireEvent({ trace_id: randomUUID() })
const withOtherTrace = (event: Fields): Fields => ({ ...event, trace_id: randomUUID() })
const same = (event: Fields): Fields => event

async function inTurns<T>(count: number, send: (i: number) => Promise<T>): Promise<T[]> {
  const outcomes: T[] = []
  for (let at = 0; at < count; at += AT_ONCE) {
    outcomes.push(...(await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => send(at + i)))))
  }
  return outcomes
}

/** Every second event comes to the other gateway first. */
const firstOf = (i: number): string => addresses[i % 2] as string
const otherOf = (i: number): string => addresses[(i + 1) % 2] as string

/** Records of these events, and those beyond one per event. */
async function recordsOf(ids: ReadonlySet<string>): Promise<{ records: number; doubled: number }> {
  // Each partition is read in order: when these have records, all events before them are decided.
  for (const { invocation_id } of await inTurns(20, (i) => post(firstOf(i), traced()))) {
    await expect.poll(() => client.find(invocation_id.replace('inv_', 'attr_')), { timeout: 60_000 }).toBeDefined()
  }
  const found = (await allRecords(client)).filter(({ invocation_id }) => ids.has(invocation_id))
  return { records: found.length, doubled: found.length - new Set(found.map(({ id }) => id)).size }
}

const idsOf = (answers: readonly Result[]): ReadonlySet<string> =>
  new Set(answers.map(({ invocation_id }) => invocation_id))

test.each([
  { name: 'the same body', again: same },
  { name: 'two traces', again: withOtherTrace },
])('an event that two gateways get at once has one record: $name', async ({ again }) => {
  const answers = await inTurns(EVENTS, (i) => {
    const event = traced()
    return Promise.all([post(firstOf(i), event), post(otherOf(i), again(event))])
  })

  expect(await recordsOf(idsOf(answers.flat()))).toEqual({ records: EVENTS, doubled: 0 })
})

test.each([
  { name: 'two traces 5 s apart', again: withOtherTrace, meanwhile: () => sleep(5_000) },
  { name: 'the same body 3 s apart', again: same, meanwhile: () => sleep(3_000) },
  {
    name: 'two traces, and a kill of the attributor between',
    again: withOtherTrace,
    meanwhile: () => killRole(service, 'attributor'),
  },
])('an event that another gateway gets again later has one record: $name', async ({ again, meanwhile }) => {
  const events = Array.from({ length: EVENTS }, traced)
  const answers = await inTurns(EVENTS, (i) => post(firstOf(i), events[i] as Fields))
  await meanwhile()
  answers.push(...(await inTurns(EVENTS, (i) => post(otherOf(i), again(events[i] as Fields)))))

  expect(await recordsOf(idsOf(answers))).toEqual({ records: EVENTS, doubled: 0 })
})

test.each([
  { name: 'at once', isAtOnce: true },
  { name: 'after the answer', isAtOnce: false },
])('events that come again in bulk, with other traces, have one record each: $name', async ({ isAtOnce }) => {
  const events = Array.from({ length: EVENTS }, traced)
  const repeats = events.map(withOtherTrace).reverse()

  const sent = post(addresses[0], events)
  if (!isAtOnce) await sent
  const [answer, repeated] = await Promise.all([sent, post(addresses[1], repeats)])

  expect(idsOf(repeated.results)).toEqual(idsOf(answer.results))
  expect(await recordsOf(idsOf(answer.results))).toEqual({ records: EVENTS, doubled: 0 })
})
