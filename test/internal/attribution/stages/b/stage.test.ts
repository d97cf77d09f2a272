import { describe, expect, test } from 'vitest'
import type { OpenStage } from '../../../../../internal/attribution/actor/stage.js'
import { ModelCache } from '../../../../../internal/attribution/inference/models/artefacts.js'
import type { Fault } from '../../../../../internal/attribution/inference/models/degradation.js'
import type { ShadowOfBatch } from '../../../../../internal/attribution/inference/models/shadow-log.js'
import type { StoredModel } from '../../../../../internal/attribution/inference/models/version.js'
import { Baseline } from '../../../../../internal/attribution/stages/b/baseline.js'
import { Inferences } from '../../../../../internal/attribution/stages/b/inferences.js'
import { stageB } from '../../../../../internal/attribution/stages/b/stage.js'
import { createLog } from '../../../../../internal/telemetry/log.js'
import { NOW_MS } from '../../../../support/invocations.js'
import { CARD, priorModel, version } from '../../../../support/models.js'
import { batchOf, event, kindsOf, ROW_DEPS, switchedOffStageB } from '../../../../support/stages.js'

const ONE = version(1)
const TWO = version(2, { card: { ...CARD, classes: CARD.classes.toReversed() } })

/** Stage B of tenants that are served by whichever version is set. */
function stage(stated: { readonly serving?: StoredModel; readonly candidate?: StoredModel } = {}) {
  const now = { serving: stated.serving, candidate: stated.candidate }
  const met: (readonly [id: string, kind: Fault['kind']])[] = []
  const shadows: ShadowOfBatch[] = []
  const unread = new Set<string>()
  const log = createLog('test', 'silent')
  const known = new Map([ONE, TWO].map((one) => [one.id, one]))
  const board = {
    of: () => ({ state: now.serving === undefined ? 'degraded_serving' : 'none', model: now.serving }) as const,
    version: (id: string) => known.get(id),
    candidateOf: () => now.candidate,
    faultOf: () => undefined,
    reportFault: ({ id }: StoredModel, kind: Fault['kind']) => void met.push([id, kind]),
    clearFault: () => undefined,
  }
  const inference = new Inferences({
    board,
    models: new ModelCache(async ({ id, card }) =>
      unread.has(id) ? { kind: 'fault', fault: 'missing' } : { kind: 'model', model: priorModel(card) },
    ),
    isLive: () => true,
    member: 'one',
    clocks: { wall: () => 0, processor: () => 0 },
    log,
  })
  const stageOf = stageB({
    ...ROW_DEPS,
    board,
    inference,
    baseline: new Baseline({ byPrincipal: async () => [], ofTraces: async () => [] }),
    completeAsOf: async () => NOW_MS,
    ticks: () => performance.now(),
    neighbours: async () => [],
    countShadow: async (shadow) => void shadows.push(shadow),
    log,
  })
  return { stageOf, now, met, shadows, unread }
}

const batch = batchOf('b', [event(1, 0), event(2, 1)])
const versionsIn = async (open: OpenStage, basis?: string) =>
  (await open.handle(batch, basis)).map((disposition) =>
    disposition.kind === 'resolved' ? disposition.row.modelVersion : disposition.kind,
  )

test('stage B hands on everything of a tenant that has switched inference off, and asks nothing about it', async () => {
  const { handle } = await switchedOffStageB().open(2)

  expect(kindsOf(await handle(batchOf('b', [event(1, 0, { attributedIdentity: 'ada' }), event(2, 1)])))).toEqual([
    'hand_on',
    'hand_on',
  ])
})

describe('a batch that is formed again', () => {
  test('rests on the version that it was planned with, whichever serves by then, in whichever process', async () => {
    const first = stage({ serving: ONE })
    const open = await first.stageOf.open(2)
    expect(await versionsIn(open)).toEqual([ONE.id, ONE.id])
    const basis = open.basisOf?.(batch) ?? ''

    const other = await stage({ serving: TWO }).stageOf.open(2)

    expect(await versionsIn(other)).toEqual([TWO.id, TWO.id])
    expect(await versionsIn(other, basis)).toEqual([ONE.id, ONE.id])
    expect(await other.handle(batch, basis)).toEqual(await open.handle(batch))
  })

  test('rests on the baseline when it did, though a model serves by then', async () => {
    const open = await stage().stageOf.open(2)
    expect(await versionsIn(open)).toEqual(['hand_on', 'hand_on'])

    const other = await stage({ serving: ONE }).stageOf.open(2)

    expect(await versionsIn(other, open.basisOf?.(batch))).toEqual(['hand_on', 'hand_on'])
  })
})

test('a version that cannot be read leaves the batch to the baseline, and its fault is told', async () => {
  const { stageOf, met, unread } = stage({ serving: ONE })
  unread.add(ONE.id)
  const open = await stageOf.open(2)

  expect(await versionsIn(open)).toEqual(['hand_on', 'hand_on'])
  expect(met).toEqual([[ONE.id, 'missing']])
  expect(JSON.parse(open.basisOf?.(batch) ?? '')).toEqual({
    tnt_one: { state: 'degraded_serving', asOf: { principalsMs: NOW_MS } },
  })
})

test('what the producer doubts below 0.50 is left to allocation, as what the model doubts is', async () => {
  const open = await stage({ serving: ONE }).stageOf.open(2)
  const doubted = batchOf('b', [
    event(1, 0, { attributionConfidence: 0.49 }),
    event(2, 1, { attributionConfidence: 0.5 }),
  ])

  expect(kindsOf(await open.handle(doubted))).toEqual(['hand_on', 'resolved'])
})

test('a candidate is compared in the shadow once the batch has taken effect, and never when it is formed again', async () => {
  const { stageOf, shadows, now } = stage({ serving: ONE, candidate: TWO })
  const open = await stageOf.open(2)

  await open.handle(batch)
  expect(shadows).toEqual([])
  await open.settled?.(batch)
  await open.settled?.(batch)
  expect(shadows).toMatchObject([
    {
      modelId: TWO.id,
      against: ONE.id,
      partition: 2,
      token: 'token',
      counts: {
        events: 2,
        agreed: 0,
        ready_for_another: 2,
        changes: [{ from: { service: 'search' }, to: { service: 'chat' }, events: 2 }],
      },
    },
  ])

  await open.handle(batch, open.basisOf?.(batch))
  await open.settled?.(batch)
  now.candidate = undefined
  await open.handle(batch)
  await open.settled?.(batch)
  expect(shadows.length).toBe(1)
})
