import { describe, expect, test } from 'vitest'
import type { OpenStage } from '../../../../../internal/attribution/actor/stage.js'
import { Baseline } from '../../../../../internal/attribution/stages/b/baseline.js'
import { Inferences } from '../../../../../internal/attribution/stages/b/inferences.js'
import { stageB } from '../../../../../internal/attribution/stages/b/stage-b.js'
import { ModelCache } from '../../../../../internal/inference/models/artefacts.js'
import type { Fault } from '../../../../../internal/inference/models/degradation.js'
import type { StoredModel } from '../../../../../internal/inference/models/model-version.js'
import type { ShadowOfBatch } from '../../../../../internal/inference/models/shadow.js'
import type { AdmittedInvocation } from '../../../../../internal/invocations/invocation-group.js'
import type { AttributionRow } from '../../../../../internal/store/tables/attributions.js'
import { createLog } from '../../../../../internal/telemetry/log.js'
import { directoryOf } from '../../../../support/directory.js'
import { NOW_MS } from '../../../../support/invocations.js'
import { CARD, priorModel, version } from '../../../../support/models.js'
import { batchOf, event, kindsOf, ROW_DEPS, switchedOffStageB } from '../../../../support/stages.js'

const ONE = version(1)
const TWO = version(2, { card: { ...CARD, classes: CARD.classes.toReversed() } })

/** A service that got another name and owner, which models know as it was before. */
const RENAMED_AT_MS = NOW_MS - 1_000
const directory = directoryOf({
  services: [
    {
      name: 'search',
      owner: 'team-search',
      changes: [{ from: new Date(RENAMED_AT_MS).toISOString(), name: 'find', owner: 'team-find' }],
    },
  ],
  identities: [{ name: 'ada', owner: 'team-ada' }],
})

/** Stage B, with a serving version that the test sets. */
function stage(stated: { readonly serving?: StoredModel; readonly candidate?: StoredModel } = {}) {
  const now = { serving: stated.serving, candidate: stated.candidate }
  const reportedFaults: (readonly [id: string, kind: Fault['kind']])[] = []
  const shadows: ShadowOfBatch[] = []
  const unreadable = new Set<string>()
  const log = createLog('test', 'silent')
  const known = new Map([ONE, TWO].map((one) => [one.id, one]))
  const board = {
    of: () => ({ state: now.serving === undefined ? 'degraded_serving' : 'none', model: now.serving }) as const,
    version: (id: string) => known.get(id),
    candidateOf: () => now.candidate,
    faultOf: () => undefined,
    reportFault: ({ id }: StoredModel, kind: Fault['kind']) => void reportedFaults.push([id, kind]),
    clearFault: () => undefined,
  }
  const inference = new Inferences({
    board,
    models: new ModelCache(async ({ id, card }) =>
      unreadable.has(id) ? { kind: 'fault', fault: 'missing' } : { kind: 'model', model: priorModel(card) },
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
    directory,
    completeAsOf: async () => NOW_MS,
    ticks: () => performance.now(),
    neighbours: async () => [],
    countShadow: async (shadow) => void shadows.push(shadow),
    log,
  })
  return { stageOf, now, reportedFaults, shadows, unreadable }
}

const batch = batchOf('b', [event(1, 0), event(2, 1)])
const versionsIn = async (open: OpenStage, basis?: string) =>
  (await open.handle(batch, basis)).map((disposition) =>
    disposition.kind === 'resolved' ? disposition.row.modelVersion : disposition.kind,
  )

test('stage B hands over all events of a tenant that has switched inference off, without any lookup', async () => {
  const { handle } = await switchedOffStageB().open(2)

  expect(kindsOf(await handle(batchOf('b', [event(1, 0, { attributedIdentity: 'ada' }), event(2, 1)])))).toEqual([
    'hand_on',
    'hand_on',
  ])
})

test('a model names a service as it was called at the time of the call', async () => {
  const open = await stage({ serving: ONE }).stageOf.open(2)
  const calls = [event(1, 0, { eventTimeMs: RENAMED_AT_MS - 1 }), event(2, 1, { eventTimeMs: RENAMED_AT_MS })]

  const named = (await open.handle(batchOf('b', calls))).map(
    (one) => one.kind === 'resolved' && [one.row.service, one.row.owner],
  )

  expect(named).toEqual([
    ['search', 'team-search'],
    ['find', 'team-find'],
  ])
})

describe('a call whose identity has an owner in the directory', () => {
  const stated = { attributedIdentity: 'ada' }
  const rowsOf = async (open: OpenStage, ...events: readonly AdmittedInvocation[]) =>
    (await open.handle(batchOf('b', events))).map((one) => (one.kind === 'resolved' ? one.row : one.kind))
  const byOwner = {
    service: 'unassigned',
    owner: 'team-ada',
    stageOrigin: 'stage_a',
    evidenceBasis: 'owner_resolved',
    outputState: 'deterministically_resolved',
    degradationState: 'none',
  }

  test.each([
    ['without a model', stage().stageOf],
    ['where inference is off', switchedOffStageB(directory)],
  ])('is that owner’s %s, with 0.85 at most', async (_, stageOf) => {
    const events = [event(1, 0, stated), event(2, 1, { ...stated, attributionConfidence: 0.7 })]

    const rows = await rowsOf(await stageOf.open(2), ...events)

    expect(rows).toMatchObject([
      { ...byOwner, confidence: 8_500, exportEligibility: 'eligible' },
      { ...byOwner, confidence: 7_000 },
    ])
  })

  test('has the service of a model that is certain enough for chargeback, and still that owner', async () => {
    const open = await stage({ serving: ONE }).stageOf.open(2)
    const events = [
      event(1, 0, stated),
      event(2, 1, { ...stated, attributionConfidence: 0.79 }),
      event(3, 2, { attributedIdentity: 'stranger' }),
    ]

    const rows = await rowsOf(open, ...events)

    expect(rows).toMatchObject([
      { service: 'find', owner: 'team-ada', evidenceBasis: 'trained_inference' },
      { ...byOwner, confidence: 7_900 },
      { service: 'find', owner: 'team-find', evidenceBasis: 'trained_inference' },
    ])
    expect(JSON.parse((rows[0] as AttributionRow).evidence)).toMatchObject({
      owner_from: 'directory_identity',
      inferred_owner: 'team-find',
    })
  })

  test('says that the calls of its trace belong to several services', async () => {
    const open = await stage().stageOf.open(2)

    const rows = await rowsOf(open, { ...event(1, 0, stated), traceServices: ['chat', 'search'] })

    expect(rows).toMatchObject([{ ...byOwner, contested: 'trace' }])
  })
})

describe('a repeated batch', () => {
  test('a repeated batch uses the version of its plan, also where another version serves', async () => {
    const first = stage({ serving: ONE })
    const open = await first.stageOf.open(2)
    expect(await versionsIn(open)).toEqual([ONE.id, ONE.id])
    const basis = open.basisOf?.(batch) ?? ''

    const other = await stage({ serving: TWO }).stageOf.open(2)

    expect(await versionsIn(other)).toEqual([TWO.id, TWO.id])
    expect(await versionsIn(other, basis)).toEqual([ONE.id, ONE.id])
    expect(await other.handle(batch, basis)).toEqual(await open.handle(batch))
  })

  test('a repeated batch planned with the baseline uses it again, even if a model serves now', async () => {
    const open = await stage().stageOf.open(2)
    expect(await versionsIn(open)).toEqual(['hand_on', 'hand_on'])

    const other = await stage({ serving: ONE }).stageOf.open(2)

    expect(await versionsIn(other, open.basisOf?.(batch))).toEqual(['hand_on', 'hand_on'])
  })
})

test('if a model version cannot be read, the baseline attributes the batch and the fault is reported', async () => {
  const { stageOf, reportedFaults, unreadable } = stage({ serving: ONE })
  unreadable.add(ONE.id)
  const open = await stageOf.open(2)

  expect(await versionsIn(open)).toEqual(['hand_on', 'hand_on'])
  expect(reportedFaults).toEqual([[ONE.id, 'missing']])
  expect(JSON.parse(open.basisOf?.(batch) ?? '')).toEqual({
    tnt_one: { state: 'degraded_serving', asOf: { principalsMs: NOW_MS } },
  })
})

test('an event goes to allocation if its producer’s or the model’s confidence is below 0.50', async () => {
  const open = await stage({ serving: ONE }).stageOf.open(2)
  const doubted = batchOf('b', [
    event(1, 0, { attributionConfidence: 0.49 }),
    event(2, 1, { attributionConfidence: 0.5 }),
  ])

  expect(kindsOf(await open.handle(doubted))).toEqual(['hand_on', 'resolved'])
})

test('a shadow comparison is counted once the batch has taken effect, and not for a repeated batch', async () => {
  const { stageOf, shadows, now } = stage({ serving: ONE, candidate: TWO })
  const open = await stageOf.open(2)

  await open.handle(batch)
  expect(shadows).toEqual([])
  await open.onApplied?.(batch)
  await open.onApplied?.(batch)
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
  await open.onApplied?.(batch)
  now.candidate = undefined
  await open.handle(batch)
  await open.onApplied?.(batch)
  expect(shadows.length).toBe(1)
})
