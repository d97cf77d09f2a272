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

test('a used key with a body that would be refused is a conflict; a refused body is refused again', async () => {
  const [key, other, body] = [randomUUID(), randomUUID(), observation()]
  const withoutType = JSON.stringify({ ...JSON.parse(body), type: undefined })
  await gateway.post(body, key, {}, PATH)

  const answers = []
  for (const [sent, under] of [
    [withoutType, key],
    ['{', key],
    [body, key],
    [withoutType, other],
    [withoutType, other],
    ['{', other],
    [body, other],
  ] as const) {
    const { status, isReplay, text } = await gateway.post(sent, under, {}, PATH)
    answers.push([status, status === 202 ? isReplay : (JSON.parse(text) as { error_code: string }).error_code])
  }

  expect(answers).toEqual([
    [422, 'IDEMPOTENCY_CONFLICT'],
    [422, 'IDEMPOTENCY_CONFLICT'],
    [202, true],
    [422, 'VALIDATION_FAILED'],
    [422, 'VALIDATION_FAILED'],
    [400, 'MALFORMED_REQUEST'],
    [202, false],
  ])
  // One look each, the first request's included.
  expect(gateway.lookups()).toBe(8)
})

test('the answer to an observation that looks like a call says where calls belong, also in its replay', async () => {
  const key = randomUUID()
  const body = JSON.stringify({ ...JSON.parse(observation()), data: { model: 'gpt-4o', total_tokens: 12 } })

  const answers = [await gateway.post(body, key, {}, PATH), await gateway.post(body, key, {}, PATH)]
  const other = await gateway.post(observation(), randomUUID(), {}, PATH)

  for (const { status, text } of answers) {
    expect([status, JSON.parse(text)]).toMatchObject([202, { hint: expect.stringContaining('/api/v1/invocations') }])
  }
  expect(JSON.parse(other.text)).not.toHaveProperty('hint')
})
