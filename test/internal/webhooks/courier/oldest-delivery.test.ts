import type { ServerResponse } from 'node:http'
import { afterAll, expect, test } from 'vitest'
import { METRICS, readAll } from '../../../../internal/telemetry/metrics.js'
import { launchCourierWorld } from '../../../support/courier.js'
import { acknowledge, launchReceiver } from '../../../support/receiver.js'

const world = await launchCourierWorld()
const receiver = await launchReceiver()
afterAll(async () => {
  await world.close()
  await receiver.close()
})

async function oldestSeconds(): Promise<number | undefined> {
  const failures: unknown[] = []
  await readAll((cause) => failures.push(cause))
  expect(failures).toEqual([])
  return (await METRICS.getSingleMetric('attribution_webhook_oldest_seconds')?.get())?.values[0]?.value
}

test('the oldest delivery is that which a receiver leaves without an answer, and none once it has one', async () => {
  const unanswered: ServerResponse[] = []
  receiver.answer = (response) => void unanswered.push(response)
  await world.endpoint(`https://hooks.example.com:${receiver.port}/`)
  await world.courier({ timeoutMs: 240_000 })
  await world.publishEvents(1)
  await receiver.until(1)

  await expect.poll(oldestSeconds, { timeout: 60_000 }).toBeGreaterThan(0.1)

  receiver.answer = acknowledge
  for (const response of unanswered) response.writeHead(200).end()
  await expect.poll(oldestSeconds, { timeout: 60_000 }).toBe(0)
})
