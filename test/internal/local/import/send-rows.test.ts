import { afterAll, beforeAll, expect, test } from 'vitest'
import { payloadOfSpendLog } from '../../../../internal/ingest/adapters/litellm-spend-logs.js'
import { sendPayloads } from '../../../../internal/local/import/send-rows.js'
import { connectService, type HttpServiceClient } from '../../../../internal/local/replay/client.js'
import { type IntakeGateway, postIntake, startIntakeGateway } from '../../../support/intake-gateway.js'
import { litellmPayload } from '../../ingest/adapters/litellm-payload.js'

let gateway: IntakeGateway
let service: HttpServiceClient

beforeAll(async () => {
  gateway = await startIntakeGateway()
  service = connectService(gateway.url, gateway.plainKey, 1)
})

afterAll(async () => {
  await service.close()
  await gateway.stop()
})

const rowOf = (id: string) => ({
  request_id: id,
  call_type: 'acompletion',
  model: 'gpt-4o-mini',
  custom_llm_provider: 'openai',
  prompt_tokens: '100',
  completion_tokens: '30',
  startTime: '2026-11-21 09:50:00.25',
  endTime: '2026-11-21 09:50:02.5',
})
async function* payloads(rows: readonly Record<string, unknown>[]): AsyncGenerator<unknown> {
  for (const row of rows) yield payloadOfSpendLog(row)
}

test('rows go in batches; what the callback brought, or an earlier import, is a duplicate', async () => {
  await postIntake(gateway, '/intake/litellm', [litellmPayload({ litellm_call_id: undefined, id: 'call-7' })])
  const rows = Array.from({ length: 700 }, (_, i) => rowOf(`call-${i}`))
  const progress: number[] = []

  const first = await sendPayloads(payloads(rows), '/intake/litellm', service, (count) => progress.push(count))
  const second = await sendPayloads(payloads(rows), '/intake/litellm', service)

  expect(first).toMatchObject({ received: 700, accepted: 699, duplicates: 1, rejected: 0 })
  expect(second).toMatchObject({ received: 700, accepted: 0, duplicates: 700 })
  expect(progress).toEqual([500, 700])
  expect(gateway.events()).toHaveLength(700)
})

test('rows that are rejected are named by their number in the file, and those skipped by reason', async () => {
  const rows = Array.from({ length: 510 }, (_, i) => rowOf(`other-${i}`))
  const odd = [
    { ...rowOf(''), request_id: null },
    { ...rowOf('x'), call_type: 'aget_responses' },
  ]

  const summary = await sendPayloads(payloads([...rows, ...odd]), '/intake/litellm', service)

  expect(summary).toMatchObject({ received: 512, accepted: 510, rejected: 1, skipped: { repeated_call_type: 1 } })
  expect(summary.rejections).toMatchObject([{ row: 511, errors: [{ pointer: '/id' }] }])
})

test('an import with a wrong key ends with the answer of the service', async () => {
  const stranger = connectService(gateway.url, 'ak_live_wrong', 1)

  await expect(sendPayloads(payloads([rowOf('y')]), '/intake/litellm', stranger)).rejects.toThrow(/refused \(401\)/)
  await stranger.close()
})
