import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Broker } from '../../internal/broker/connect.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributed } from '../support/attributed.js'
import { degradationEvents } from '../support/degradation-events.js'
import { command, connectTo } from '../support/instance.js'
import { plantedCall, sendPlanted } from '../support/planted-calls.js'
import { launchService, type RunningService } from '../support/service.js'

/** A tenant's models, from training to recall, on the running product. */

let service: RunningService
let broker: Broker
let ask: Ask
let tenantId: string
const START_MS = Date.now() - 3 * 60 * 60 * 1000

beforeAll(async () => {
  service = await launchService({ args: ['--rate-control', '1000', '--rate-read', '100000'] })
  broker = await connectTo(service)
  tenantId = service.credentials.tenant_id
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
})
afterAll(async () => {
  await broker.close()
  await service.stop()
})

const cli = (...args: string[]) => command(service, ['model', ...args])
const train = async (...args: string[]) =>
  JSON.parse((await cli('train', '--tenant', tenantId, '--json', ...args)).lines[0] ?? '')

/** The next events that the tenant's degradation is told by, after so many. */
async function untilEvents(count: number): Promise<string[]> {
  for (;;) {
    const events = await degradationEvents(broker, tenantId)
    if (events.length >= count) return events
    await sleep(20)
  }
}

const unstated = (number: number) => plantedCall(number, START_MS, false)

test('without enough records nothing is trained, and the tenant stays with the baseline', async () => {
  expect(await train()).toEqual({ outcome: 'too_few_examples', model_id: null })
  expect((await ask('GET', '/v1/models')).json.data).toEqual([])
}, 60_000)

let first = ''

test('a version that passes serves: what facts leave open is inferred, with the version that has done so', async () => {
  await sendPlanted(ask, 6_000, START_MS)

  const { outcome, model_id } = await train()
  expect(outcome).toBe('promoted')
  first = model_id
  expect(await untilEvents(1)).toEqual(['degraded_serving none'])

  for (const number of [1, 2, 3, 4, 5]) {
    const { service: planted, call } = unstated(number)
    expect(await attributed(ask, call)).toMatchObject({
      service: planted,
      owner: 'unassigned',
      output_state: 'inferred',
      interpretation: {
        stage_origin: 'stage_b',
        evidence_basis: 'trained_inference',
        model_version: first,
        degradation_state: 'none',
        confidence_band: 'chargeback_ready',
        export_eligibility: 'eligible',
      },
      explanation: { evidence: { model: first, passed_validation: true } },
    })
  }
}, 180_000)
