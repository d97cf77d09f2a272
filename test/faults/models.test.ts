import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeModel } from '../../internal/inference/learning/artefact.js'
import { featuresOf } from '../../internal/inference/learning/features.js'
import type { Model, ModelCard } from '../../internal/inference/learning/model.js'
import { digestOf } from '../../internal/inference/models/artefacts.js'
import type { StoredModel } from '../../internal/inference/models/model-version.js'
import type { StoredTraining } from '../../internal/inference/training/training.js'
import { MODEL_ARTEFACTS, MODELS, TRAININGS } from '../../streams/buckets.js'
import { listedAll, type ShownRecord } from '../support/attributed.js'
import { command } from '../support/instance.js'
import { launchModelInstance, type ModelInstance, plant } from '../support/model-instance.js'
import { plantedCall } from '../support/planted-calls.js'
import { killRole } from '../support/service.js'

/** What is wrong with a model degrades its tenant, and nothing else; killed processes harm nothing. */

let instance: ModelInstance
let serving: StoredModel
let second = ''
let told = 0

beforeAll(async () => {
  instance = await launchModelInstance()
  await plant(instance)
  const { model_id } = await instance.train()
  await nextEvent('degraded_serving none')
  serving = await storedModel(model_id ?? '')
})
afterAll(() => instance.close())

/** The tenant's next change event. */
async function nextEvent(wanted: string): Promise<void> {
  told++
  expect((await instance.untilEvents(told)).slice(told - 1)).toEqual([wanted])
}

async function storedModel(id: string): Promise<StoredModel> {
  const entry = await (await instance.broker.bucket(MODELS)).get(id)
  if (entry === null) throw new Error(`there is no ${id}`)
  return entry.json()
}

const artefactOf = async ({ artefact }: StoredModel): Promise<Uint8Array> =>
  (await (await instance.broker.objects(MODEL_ARTEFACTS)).getBlob(artefact?.object ?? '')) ?? new Uint8Array()

const putArtefact = async (object: string, bytes: Uint8Array): Promise<void> =>
  void (await (await instance.broker.objects(MODEL_ARTEFACTS)).putBlob({ name: object }, bytes))

const CALL = plantedCall(1, Date.now() - 60_000, false).call
const shownState = async () => (await listedAll(instance.ask, [CALL]))[0].interpretation

test('a corrupted model artefact does not serve; once restored it serves again without a restart', async () => {
  const object = serving.artefact?.object ?? ''
  const bytes = await artefactOf(serving)
  const damaged = Uint8Array.from(bytes)
  damaged[bytes.length >> 1] = (damaged[bytes.length >> 1] ?? 0) ^ 0xff
  await putArtefact(object, damaged)
  await killRole(instance.service, 'attributor')

  expect(await shownState()).toMatchObject({ degradation_state: 'degraded_serving', export_eligibility: 'advisory' })
  await nextEvent('none degraded_serving')

  await putArtefact(object, bytes)
  await nextEvent('degraded_serving none')
  expect(await shownState()).toMatchObject({ degradation_state: 'none', model_version: serving.id })
})

test('a deleted model artefact does not serve after a restart of the attributor', async () => {
  const object = serving.artefact?.object ?? ''
  const bytes = await artefactOf(serving)
  await (await instance.broker.objects(MODEL_ARTEFACTS)).delete(object)

  // What is in memory is what its trainer wrote, and goes on serving.
  expect(await shownState()).toMatchObject({ degradation_state: 'none', model_version: serving.id })

  await killRole(instance.service, 'attributor')
  expect(await shownState()).toMatchObject({ degradation_state: 'degraded_serving' })
  await nextEvent('none degraded_serving')

  await putArtefact(object, bytes)
  await nextEvent('degraded_serving none')
})

test('a model artefact of random bytes does not serve although its digest matches', async () => {
  const bytes = crypto.getRandomValues(new Uint8Array(50_000))
  const id = await publish('x', bytes, serving.card)
  expect(await shownState()).toMatchObject({ degradation_state: 'degraded_serving' })
  await nextEvent('none degraded_serving')

  await instance.decide(id, 'recall')
  await nextEvent('degraded_serving model_recalled')
  expect(await shownState()).toMatchObject({ degradation_state: 'model_recalled', model_version: serving.id })

  await instance.decide(serving.id, 'promote')
  await nextEvent('model_recalled none')
})

test('a model that exceeds its time per batch is replaced by the baseline and retried later', async () => {
  const calls = Array.from({ length: 400 }, (_, i) => plantedCall(i, Date.now() - 600_000, false).call)
  const model = largeModel(serving.card, 20_000)
  const id = await publish('y', encodeModel(model), serving.card)

  // The attributor hears of the version in a moment.
  const isPutAside = ({ interpretation }: ShownRecord) => interpretation.degradation_state === 'degraded_serving'
  while (!(await listedAll(instance.ask, calls)).some(isPutAside)) await sleep(20)
  await nextEvent('none degraded_serving')

  // A call at a time it is fast enough: after a while it is tried with one, and serves.
  while ((await shownState()).model_version !== id) await sleep(200)
  await nextEvent('degraded_serving none')

  await instance.decide(id, 'recall')
  await nextEvent('none model_recalled')
})

test('after kills of the trainer during a training, another trainer creates the version once', async () => {
  const before = await versions()
  const asked = command(instance.service, ['model', 'train', '--tenant', instance.tenantId, '--seed', '7', '--json'])
  await untilTraining(({ requested }) => requested !== null)
  for (let i = 0; i < 3; i++) {
    await killRole(instance.service, 'trainer')
    // Long enough to begin anew, not to be done.
    await sleep(700)
  }

  const { outcome, model_id } = JSON.parse((await asked).lines[0] ?? '')

  const { reasons } = (await storedModel(model_id)).card.gate
  expect({ outcome, reasons }).toEqual({ outcome: 'promoted', reasons: [] })
  second = model_id
  const after = await versions()
  expect(after.filter((id) => !before.includes(id))).toEqual([model_id])
  await nextEvent('model_recalled none')
  while ((await shownState()).model_version !== model_id) await sleep(100)
  expect(digestOf(await artefactOf(await storedModel(model_id)))).toBe((await storedModel(model_id)).artefact?.sha256)
})

test('kills of the attributor between promotions leave each call with one record of one version', async () => {
  const all = [serving.id, second]
  const calls = Array.from({ length: 1_500 }, (_, i) => plantedCall(i, Date.now() - 3_600_000, false).call)
  const send = async () => {
    const records: ShownRecord[] = []
    for (let from = 0; from < calls.length; from += 100) {
      records.push(...(await listedAll(instance.ask, calls.slice(from, from + 100))))
    }
    return records
  }
  const sending = send()
  for (let i = 0; i < 6; i++) {
    await instance.decide(all[i % all.length] ?? '', 'promote')
    await sleep(250)
    if (i % 2 === 0) await killRole(instance.service, 'attributor')
  }

  const records = await sending

  expect(new Set(records.map(({ id }) => id)).size).toBe(calls.length)
  for (const { interpretation } of records) {
    expect(['none', 'model_recalled', 'degraded_serving']).toContain(interpretation.degradation_state)
    if (interpretation.evidence_basis === 'trained_inference') expect(all).toContain(interpretation.model_version)
  }
})

const versions = async (): Promise<string[]> => {
  const found: string[] = []
  for await (const key of await (await instance.broker.bucket(MODELS)).keys()) found.push(key)
  return found
}

async function untilTraining(isWanted: (training: StoredTraining) => boolean): Promise<void> {
  for await (const entry of await (await instance.broker.bucket(TRAININGS)).watch({ key: instance.tenantId })) {
    if (entry.operation === 'PUT' && isWanted(entry.json())) return
  }
}

/** A version as a trainer publishes one, and as the one that serves. */
async function publish(letter: string, bytes: Uint8Array, card: ModelCard): Promise<string> {
  // An id of the tenant's: of the last version, with other letters at its end.
  const id = `${serving.id.slice(0, -4)}${letter.repeat(3)}0`
  await putArtefact(`${id}.1`, bytes)
  const version: StoredModel = {
    ...serving,
    id,
    created_at: new Date().toISOString(),
    artefact: { object: `${id}.1`, sha256: digestOf(bytes), bytes: bytes.length },
    card,
    promoted_at: new Date(Date.now() + 1_000).toISOString(),
  }
  await (await instance.broker.bucket(MODELS)).create(id, JSON.stringify(version))
  while ((await instance.ask('GET', `/v1/models/${id}`)).json.status !== 'serving') await sleep(20)
  return id
}

/** A model of very many services, of which the first one looks like everything. */
function largeModel(card: ModelCard, classes: number): Model {
  const facts = [1, 2].map((number) => {
    const { call } = plantedCall(number, Date.now(), false)
    return {
      eventTimeMs: Date.now(),
      provider: 'openai',
      model: String(call['requested_model']),
      ingestionLayer: 'gateway',
      principal: 'key',
      inputTokens: Number(call['input_tokens']),
      outputTokens: Number(call['output_tokens']),
    }
  })
  const rows = featuresOf(facts)
  const slots = Uint32Array.from(new Set(rows.columns.subarray(0, rows.starts[rows.count]))).sort()
  const columns = classes + 1
  const intercepts = new Float32Array(columns).fill(-20)
  intercepts[0] = 5
  return {
    card: {
      ...card,
      classes: Array.from({ length: classes }, (_, i) => {
        return { service: `service-${i}`, owner: 'unassigned', examples: 20, servedShare: 1 / classes }
      }),
    },
    parameters: {
      slots,
      weights: new Float32Array(slots.length * columns).fill(0.001),
      intercepts,
      contextOffsets: new Map(),
      temperature: 1,
      openClasses: [],
      contextCounts: new Map(),
    },
  }
}
