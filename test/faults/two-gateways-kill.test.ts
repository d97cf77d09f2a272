import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectService, type ServiceClient } from '../../internal/local/replay/client.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { launchGateway, sendTo, wireEvent } from '../support/gateway.js'
import type { Launched } from '../support/processes.js'
import { RUNS_BOTH_RINGS } from '../support/run/rings.js'
import { killRole, launchService, type RunningService } from '../support/service.js'
import { allRecords } from '../support/trace.js'

/** Each kills both gateways and the broker. ATTRIBUTION_TEST_ROUNDS=10 takes two minutes. */
const ROUNDS = Number(process.env['ATTRIBUTION_TEST_ROUNDS'] ?? (RUNS_BOTH_RINGS ? 2 : 1))
const CALLERS = 12
/** What a caller may be told beside 202: come again, in one way or another. */
const CLEAR = new Set([429, 503])

let service: RunningService
let client: ServiceClient
let second: Launched
let secondPort: number
const agent = new Agent({ connections: CALLERS })

async function launchSecond(): Promise<void> {
  second = await launchGateway(service, secondPort)
}

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-read', '100000'] })
  client = connectService(service.baseUrl, service.credentials.api_key, 16)
  secondPort = await freePort()
  await launchSecond()
})

afterAll(async () => {
  await second.kill('SIGTERM')
  await agent.close()
  await client.close()
  await service.stop()
})

interface Sent {
  readonly body: string
  readonly key: string
  readonly eventId: string
}

const fresh = (): Sent => {
  const eventId = randomUUID()
  return { body: JSON.stringify(wireEvent({ event_id: eventId })), key: randomUUID(), eventId }
}

test('both gateways and the broker killed in turn under load: each 202 is one record, answers are final', async () => {
  const answered = new Map<string, string>()
  const unclear: string[] = []
  let slowestMs = 0
  let isOver = false

  /** Sends until it is answered with a 202; a cut connection is an unknown outcome, and is repeated as it was. */
  const deliver = async ({ body, key, eventId }: Sent): Promise<void> => {
    for (let i = 0; ; i++) {
      const port = (i + key.charCodeAt(0)) % 2 === 0 ? service.port : secondPort
      const startedAt = performance.now()
      const answer = await sendTo(agent, port, service.credentials.api_key, body, key)
      slowestMs = Math.max(slowestMs, performance.now() - startedAt)
      if (answer?.status === 202) {
        answered.set(eventId, (JSON.parse(answer.text) as { invocation_id: string }).invocation_id)
        return
      }
      if (answer !== undefined && (!CLEAR.has(answer.status) || answer.headers['retry-after'] === undefined)) {
        unclear.push(`${answer.status} ${answer.text}`)
        return
      }
      await sleep(20)
    }
  }
  const caller = async (): Promise<void> => {
    const sent: Sent[] = []
    for (let i = 0; !isOver; i++) {
      // One in ten comes again: under its own key, or under another.
      const before = i % 10 === 9 ? sent[Math.floor(Math.random() * sent.length)] : undefined
      const next = before === undefined ? fresh() : i % 20 === 9 ? before : { ...before, key: randomUUID() }
      await deliver(next)
      if (before === undefined) sent.push(next)
    }
  }
  const load = Promise.all(Array.from({ length: CALLERS }, caller))

  const moreAnswers = async (count: number): Promise<void> => {
    const until = answered.size + count
    while (answered.size < until) await sleep(20)
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const kill of [
      () => killRole(service, 'gateway'),
      async () => {
        await second.kill('SIGKILL')
        await launchSecond()
      },
      () => killRole(service, 'nats'),
    ]) {
      await moreAnswers(500)
      await kill()
    }
    await moreAnswers(500)
  }
  isOver = true
  await load

  let records = await allRecords(client)
  while (records.length < answered.size) records = await allRecords(client)
  console.log(`${answered.size} events, slowest request ${Math.round(slowestMs)} ms`)

  expect(unclear).toEqual([])
  expect(new Set(records.map(({ invocation_id }) => invocation_id))).toEqual(new Set(answered.values()))
  expect(records.length).toBe(answered.size)
}, 400_000)
