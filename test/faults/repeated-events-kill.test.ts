import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectService, type ServiceClient } from '../../internal/local/replay/client.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { launchGateway, sendTo, wireEvent } from '../support/gateway.js'
import type { Launched } from '../support/processes.js'
import { killRole, launchService, type RunningService } from '../support/service.js'
import { allRecords } from '../support/trace.js'

/** ATTRIBUTION_TEST_KILLS=40 takes three minutes. */
const KILLS = Number(process.env['ATTRIBUTION_TEST_KILLS'] ?? 3)
const EVENTS_PER_SECOND = 200
/** A repeat is of one of the last so many events, of which some are still under way. */
const RECENT = 20
/** After a kill. */
const CALM_MS = 2_000

let service: RunningService
let client: ServiceClient
let second: Launched
let secondPort: number
const agent = new Agent({ connections: 256 })

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-read', '100000', '--partitions', '4'] })
  client = connectService(service.baseUrl, service.credentials.api_key, 16)
  secondPort = await freePort()
  second = await launchGateway(service, secondPort)
})

afterAll(async () => {
  await second.kill('SIGTERM')
  await agent.close()
  await client.close()
  await service.stop()
})

async function killSecond(): Promise<void> {
  await second.kill('SIGKILL')
  second = await launchGateway(service, secondPort)
}

test('gateways and attributors that are killed in turn leave one record of an event that comes again with another trace', async () => {
  const accepted = new Set<string>()
  /** Of each event: when it went where, and what was answered, for a failure. */
  const histories = new Map<string, string[]>()
  const began = performance.now()
  const now = (): number => Math.round(performance.now() - began)

  /** Sends an event with a trace of its own, under a new key, until it is answered with a 202. */
  const deliver = async (eventId: string): Promise<void> => {
    const history = histories.get(eventId) ?? []
    histories.set(eventId, history)
    const key = randomUUID()
    const body = JSON.stringify(wireEvent({ event_id: eventId, trace_id: randomUUID() }))
    for (let turn = key.charCodeAt(0); ; turn++) {
      const port = turn % 2 === 0 ? service.port : secondPort
      const sentAt = now()
      const answer = await sendTo(agent, port, service.credentials.api_key, body, key)
      const isDuplicate = answer?.text.includes('"duplicate":true') ?? false
      history.push(`${sentAt} to ${now()} ms, gateway ${(turn % 2) + 1}: ${answer?.status} ${isDuplicate}`)
      if (answer?.status === 202) {
        accepted.add(`${(JSON.parse(answer.text) as { invocation_id: string }).invocation_id} ${eventId}`)
        return
      }
      await sleep(20)
    }
  }

  let isOver = false
  const sent: Promise<void>[] = []
  const load = (async () => {
    const recent: string[] = []
    while (!isOver) {
      await sleep((sent.length * 1_000) / EVENTS_PER_SECOND - now())
      const again = sent.length % 3 === 2 ? recent[Math.floor(Math.random() * recent.length)] : undefined
      const eventId = again ?? randomUUID()
      if (again === undefined) recent.push(eventId)
      if (recent.length > RECENT) recent.shift()
      sent.push(deliver(eventId))
    }
  })()
  for (let i = 0; i < KILLS; i++) {
    await sleep(CALM_MS + Math.random() * 2_000)
    histories.set(`kill ${i}`, [`${now()} ms`])
    await (
      [() => killRole(service, 'gateway'), killSecond, () => killRole(service, 'attributor')][
        i % 3
      ] as () => Promise<void>
    )()
  }
  await sleep(CALM_MS)
  isOver = true
  await load
  await Promise.all(sent)
  // Each partition is read in order: when these have records, all events before them are decided.
  const before = accepted.size
  await Promise.all(Array.from({ length: 20 }, () => deliver(randomUUID())))
  for (const one of [...accepted].slice(before)) {
    const [id = ''] = one.split(' ')
    await expect.poll(() => client.find(id.replace('inv_', 'attr_'))).toBeDefined()
  }

  const counts = new Map<string, number>()
  for (const { invocation_id: id } of await allRecords(client)) counts.set(id, (counts.get(id) ?? 0) + 1)
  const eventOf = new Map([...accepted].map((one) => one.split(' ') as [string, string]))
  const doubled = [...counts].filter(([, count]) => count > 1).map(([id]) => histories.get(eventOf.get(id) ?? ''))
  const kills = [...histories].flatMap(([name, lines]) => (name.startsWith('kill') ? lines : []))
  console.log(`${eventOf.size} events, ${sent.length} requests, kills at ${kills.join(', ')}`)
  expect(doubled).toEqual([])
  expect(new Set(counts.keys())).toEqual(new Set(eventOf.keys()))
  expect(sent.length).toBeGreaterThan(eventOf.size)
}, 900_000)
