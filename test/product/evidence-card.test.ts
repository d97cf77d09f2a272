import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Broker } from '../../internal/broker/connect.js'
import {
  CONFIDENCE_BANDS,
  DEGRADATION_STATES,
  EVIDENCE_BASES,
  OUTPUT_STATES,
  STAGE_ORIGINS,
} from '../../internal/records/interpretation.js'
import { type Ask, askAs } from '../support/ask.js'
import type { ShownRecord } from '../support/attributed.js'
import { type Cards, card, describeAllMet, isOverridden, openCards, SERVED, until } from '../support/evidence-cards.js'
import { addTenant, command, untilKnown } from '../support/instance.js'
import { untilFirstTraining } from '../support/model-instance.js'
import { plantedCall, sendPlanted } from '../support/planted-calls.js'
import type { Instance } from '../support/service.js'

/**
 * The evidence card on the running pipeline: every value of every closed list is brought about by real events, and
 * every number of every record that is met is worked out again from what the record shows. The cards of costs, of
 * footprints and of contested calls are in files of their own.
 */

let service: Instance
let broker: Broker
let ask: Ask
let strict: Ask
let recordOf: Cards['recordOf']
let shownAgain: Cards['shownAgain']
/** A tenant whose calls a model can learn from; its calls are sent and counted while other tests run. */
let learning: Promise<{ readonly learner: Ask; readonly tenantId: string }>
/** Every record that was met. */
const met: ShownRecord[] = []

beforeAll(async () => {
  ;({ service, broker, ask, strict, recordOf, shownAgain } = await openCards(met))
  learning = plantLearner()
  // The test that awaits it reports its failure.
  learning.catch(() => undefined)
})

const HOUR_MS = 60 * 60 * 1000
/** A full hour: the baseline counts the calls before the hour's end. */
const START_MS = Math.floor(Date.now() / HOUR_MS - 3) * HOUR_MS

async function plantLearner() {
  const { id: tenantId, apiKey } = await addTenant(broker, service)
  await untilKnown(service.baseUrl, apiKey)
  const learner = askAs(service.baseUrl, { 'x-api-key': apiKey })
  await untilFirstTraining(broker, tenantId)
  await sendPlanted(learner, 3_000, START_MS)
  return { learner, tenantId }
}

describe('the confidence table', () => {
  test('stated identity and service have confidence 0.95; alias gives the service, directory the owner', async () => {
    expect(await recordOf({ ...SERVED, attributed_identity: 'ada' })).toMatchObject({
      service: 'checkout',
      owner: 'team-shop',
      output_state: 'deterministically_resolved',
      ...card('identity_and_service_resolved', 0.95),
      explanation: { evidence: { service_from: 'directory_alias', owner_from: 'directory_service' } },
    })
  })

  test('a stated service has confidence 0.90', async () => {
    expect(await recordOf(SERVED)).toMatchObject({ service: 'checkout', ...card('service_resolved', 0.9) })
  })

  test('a stated person whose owner the directory knows: the owner, 0.85, and no service', async () => {
    expect(await recordOf({ attributed_identity: 'ada' })).toMatchObject({
      service: 'unassigned',
      owner: 'team-ada',
      interpretation: { evidence_basis: 'owner_resolved', confidence: 0.85 },
    })
  })

  test('an identity that the directory maps has confidence 0.85', async () => {
    expect(await recordOf({ attributed_identity: 'bot-7' })).toMatchObject({
      service: 'crawler',
      owner: 'team-bots',
      ...card('identity_resolved', 0.85),
    })
  })

  test('a service from another event of the trace has confidence 0.82, whichever event comes first', async () => {
    const trace_id = randomUUID()
    const before = await recordOf({ trace_id })
    await recordOf({ ...SERVED, trace_id })

    const after = { service: 'checkout', owner: 'team-shop', ...card('trace_correlated', 0.82) }
    expect(await recordOf({ trace_id })).toMatchObject(after)
    expect(await shownAgain(before.id, ({ service: name }) => name === 'checkout')).toMatchObject(after)
  })

  test('the default service of a credential has confidence 0.80', async () => {
    const made = await ask('POST', '/api/v1/api-keys', { name: 'Jobs', scopes: ['read:attribution'] })
    await ask('POST', '/api/v1/directory/principals', { principal_id: made.json.id, service: 'batch-jobs' })
    const asJobs = askAs(service.baseUrl, { 'x-api-key': made.json.secret })
    await untilKnown(service.baseUrl, made.json.secret)
    await until(asJobs, {}, ({ service: name }) => name === 'batch-jobs')

    expect(await recordOf({}, asJobs)).toMatchObject({ service: 'batch-jobs', ...card('principal_resolved', 0.8) })
  })

  test('a mapping rule has confidence 0.90 where a gateway sent the call', async () => {
    const gateway = { name: 'Gateway', scopes: ['read:attribution'], is_gateway: true }
    const made = await ask('POST', '/api/v1/api-keys', gateway)
    const when = [{ field: 'team', match: 'exact', value: 'mapped' }]
    await ask('POST', '/api/v1/mapping-rules', { name: 'mapped', when, set: { service: 'mapped', owner: 'team-m' } })
    const asGateway = askAs(service.baseUrl, { 'x-api-key': made.json.secret })
    await untilKnown(service.baseUrl, made.json.secret)
    const call = { tags: { team: 'mapped' } }
    await until(asGateway, call, ({ service: name }) => name === 'mapped')

    expect(await recordOf(call, asGateway)).toMatchObject({ owner: 'team-m', ...card('mapping_rule', 0.9) })
  })

  test('a service missing in a required directory has confidence 0.70, no eligibility and no owner', async () => {
    expect(await recordOf({ attributed_service: 'rogue', attributed_identity: 'eve' }, strict)).toMatchObject({
      service: 'rogue',
      owner: 'unassigned',
      ...card('service_declared', 0.7, 'below_floor'),
    })
  })

  test('a credential of one service alone wins over a claim, which the card shows', async () => {
    const made = await ask('POST', '/api/v1/api-keys', { name: 'Bound', scopes: ['read:attribution'] })
    await ask('POST', '/api/v1/directory/principals', {
      principal_id: made.json.id,
      service: 'batch-jobs',
      exclusive: true,
    })
    const asBound = askAs(service.baseUrl, { 'x-api-key': made.json.secret })
    await untilKnown(service.baseUrl, made.json.secret)
    await until(asBound, SERVED, ({ service: name }) => name === 'batch-jobs')

    expect(await recordOf(SERVED, asBound)).toMatchObject({
      service: 'batch-jobs',
      interpretation: {
        evidence_basis: 'exclusive_principal_resolved',
        confidence: 0.8,
        contested: 'exclusive_principal',
      },
      explanation: { evidence: { stated_service: 'checkout-v2', conflict: { service: 'checkout' } } },
    })
  })

  test('an identity that the directory does not know resolves nothing', async () => {
    const { interpretation } = await recordOf({ attributed_identity: 'nobody@example.com' }, strict)
    expect(interpretation.stage_origin).toBe('stage_c')
  })

  test('the owner is the team of the identity, else the identity itself', async () => {
    const unlisted = { attributed_service: 'unlisted' }
    expect(await recordOf({ ...unlisted, attributed_identity: 'ada' })).toMatchObject({ owner: 'team-ada' })
    expect(await recordOf({ ...unlisted, attributed_identity: 'eve' })).toMatchObject({ owner: 'eve' })
    expect(await recordOf(unlisted)).toMatchObject({ owner: 'unassigned' })
  })

  test.concurrent.each([
    [0.95, 0.95, 'chargeback_ready'],
    [0.8, 0.8, 'chargeback_ready'],
    [0.7999, 0.7999, 'provisional'],
    [0.5, 0.5, 'provisional'],
    [0.4999, 0.4999, 'estimated'],
    [0, 0, 'estimated'],
  ])(
    'confidence is capped by the producer’s attribution_confidence %s',
    async (attribution_confidence, confidence, band) => {
      const stated = { ...SERVED, attributed_identity: 'ada', attribution_confidence }
      expect(await recordOf(stated)).toMatchObject({ interpretation: { confidence, confidence_band: band } })
    },
  )
})

describe('allocation of calls without a name', () => {
  test('a call without a name goes to the pool of the matching rule, with confidence 0.30', async () => {
    expect(await recordOf({ ingestion_layer: 'proxy' }, strict)).toMatchObject({
      service: 'shared-proxy',
      owner: 'team-platform',
      output_state: 'allocated',
      ...card('allocation_policy', 0.3, 'below_floor'),
      explanation: { evidence: { rule: { ingestion_layer: 'proxy' } }, allocation: { pool: 'shared-proxy' } },
    })
  })

  test('a call without a name and a matching rule goes to the default pool', async () => {
    expect(await recordOf({ ingestion_layer: 'sdk' }, strict)).toMatchObject({
      service: 'unallocated',
      output_state: 'unresolved',
      ...card('default_pool', 0.1, 'below_floor'),
    })
  })
})

test('a disputed record is not eligible, and an overridden one has the basis manual_override', async () => {
  const record = await recordOf(SERVED)
  await ask('POST', `/v1/attribution/${record.id}/dispute`, { reason: 'This is not our job.' })
  expect(await shownAgain(record.id, ({ output_state }) => output_state === 'disputed')).toMatchObject({
    output_state: 'disputed',
    ...card('service_resolved', 0.9, 'disputed'),
  })

  await ask('DELETE', `/v1/attribution/${record.id}/dispute`)
  await shownAgain(record.id, ({ output_state }) => output_state !== 'disputed')
  await ask('POST', `/v1/attribution/${record.id}/override`, { service: 'a', owner: 'b', reason: 'c' })
  expect(await shownAgain(record.id, isOverridden)).toMatchObject({
    service: 'a',
    owner: 'b',
    output_state: 'overridden',
    ...card('manual_override', 0.95),
  })
})

describe('inference', () => {
  let learner: Ask
  let tenantId = ''
  const model = async (...args: string[]) => {
    const { code, lines } = await command(service, ['model', ...args])
    expect([code, lines]).toEqual([0, lines])
    return lines
  }
  const train = async (seed: string): Promise<void> => {
    expect(JSON.parse((await model('train', '--tenant', tenantId, '--seed', seed, '--json'))[0] ?? '')).toMatchObject({
      outcome: 'promoted',
    })
  }
  const untilState = (state: string) =>
    until(
      learner,
      plantedCall(1, START_MS, false).call,
      ({ interpretation }) => interpretation.degradation_state === state,
    )

  test('inference by the baseline is advisory', async () => {
    ;({ learner, tenantId } = await learning)
    const { call } = plantedCall(1, START_MS, false)
    // What the calls before were counted from is used again for a while.
    await until(learner, call, ({ interpretation }) => interpretation.evidence_basis === 'heuristic_baseline')

    expect(await recordOf(call, learner)).toMatchObject({
      output_state: 'inferred',
      interpretation: {
        stage_origin: 'stage_b',
        evidence_basis: 'heuristic_baseline',
        degradation_state: 'degraded_serving',
        export_eligibility: 'advisory',
      },
    })
  })

  test('inference uses the validated model, the previous one after a recall, and none when disabled', async () => {
    await train('1')
    await untilState('none')
    const inferred = await recordOf(plantedCall(2, START_MS, false).call, learner)
    expect(inferred).toMatchObject({
      output_state: 'inferred',
      interpretation: { evidence_basis: 'trained_inference', degradation_state: 'none' },
      explanation: { inference: { compared_with: { classes: expect.any(Number) } } },
    })
    const [reason] = inferred.explanation.inference.reasons
    expect(reason.text).toMatch(/ times likelier in calls of this service than in others$/)
    expect(inferred.explanation.summary).toContain(`; the strongest sign is that ${reason.text}.`)
    const unsure = { ...plantedCall(2, START_MS, false).call, attribution_confidence: 0.4 }
    const pooled = await recordOf(unsure, learner)
    expect(pooled.interpretation.stage_origin).toBe('stage_c')
    expect(pooled.explanation.best_guess).toMatchObject({ model: inferred.interpretation.model_version })
    expect(pooled.explanation.summary).toMatch(/the model's best guess was|none of the services it knows/)

    await train('2')
    const { data } = (await learner('GET', '/v1/models')).json
    await model('recall', data[0].id)
    await untilState('model_recalled')
    expect(await recordOf(plantedCall(2, START_MS, false).call, learner)).toMatchObject({
      interpretation: { evidence_basis: 'trained_inference', model_version: data[1].id },
    })

    await learner('PATCH', '/api/v1/settings', { stage_b_enabled: false })
    await untilState('disabled')
    await recordOf(plantedCall(2, START_MS, false).call, learner)
  })
})

describeAllMet(met, [
  ['evidence basis', EVIDENCE_BASES, ({ interpretation }) => interpretation.evidence_basis],
  ['stage', STAGE_ORIGINS, ({ interpretation }) => interpretation.stage_origin],
  ['band', CONFIDENCE_BANDS, ({ interpretation }) => interpretation.confidence_band],
  ['degradation state', DEGRADATION_STATES, ({ interpretation }) => interpretation.degradation_state],
  ['output state', OUTPUT_STATES, ({ output_state }) => output_state],
])
