/** What gateways load of keys and event ids when one of them starts, stalls or leaves: by the lines of their logs. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OWNER_SLOTS } from '../../internal/ids/owner-slots.js'
import { connectService, type ServiceClient } from '../../internal/local/replay/client.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { freeze, thaw } from '../support/freeze.js'
import { launchGateway, postTo, wireEvent } from '../support/gateway.js'
import type { Launched } from '../support/processes.js'
import { launchService, type RunningService } from '../support/service.js'
import { allRecords } from '../support/trace.js'

const EVENTS = 400
const AT_ONCE = 20

/** A line of the log about a load that has ended. */
interface Loaded {
  /** Entries held afterwards. */
  readonly keys: number
  readonly events: number
  /** Of these slots, everything was loaded. */
  readonly key_slots: number
  readonly event_slots: number
}

interface Gateway {
  readonly process: Launched
  readonly baseUrl: string
  readonly metricsPort: number
}

let service: RunningService
let client: ServiceClient
const gateways: Gateway[] = []

async function start(): Promise<Gateway> {
  const [port, metricsPort] = [await freePort(), await freePort()]
  const process = await launchGateway(service, port, { ATTRIBUTION_METRICS_PORT: String(metricsPort) })
  const gateway = { process, baseUrl: `http://127.0.0.1:${port}`, metricsPort }
  gateways.push(gateway)
  return gateway
}

const loadsOf = ({ process }: Gateway): Loaded[] =>
  process.lines.filter((line) => line.includes('"admission index loaded"')).map((line) => JSON.parse(line) as Loaded)

/** The load with slots that a gateway has ended after so many loads. */
async function nextLoad(gateway: Gateway, after: number, hasSlots = true): Promise<Loaded> {
  for (;;) {
    const load = loadsOf(gateway)
      .slice(after)
      .find(({ key_slots: slots }) => slots > 0 === hasSlots)
    if (load !== undefined) return load
    await sleep(20)
  }
}

/** Live gateways, as this one sees them. */
async function membersSeenBy({ metricsPort }: Gateway): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  return Number(/^attribution_members(?:\{.*\})? (\d+)$/m.exec(text)?.[1])
}

interface Sent {
  readonly key: string
  readonly body: string
}

const send = (baseUrl: string, { key, body }: Sent) =>
  postTo(`${baseUrl}/api/v1/invocations`, service.credentials.api_key, body, key)

async function sendAll(baseUrl: string, all: readonly Sent[]) {
  const answers: Awaited<ReturnType<typeof send>>[] = []
  for (let from = 0; from < all.length; from += AT_ONCE) {
    answers.push(...(await Promise.all(all.slice(from, from + AT_ONCE).map((one) => send(baseUrl, one)))))
  }
  return answers
}

const sent: Sent[] = Array.from({ length: EVENTS }, () => ({ key: randomUUID(), body: JSON.stringify(wireEvent()) }))

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-read', '100000'] })
  client = connectService(service.baseUrl, service.credentials.api_key, 16)
  const answers = await sendAll(service.baseUrl, sent)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
  while ((await allRecords(client)).length < EVENTS) await sleep(50)
})

afterAll(async () => {
  await Promise.all(gateways.map(({ process }) => process.kill('SIGKILL')))
  await client.close()
  await service.stop()
})

/** Six standard deviations of a share, in slots or entries of which there are so many. */
const near = (share: number, total: number): [number, number] => {
  const deviation = Math.sqrt(total * share * (1 - share)) + (total * 26) / OWNER_SLOTS
  return [total * share - 6 * deviation, total * share + 6 * deviation]
}
const expectShare = (value: number, share: number, total: number): void => {
  const [least, most] = near(share, total)
  expect(value).toBeGreaterThan(least)
  expect(value).toBeLessThan(most)
}

test('a gateway loads its share at the start, more after a departure, and no slot after a stall', async () => {
  const second = await start()
  const ofSecond = await nextLoad(second, 0)
  for (const slots of [ofSecond.key_slots, ofSecond.event_slots]) expectShare(slots, 1 / 2, OWNER_SLOTS)
  for (const held of [ofSecond.keys, ofSecond.events]) expectShare(held, 1 / 2, EVENTS)

  const third = await start()
  const ofThird = await nextLoad(third, 0)
  for (const slots of [ofThird.key_slots, ofThird.event_slots]) expectShare(slots, 1 / 3, OWNER_SLOTS)
  for (const held of [ofThird.keys, ofThird.events]) expectShare(held, 1 / 3, EVENTS)
  // One that joins takes slots over, and nobody else has to load anything.
  expect(loadsOf(second)).toHaveLength(1)

  await freeze(third.process.pid)
  // Nobody hears of it for three seconds: half of what it had falls to each of the others.
  expectShare((await nextLoad(second, 1)).key_slots, 1 / 6, OWNER_SLOTS)
  thaw(third.process.pid)
  // It reads what the others admitted meanwhile.
  expect((await nextLoad(third, 1, false)).event_slots).toBe(0)
  while ((await membersSeenBy(second)) !== 3) await sleep(50)

  const loads = loadsOf(second).length
  await third.process.kill('SIGKILL')
  expectShare((await nextLoad(second, loads)).key_slots, 1 / 6, OWNER_SLOTS)

  // Each key is known to its owner, also if another gateway had it before.
  const answers = await sendAll(second.baseUrl, sent)
  expect(answers.filter(({ status, isReplay }) => status !== 202 || !isReplay)).toEqual([])
  expect(await allRecords(client)).toHaveLength(EVENTS)
})
