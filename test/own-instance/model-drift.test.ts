import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StoredTraining } from '../../internal/inference/training/training.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { TRAININGS } from '../../streams/buckets.js'
import { attributeMany } from '../support/attributed.js'
import { launchModelInstance, type ModelInstance, plant } from '../support/model-instance.js'
import { plantedCall } from '../support/planted-calls.js'

/** A model that serves while the services of its tenant change. */

let instance: ModelInstance
let first = ''
let metricsPort: number

beforeAll(async () => {
  metricsPort = await freePort()
  instance = await launchModelInstance(['--metrics-port', String(metricsPort)])
  await plant(instance)
  first = (await instance.train()).model_id ?? ''
  expect(await instance.untilEvents(1)).toEqual(['degraded_serving none'])
})
afterAll(() => instance.close())

const lastTraining = async (): Promise<StoredTraining['last']> =>
  (await (await instance.broker.bucket(TRAININGS)).get(instance.tenantId))?.json<StoredTraining>().last ?? null

/** The value of a series of the trainer; undefined when it is absent. */
async function measured(series: string): Promise<number | undefined> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(series))
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')))
}
const LOWER = 'attribution_model_live_precision_ratio{of="lower"'

test('while services look as they did, the live precision of the model and its age are shown', async () => {
  const calls = Array.from({ length: 100 }, (_, i) => {
    const { service, call } = plantedCall(i, Date.now() - 30 * 60 * 1000, false)
    return { ...call, attributed_service: service }
  })
  await attributeMany(instance.ask, calls)

  await expect.poll(() => measured(LOWER)).toBeGreaterThan(0.6)
  expect(await measured('attribution_model_live_scored_events')).toBeGreaterThanOrEqual(50)
  expect(await measured('attribution_model_oldest_seconds')).toBeGreaterThan(0)
  expect(await measured('attribution_model_versions{status="serving"')).toBe(1)
  expect(await measured('attribution_model_withdrawn_tenants')).toBe(0)
})

test('after two services swap habits, the model is withdrawn within 500 calls, and another is trained', async () => {
  // Stated, so that stage A resolves them: each service now asks as the other one did.
  const calls = Array.from({ length: 500 }, (_, i) => {
    const { service, call } = plantedCall(i, Date.now() - 20 * 60 * 1000, false)
    return { ...call, attributed_service: service === 'chat' ? 'search' : 'chat' }
  })
  await attributeMany(instance.ask, calls)

  expect((await instance.untilEvents(2))[1]).toBe('none degraded_serving')
  const shown = (await instance.ask('GET', `/v1/models/${first}`)).json
  expect(shown).toMatchObject({ status: 'withdrawn' })
  await expect.poll(() => measured('attribution_model_withdrawn_tenants')).toBe(1)
  expect(await measured(LOWER)).toBeUndefined()
  expect(shown.withdrawn.scored).toBeLessThanOrEqual(500)
  expect(Number(shown.withdrawn.precision)).toBeLessThan(0.8)
  const training = `withdrawn ${first}`
  while ((await lastTraining())?.id !== training) await sleep(50)
})
