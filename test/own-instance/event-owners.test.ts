import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectService, type ServiceClient } from '../../internal/local/replay/client.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { freeze } from '../support/freeze.js'
import { launchGateway, postTo, wireEvent } from '../support/gateway.js'
import type { Launched } from '../support/processes.js'
import { RUNS_BOTH_RINGS } from '../support/run/rings.js'
import { launchService, type RunningService } from '../support/service.js'
import { allRecords } from '../support/trace.js'

/** One event_id, sent to two gateways under two keys. */
const EVENTS = 40
/** Of all at once, some would wait for the owner of their event for longer than a gateway does. */
const AT_ONCE = 10

/** A sender repeats the request unchanged. */
const STATUSES_TO_REPEAT = new Set([429, 503])

let service: RunningService
let client: ServiceClient
let second: Launched
let addresses: readonly [string, string]
let metricsPorts: readonly [number, number]

beforeAll(async () => {
  const ports = [await freePort(), await freePort(), await freePort()] as const
  metricsPorts = [ports[0], ports[1]]
  service = await launchService({ roles: [], args: ['--rate-read', '100000', '--metrics-port', String(ports[0])] })
  client = connectService(service.baseUrl, service.credentials.api_key, 16)
  second = await launchGateway(service, ports[2], { ATTRIBUTION_METRICS_PORT: String(ports[1]) })
  addresses = [service.baseUrl, `http://127.0.0.1:${ports[2]}`]
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
  readonly duplicate: boolean
}

async function post(address: string, body: Fields | readonly Fields[]): Promise<Result & { results: Result[] }> {
  const key = randomUUID()
  for (;;) {
    const path = `${address}/api/v1/invocations`
    const { status, text } = await postTo(path, service.credentials.api_key, JSON.stringify(body), key)
    if (status === 202) return JSON.parse(text) as Result & { results: Result[] }
    // Of a key in flight at a stopped gateway.
    if (!STATUSES_TO_REPEAT.has(status)) throw new Error(`${status} ${text}`)
    await sleep(100)
  }
}

const traced = (fields: Fields = {}): Fields => wireEvent({ trace_id: randomUUID(), ...fields })
const again = (event: Fields, hasOwnTrace: boolean): Fields =>
  hasOwnTrace ? { ...event, trace_id: randomUUID() } : event

/** Events that went to the log without their owner's answer: only their repeats may not be reported as such. */
async function unconfirmed(): Promise<number> {
  const texts = await Promise.all(
    metricsPorts.map(async (port) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
  )
  const samples = texts.flatMap((text) => [
    ...text.matchAll(/^attribution_events_unconfirmed_total(?:\{.*\})? (\d+)$/gm),
  ])
  return samples.reduce((sum, [, value]) => sum + Number(value), 0)
}

async function inTurns<T>(count: number, send: (i: number) => Promise<T>): Promise<T[]> {
  const outcomes: T[] = []
  for (let at = 0; at < count; at += AT_ONCE) {
    outcomes.push(...(await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => send(at + i)))))
  }
  return outcomes
}

/** Sends events in pairs. @returns the answers of each pair, the first request's first */
async function inPairs(from: 0 | 1, hasOwnTrace: boolean, apartMs: number): Promise<(readonly [Result, Result])[]> {
  const [first, other] = from === 0 ? addresses : [addresses[1], addresses[0]]
  if (apartMs === 0) {
    return inTurns(EVENTS, () => {
      const event = traced()
      return Promise.all([post(first, event), post(other, again(event, hasOwnTrace))])
    })
  }
  const events = Array.from({ length: EVENTS }, () => traced())
  const firsts = await inTurns(EVENTS, (i) => post(first, events[i] as Fields))
  await sleep(apartMs)
  return inTurns(EVENTS, async (i) => {
    return [firsts[i] as Result, await post(other, again(events[i] as Fields, hasOwnTrace))] as const
  })
}

/** Each partition is read in order: when these have records, all events before them are decided. */
async function untilAllAreDecided(): Promise<number> {
  const markers = await inTurns(20, (i) => post(addresses[i % 2] as string, traced()))
  for (const { invocation_id } of markers) {
    const find = () => client.find(invocation_id.replace('inv_', 'attr_'))
    await expect.poll(find, { timeout: 60_000 }).toBeDefined()
  }
  return markers.length
}

/** Records of these events, and events with more than one record. */
async function recordsOf(ids: ReadonlySet<string>): Promise<{ records: number; doubled: number }> {
  await untilAllAreDecided()
  const found = (await allRecords(client)).filter(({ id }) => ids.has(id.replace('attr_', 'inv_')))
  return { records: found.length, doubled: found.length - new Set(found.map(({ id }) => id)).size }
}

const CASES = [
  { name: 'the same body at once', hasOwnTrace: false, apartMs: 0 },
  { name: 'two traces at once', hasOwnTrace: true, apartMs: 0 },
  { name: 'two traces 5 s apart', hasOwnTrace: true, apartMs: 5_000 },
  { name: 'the same body 3 s apart', hasOwnTrace: false, apartMs: 3_000 },
]

describe.each(RUNS_BOTH_RINGS ? ([0, 1] as const) : ([0] as const))(
  'an event that gateway %i gets first and the other one again',
  (from) => {
    test.each(CASES)('has one record, and its repeat is a duplicate: $name', async ({ hasOwnTrace, apartMs }) => {
      const before = await unconfirmed()
      const pairs = await inPairs(from, hasOwnTrace, apartMs)
      const unknown = (await unconfirmed()) - before

      const reported = pairs.filter(([one, other]) =>
        apartMs === 0 ? one.duplicate !== other.duplicate : other.duplicate,
      )
      const ids = new Set(pairs.flatMap((pair) => pair.map(({ invocation_id }) => invocation_id)))
      expect({ ...(await recordsOf(ids)), unreported: EVENTS - reported.length - unknown }).toEqual({
        records: EVENTS,
        doubled: 0,
        unreported: expect.toSatisfy((count: number) => count <= 0),
      })
    })

    test.each([
      { name: 'at once', apartMs: 0 },
      { name: 'after the answer', apartMs: 1 },
    ])('has one record when it comes in bulk, with another trace: $name', async ({ apartMs }) => {
      const [first, other] = from === 0 ? addresses : [addresses[1], addresses[0]]
      const events = Array.from({ length: EVENTS }, () => traced())
      const repeats = events.map((event) => again(event, true)).reverse()

      const before = await unconfirmed()
      const sent = post(first, events)
      if (apartMs > 0) await sent
      const [answer, repeated] = await Promise.all([sent, post(other, repeats)])
      const unknown = (await unconfirmed()) - before

      const duplicates = [...answer.results, ...repeated.results].filter(({ duplicate }) => duplicate)
      const ids = new Set(answer.results.map(({ invocation_id }) => invocation_id))
      expect({ ...(await recordsOf(ids)), unreported: EVENTS - duplicates.length - unknown }).toEqual({
        records: EVENTS,
        doubled: 0,
        unreported: expect.toSatisfy((count: number) => count <= 0),
      })
    })
  },
)

test('events whose owner is stopped have one record each, although nobody could say that they are new', async () => {
  const third = await launchGateway(service, await freePort(), { ATTRIBUTION_METRICS_PORT: '0' })
  const before = await unconfirmed()
  const events = Array.from({ length: 3 * EVENTS }, () => traced())
  // Once it owns events, claims for them are answered: two in three of the others' claims go to another gateway.
  await inTurns(EVENTS, (i) => post(addresses[i % 2] as string, traced()))
  await freeze(third.pid)

  const answers = await inTurns(events.length, (i) => {
    const event = events[i] as Fields
    return Promise.all([post(addresses[0], event), post(addresses[1], again(event, true))])
  })

  expect((await unconfirmed()) - before).toBeGreaterThan(0)
  const ids = new Set(answers.map(([{ invocation_id }]) => invocation_id))
  expect(await recordsOf(ids)).toEqual({ records: events.length, doubled: 0 })
  await third.kill('SIGKILL')
})
