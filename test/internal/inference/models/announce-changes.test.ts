import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Broker } from '../../../../internal/broker/connect.js'
import { createPublisher } from '../../../../internal/broker/publisher.js'
import { eventPublisher } from '../../../../internal/events/publish-event.js'
import { deriveTenantIds } from '../../../../internal/ids/ids.js'
import { type AnnounceDeps, announceChanges } from '../../../../internal/inference/models/announce-changes.js'
import type { StoredDegradation } from '../../../../internal/inference/models/degradation.js'
import type { StoredModel } from '../../../../internal/inference/models/model-version.js'
import { openServingBoard, type ServingBoard } from '../../../../internal/inference/models/serving-board.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { DEGRADATIONS, MODELS } from '../../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../../support/buckets.js'
import { degradationEvents } from '../../../support/degradation-events.js'
import { at, version } from '../../../support/models.js'

let buckets: Buckets
let broker: Broker
beforeAll(async () => {
  buckets = await launchBuckets()
  broker = await buckets.connect()
})
afterAll(() => buckets.close())

const silent = createLog('test', 'silent')

/** The part of an attributor that announces how tenants are served. */
async function attributor(member: string, tenantId: string, stated: Partial<AnnounceDeps> = {}) {
  let isEnabled = true
  const stopping = new AbortController()
  const board: ServingBoard = await openServingBoard({
    models: await broker.bucket(MODELS),
    degradations: await broker.bucket(DEGRADATIONS),
    isEnabled: () => isEnabled,
    member,
    clock: Date.now,
    // The connection closes with the test file.
    onLost: () => undefined,
  })
  const announcing = announceChanges(
    {
      board,
      tenantIds: () => [tenantId],
      owns: () => true,
      publishEvent: eventPublisher(createPublisher(broker.connection).publish, (of) =>
        deriveTenantIds(new Uint8Array(32), of),
      ),
      clock: Date.now,
      log: silent,
      ...stated,
    },
    stopping.signal,
  )
  return {
    board,
    enable(value: boolean) {
      isEnabled = value
      board.settingsChanged(tenantId)
    },
    async stop() {
      stopping.abort()
      await announcing.stopped
    },
  }
}

/** Resolves once the tenant's record satisfies the condition. */
async function until(
  tenantId: string,
  wanted: (degradation: StoredDegradation) => boolean,
): Promise<StoredDegradation> {
  const bucket = await broker.bucket(DEGRADATIONS)
  for await (const entry of await bucket.watch({ key: tenantId })) {
    if (entry.operation === 'PUT' && wanted(entry.json())) return entry.json()
  }
  throw new Error('the watch ended')
}

const announced =
  (changes: number) =>
  (degradation: StoredDegradation): boolean =>
    degradation.changes === changes && degradation.is_announced

const put = async (model: StoredModel): Promise<void> => {
  await (await broker.bucket(MODELS)).put(model.id, JSON.stringify(model))
}

const idOf = (tenantId: string, number: number): string =>
  `mdl_${createHash('sha256').update(`${tenantId} ${number}`).digest('hex').slice(0, 20)}`

test('each change of the serving state is published as one event, in order; the first state is none', async () => {
  const tenant_id = 'tnt_transitions'
  const one = await attributor('one', tenant_id)
  await until(tenant_id, ({ changes }) => changes === 0)
  const first = version(1, { id: idOf(tenant_id, 1), tenant_id })
  const second = version(2, { id: idOf(tenant_id, 2), tenant_id })

  await put({ ...first, promoted_at: at(1) })
  await until(tenant_id, announced(1))
  await put({ ...second, promoted_at: at(2) })
  await put({ ...second, promoted_at: at(2), recalled_at: at(3) })
  await until(tenant_id, announced(2))
  one.enable(false)
  await until(tenant_id, announced(3))
  one.enable(true)
  await until(tenant_id, announced(4))
  one.board.reportFault({ ...first, promoted_at: at(1) }, 'corrupt')
  await until(tenant_id, announced(5))
  one.board.clearFault(first)
  await until(tenant_id, announced(6))
  await put({ ...second, promoted_at: at(4) })
  await until(tenant_id, announced(7))
  one.enable(false)
  await until(tenant_id, announced(8))
  await put({ ...second, promoted_at: at(4), recalled_at: at(5) })
  await put({ ...first, promoted_at: at(1), recalled_at: at(6) })
  one.enable(true)
  await until(tenant_id, announced(9))
  await one.stop()

  expect(await degradationEvents(broker, tenant_id)).toEqual([
    'degraded_serving none',
    'none model_recalled',
    'model_recalled disabled',
    'disabled model_recalled',
    'model_recalled degraded_serving',
    'degraded_serving model_recalled',
    'model_recalled none',
    'none disabled',
    'disabled degraded_serving',
  ])
})

test('a change of the serving state is one event even if its process dies before or after publishing it', async () => {
  const tenant_id = 'tnt_deaths'
  const only = version(1, { id: idOf(tenant_id, 1), tenant_id, promoted_at: at(1) })
  let left = 0
  const dies = (publish: AnnounceDeps['publishEvent'], when: 'before' | 'after'): AnnounceDeps['publishEvent'] => {
    return async (event) => {
      if (when === 'after') await publish(event)
      left++
      // Never settles, like a process that has died.
      await new Promise(() => undefined)
    }
  }
  const publish = eventPublisher(createPublisher(broker.connection).publish, (of) =>
    deriveTenantIds(new Uint8Array(32), of),
  )
  const before = await attributor('before', tenant_id, { publishEvent: dies(publish, 'before') })
  await until(tenant_id, ({ changes }) => changes === 0)
  await put(only)
  await until(tenant_id, ({ changes, is_announced }) => changes === 1 && !is_announced)
  const after = await attributor('after', tenant_id, { publishEvent: dies(publish, 'after') })
  while ((await degradationEvents(broker, tenant_id)).length === 0)
    await new Promise((resolve) => setImmediate(resolve))

  const third = await attributor('third', tenant_id)
  await until(tenant_id, announced(1))
  await third.stop()

  expect(left).toBe(2)
  expect(await degradationEvents(broker, tenant_id)).toEqual(['degraded_serving none'])
  expect([before.board.of(tenant_id).state, after.board.of(tenant_id).state]).toEqual(['none', 'none'])
})

test('a fault that one process reports or clears takes effect in all processes', async () => {
  const tenant_id = 'tnt_faults'
  const only = version(1, { id: idOf(tenant_id, 1), tenant_id, promoted_at: at(1) })
  await put(only)
  const owner = await attributor('owner', tenant_id)
  const other = await attributor('other', tenant_id, { owns: () => false })
  await until(tenant_id, ({ state }) => state === 'none')

  other.board.reportFault(only, 'slow')
  expect(other.board.of(tenant_id).state).toBe('degraded_serving')
  await until(tenant_id, announced(1))
  expect(owner.board.of(tenant_id)).toEqual({ state: 'degraded_serving', model: undefined })
  expect(owner.board.faultOf(tenant_id)).toMatchObject({ model_id: only.id, kind: 'slow', member: 'other' })

  other.board.clearFault(only)
  expect(other.board.of(tenant_id).state).toBe('none')
  await until(tenant_id, announced(2))
  expect(owner.board.of(tenant_id)).toMatchObject({ state: 'none', model: { id: only.id } })
  await Promise.all([owner.stop(), other.stop()])

  expect(await degradationEvents(broker, tenant_id)).toEqual(['none degraded_serving', 'degraded_serving none'])
})

test('models and faults of a tenant do not affect other tenants', async () => {
  const [one, two] = ['tnt_mine', 'tnt_yours']
  const mine = version(1, { id: idOf(one, 1), tenant_id: one, promoted_at: at(1) })
  const yours = version(1, { id: idOf(two, 1), tenant_id: two, promoted_at: at(1) })
  await put(mine)
  await put(yours)
  const process = await attributor('one', one)

  process.board.reportFault(mine, 'missing')

  expect(process.board.of(one)).toEqual({ state: 'degraded_serving', model: undefined })
  expect(process.board.of(two)).toMatchObject({ state: 'none', model: { id: yours.id } })
  await process.stop()
})
