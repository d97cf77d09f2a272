import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AdmissionGateway, startAdmissionGateway } from '../../../support/admission-gateway.js'

const PATH = '/api/v1/events'
const observation = (): string =>
  JSON.stringify({
    event_id: randomUUID(),
    type: 'layer.heartbeat',
    occurred_at: '2026-11-21T09:30:00Z',
    source: 'gateway-eu-1',
    data: {},
  })

let gateway: AdmissionGateway
beforeEach(async () => {
  gateway = await startAdmissionGateway()
})
afterEach(() => gateway.stop())

test('one that waits for a peer which then does not admit it is stored itself', async () => {
  const [key, body] = [randomUUID(), observation()]
  const settle = gateway.proceedElsewhere(body, key)

  const waiting = [gateway.post(body, key, {}, PATH), gateway.post(body, key, {}, PATH)]
  await gateway.waiting(2)
  settle(false)
  const answers = await Promise.all(waiting)

  expect(answers.map(({ status }) => status)).toEqual([202, 202])
  expect(answers.filter(({ isReplay }) => isReplay).length).toBe(1)
  expect(gateway.stored.length).toBe(1)
})

test('one that waits for a peer which admits it is a replay by the record that the peer has kept', async () => {
  const [key, body] = [randomUUID(), observation()]
  await gateway.post(body, key, {}, PATH)
  const settle = gateway.proceedElsewhere(body, key)

  const waiting = gateway.post(body, key, {}, PATH)
  await gateway.waiting(1)
  settle(true)

  expect(await waiting).toMatchObject({ status: 202, isReplay: true })
  expect(gateway.stored.length).toBe(1)
})
