import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPublisher } from '../../internal/broker/publisher.js'
import { connectService } from '../../internal/local/replay/client.js'
import { INVOCATIONS, invocationsSubject } from '../../streams/invocations.js'
import { freeze, thaw } from '../support/freeze.js'
import { postTo, wireEvent } from '../support/gateway.js'
import { connectTo } from '../support/instance.js'
import { launchService, type RunningService } from '../support/service.js'
import { allRecords } from '../support/trace.js'

const EVENTS = 40

let service: RunningService

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--partitions', '4'] })
})
afterAll(() => service.stop())

test('events of the lane have one record each, also those that come again beside it', async () => {
  const broker = await connectTo(service)
  const { publish } = createPublisher(broker.connection)
  const bodies = Array.from({ length: EVENTS }, () => JSON.stringify(wireEvent({ trace_id: randomUUID() })))
  const send = async (body: string): Promise<void> => {
    const path = `${service.baseUrl}/api/v1/invocations`
    expect((await postTo(path, service.credentials.api_key, body, randomUUID())).status).toBe(202)
  }
  const pid = service.pid('attributor')
  await freeze(pid)
  for (const body of bodies) await send(body)
  const { state } = await broker.manager.streams.info(INVOCATIONS.name)
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const message = await broker.manager.streams.getMessage(INVOCATIONS.name, { seq })
    if (message === null) throw new Error(`message ${seq} is not there`)
    // As a gateway sends it there while its tenant sends more than is worked off.
    await publish(invocationsSubject('l', 0), message.data, randomUUID(), 5_000)
    await broker.manager.streams.deleteMessage(INVOCATIONS.name, seq)
  }
  thaw(pid)
  for (const body of bodies.slice(0, EVENTS / 2)) await send(body)

  const client = connectService(service.baseUrl, service.credentials.api_key, 1)
  const idsOf = async () => (await allRecords(client)).map(({ id }) => id)
  await expect.poll(async () => (await idsOf()).length, { timeout: 60_000 }).toBeGreaterThanOrEqual(EVENTS)
  // The lane and each partition are read in order: these come after all.
  for (let i = 0; i < 20; i++) await send(JSON.stringify(wireEvent()))
  await expect.poll(async () => (await idsOf()).length, { timeout: 60_000 }).toBeGreaterThanOrEqual(EVENTS + 20)
  const ids = await idsOf()
  await client.close()
  await broker.close()

  expect(ids.length).toBe(EVENTS + 20)
  expect(new Set(ids).size).toBe(EVENTS + 20)
})
