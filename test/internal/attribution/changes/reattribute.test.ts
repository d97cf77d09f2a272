import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Stage } from '../../../../internal/attribution/actor/stage.js'
import type { LearnedFact } from '../../../../internal/attribution/actor/trace-facts.js'
import { ofMapping, reattribute, tagsFrom } from '../../../../internal/attribution/changes/reattribute.js'
import { keptConsumption, recall } from '../../../../internal/attribution/changes/recall.js'
import type { RowDeps } from '../../../../internal/attribution/records/row.js'
import { stageA } from '../../../../internal/attribution/stages/a/stage-a.js'
import { stageC } from '../../../../internal/attribution/stages/c/stage-c.js'
import { stageT } from '../../../../internal/attribution/stages/t/stage-t.js'
import { DEFAULT_SETTINGS } from '../../../../internal/auth/tenant.js'
import type { WatchedDirectory } from '../../../../internal/directory/directory.js'
import { type MappingPolicy, mappingPolicy, NO_RULES } from '../../../../internal/directory/mapping/mapping-policy.js'
import { type RuleFields, storedRule } from '../../../../internal/directory/mapping/mapping-rule.js'
import { identityHash } from '../../../../internal/ids/identity-hash.js'
import type { Invocation } from '../../../../internal/invocations/invocation.js'
import type { AdmittedInvocation } from '../../../../internal/invocations/invocation-group.js'
import { pairOf } from '../../../../internal/records/dimensions.js'
import type { AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { parseQuantity } from '../../../../internal/units/quantity.js'
import { directoryKey, directoryOf } from '../../../support/directory.js'
import { admitted, idOf, NOW_MS } from '../../../support/invocations.js'
import { finishedRow } from '../../../support/rows.js'
import { batchOf, noTraces, ROW_DEPS, STAGE_C_DEPS } from '../../../support/stages.js'

const factsBy = (directory: WatchedDirectory, rowDeps: RowDeps, mapping: MappingPolicy) => ({
  ...rowDeps,
  identityNameOf: (tenantId: string, stated: string) => directory.identity(tenantId, stated)?.name ?? stated,
  directory,
  settingsOf: () => DEFAULT_SETTINGS,
  policyOf: STAGE_C_DEPS.policyOf,
  mappingOf: () => mapping,
})

/** Stages A, T and C with a directory, for new events and for re-attributed records. */
const stagesBy = (
  directory: WatchedDirectory,
  rowDeps: RowDeps,
  mapping: MappingPolicy = NO_RULES,
): readonly Stage[] => [
  stageA({
    ...factsBy(directory, rowDeps, mapping),
    partitions: 1,
    loadSeen: async () => ({ duplicatesIn: async (events) => events.map(() => false) }),
  }),
  stageT({ ...factsBy(directory, rowDeps, mapping), loadTraces: async () => noTraces(directory) }),
  stageC({ ...STAGE_C_DEPS, ...rowDeps }),
]

const PRICED: RowDeps = {
  ...ROW_DEPS,
  consumptionOf: () => ({
    costUsd: parseQuantity<'USD'>('1.25') ?? fail(),
    costBasis: 'tenant_price',
    costDetails: '{"of":"then"}',
    isCostImplausible: false,
    costBound: '',
    isUnchargedBound: false,
    isUsageAmbiguous: false,
    energyWh: parseQuantity<'Wh'>('3') ?? fail(),
    energyBasis: 'modelled',
    carbonGco2e: parseQuantity<'gCO2e'>('4') ?? fail(),
    carbonBasis: 'modelled',
    footprintDetails: '{}',
  }),
}
const fail = (): never => {
  throw new Error('not a quantity')
}

/** The records that the stages create for new events. */
async function recorded(
  events: readonly Partial<Invocation>[],
  directory: WatchedDirectory,
  mapping?: MappingPolicy,
): Promise<AttributionRow[]> {
  const rows: AttributionRow[] = []
  let left: readonly AdmittedInvocation[] = events.map((invocation, i) =>
    admitted({ id: new Uint8Array(idOf(i + 1)), position: { sequence: i + 1, index: 0 }, invocation }),
  )
  let facts: readonly LearnedFact[] = []
  for (const stage of stagesBy(directory, PRICED, mapping)) {
    const open = await stage.open(0)
    const batch = batchOf(stage.name, left, facts)
    const dispositions = await open.handle(batch)
    facts = open.factsOf?.(batch) ?? []
    rows.push(...dispositions.flatMap((made) => (made.kind === 'resolved' ? [made.row] : [])))
    left = left.filter((_, i) => dispositions[i]?.kind === 'hand_on')
  }
  return rows.sort((one, other) => one.sourceSequence - other.sourceSequence)
}

const again = (
  rows: readonly AttributionRow[],
  directory: WatchedDirectory,
  peers: readonly AttributionRow[] = [],
  mapping?: MappingPolicy,
) =>
  reattribute(rows, peers, {
    stages: (rowOf) =>
      stagesBy(
        directory,
        { ...ROW_DEPS, consumptionOf: (admittedEvent) => keptConsumption(rowOf(admittedEvent)) },
        mapping,
      ),
    nameOf: (hash) =>
      [...directory.identityNames('tnt_one')].find(
        (name) => Buffer.from(identityHash(ROW_DEPS.identityKeyOf('tnt_one'), name)).toString('hex') === hash,
      ),
    basisOf: () => undefined,
    validFromMs: NOW_MS + 100,
  })

const stated = fc.record({
  attributedService: fc.constantFrom(undefined, 'search', 'alias', 'unknown'),
  attributedIdentity: fc.constantFrom(undefined, 'ann', 'bot', 'stranger'),
  attributionConfidence: fc.constantFrom(undefined, 0.3, 0.82, 0.95),
  inputTokens: fc.option(fc.nat(1_000), { nil: undefined }),
  traceId: fc.constantFrom(undefined, 'one', 'two'),
  region: fc.constantFrom(undefined, 'eu-west-1'),
  tags: fc.constantFrom(undefined, { team: 'x' }),
  servedFromCache: fc.constantFrom(true, false),
})
const DIRECTORY = {
  services: [{ name: 'search', owner: 'team-search', aliases: ['alias'] }],
  identities: [
    { name: 'ann', owner: 'team-ann' },
    { name: 'bot', service: 'crawler' },
  ],
}

describe('re-attributed records', () => {
  test('records stay unchanged if the directory has not changed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(stated, { maxLength: 12 }), async (events) => {
        const directory = directoryOf(DIRECTORY)

        expect(await again(await recorded(events, directory), directory)).toEqual({ changed: [], unnamed: 0 })
      }),
    )
  })

  test('records are re-attributed as new events would be now, at the same cost', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(stated, { maxLength: 12 }), async (events) => {
        const before = await recorded(events, directoryOf())
        const now = directoryOf(DIRECTORY)

        const { changed, unnamed } = await again(before, now)

        const asNow = await recorded(events, now)
        const by = (row: AttributionRow) => [row.service, row.owner, row.evidenceBasis, row.confidence, row.outputState]
        const after = before.map((row) => changed.find(({ id }) => Buffer.compare(id, row.id) === 0) ?? row)
        // An identity that the directory does not know is stored only as a hash, so no record can change to it as its
        // owner.
        const staysUnchanged = asNow.map(({ owner }, i) => owner === 'stranger' && before[i]?.owner !== 'stranger')
        expect(unnamed).toBe(staysUnchanged.filter((left) => left).length)
        expect(after.map(by)).toEqual(asNow.map((row, i) => by(staysUnchanged[i] ? (before[i] ?? row) : row)))
        for (const row of changed) {
          expect(row).toMatchObject({
            costUsd: 1_250_000_000_000_000_000n,
            costBasis: 'tenant_price',
            validFromMs: NOW_MS + 100,
          })
        }
      }),
    )
  })
})

test('a record whose new owner is an identity known only by its hash stays unchanged and is counted', async () => {
  const directory = directoryOf(DIRECTORY)
  const rows = await recorded([{ attributedService: 'search', attributedIdentity: 'stranger' }], directory)
  directory.apply(directoryKey('services', 'search'), undefined)

  expect(await again(rows, directory)).toEqual({ changed: [], unnamed: 1 })
})

test('a record is re-attributed with the evidence of other records of its trace, which stay unchanged', async () => {
  const [silent] = await recorded([{ traceId: 'one' }], directoryOf())
  const [stating] = await recorded([{ traceId: 'one', attributedService: 'search' }], directoryOf())
  const peer = { ...stating, id: new Uint8Array(idOf(99)) } as AttributionRow

  const { changed } = await again(silent === undefined ? [] : [silent], directoryOf(DIRECTORY), [peer])

  expect(changed.map(({ service, owner, evidenceBasis }) => [service, owner, evidenceBasis])).toEqual([
    ['search', 'team-search', 'trace_correlated'],
  ])
})

test('an event reconstructed from its record has all fields that determine its attribution', async () => {
  const directory = directoryOf(DIRECTORY)
  const event = {
    attributedService: 'alias',
    attributedIdentity: 'stranger',
    traceId: 'one',
    attributionConfidence: 0.82,
    inputTokens: 7,
    serviceTier: 'batch',
    tags: { team: 'x' },
  } as const
  const [row] = await recorded([event], directory)
  if (row === undefined) throw new Error('no record')

  const { attributedIdentity, ...remembered } = recall(row, () => undefined).invocation

  const { attributedIdentity: _, ...others } = event
  expect(remembered).toMatchObject(others)
  expect(attributedIdentity).not.toBe('stranger')
  expect(recall(row, () => 'stranger').invocation.attributedIdentity).toBe('stranger')
})

describe('a record that a mapping rule decided', () => {
  const ruled = (when: RuleFields['when'], service = 'tools') =>
    mappingPolicy([storedRule({ name: 'r', when, set: { service } }, 'mrl_r', 'tnt_one', 0)])
  const ofTeam: RuleFields['when'] = [{ field: 'team', match: 'exact', value: 'x' }]

  test('follows the rule, and goes back without it; what a gateway sent stays trusted', async () => {
    const directory = directoryOf()
    const rows = await recorded([{ tags: { team: 'x' } }], directory, ruled(ofTeam))
    const fromGateway = rows.map((row) => ({ ...row, sentByGateway: true }))

    expect((await again(rows, directory, [], ruled(ofTeam))).changed).toEqual([])
    expect((await again(fromGateway, directory, [], ruled(ofTeam))).changed).toMatchObject([{ confidence: 9_000 }])
    expect((await again(rows, directory, [], ruled(ofTeam, 'other'))).changed).toMatchObject([{ service: 'other' }])
    expect((await again(rows, directory)).changed).toMatchObject([{ service: 'unallocated', stageOrigin: 'stage_c' }])
  })

  test.each(['Ada', 'ADA', 'ada.lovelace', 'Ada.Lovelace'])('by a person called %s stays as it is', async (called) => {
    const directory = directoryOf({ identities: [{ name: 'ada', owner: 'team', renamed: ['ada.lovelace'] }] })
    const exact = ruled([{ field: 'identity', match: 'exact', value: called }])
    const rows = await recorded([{ attributedIdentity: called }], directory, exact)

    expect(rows).toMatchObject([{ service: 'tools', owner: 'team', evidenceBasis: 'mapping_rule' }])
    expect(await again(rows, directory, [], exact)).toEqual({ changed: [], unnamed: 0 })
  })

  test('by a part of an identity stays, and is counted, where the name is not stored', async () => {
    const prefix = ruled([{ field: 'identity', match: 'prefix', value: 'stran' }])
    const rows = await recorded([{ attributedIdentity: 'stranger' }], directoryOf(), prefix)
    const known = directoryOf({ identities: [{ name: 'stranger' }] })

    expect(rows).toMatchObject([{ service: 'tools', evidenceBasis: 'mapping_rule' }])
    // Its owner is the identity, so that the record itself has the name.
    expect(await again(rows, directoryOf(), [], prefix)).toEqual({ changed: [], unnamed: 0 })
    const owned = rows.map((row) => ({
      ...row,
      owner: 'team',
      evidence: row.evidence.replace('event_identity', 'none'),
    }))
    expect(await again(owned, directoryOf(), [], prefix)).toEqual({ changed: [], unnamed: 1 })
    expect((await again(owned, known)).changed).toMatchObject([{ stageOrigin: 'stage_c' }])
  })
})

const row = (id: number, rule?: string, tags?: Record<string, string>, dimensions: readonly string[] = []) => ({
  ...finishedRow(
    { id: new Uint8Array(idOf(id)) },
    rule === undefined
      ? {}
      : { verdict: { evidenceBasis: 'mapping_rule', evidence: { mapping_rule: { id: rule, tags } } } },
  ),
  dimensions,
})

test('a job of a rule changes what the rule decides, or has decided', () => {
  const before = [row(1), row(2, 'one'), row(3, 'two'), row(4)]
  const changed = [row(1, 'one'), row(2), row(3), row(4)]
  const idsOf = (rule?: string) => ofMapping(rule, before, { changed, unnamed: 2 }).changed.map(({ id }) => id)

  expect(idsOf('one')).toEqual([row(1).id, row(2).id])
  expect(idsOf('two')).toEqual([row(3).id])
  expect(idsOf()).toEqual([row(1).id, row(2).id, row(3).id])
  expect(ofMapping('one', before, { changed, unnamed: 2 }).unnamed).toBe(2)
})

test('records that follow through their trace change, too; others of the trace do not', () => {
  const traced = (id: number, stated: Partial<ReturnType<typeof row>>) => ({ ...row(id), traceId: 't', ...stated })
  const correlated = { evidenceBasis: 'trace_correlated' }
  const before = [traced(1, {}), traced(2, {}), traced(3, correlated), traced(4, {}), row(5)]
  const changed = [
    { ...row(1, 'one'), traceId: 't' },
    traced(2, correlated),
    traced(3, {}),
    traced(4, { owner: 'another' }),
    { ...row(5), ...correlated, traceId: 'u' },
  ]

  const kept = ofMapping('one', before, { changed, unnamed: 0 }).changed
  expect(kept.map(({ id }) => id)).toEqual([1, 2, 3].map((id) => row(id).id))
})

test('tags of rules change with the rule; those that the call states, and others since declared, do not', () => {
  const own = pairOf('team', 'own')
  const center = (value: string) => pairOf('cost_center', value)
  const set = { Cost_Center: '7' }

  expect(tagsFrom(row(1, undefined, undefined, [own]), row(1, undefined, undefined, [pairOf('team', 'x')]))).toEqual([
    own,
  ])
  expect(tagsFrom(row(1, undefined, undefined, [own, center('')]), row(1, 'one', set, [own, center('7')]))).toEqual([
    own,
    center('7'),
  ])
  expect(tagsFrom(row(1, 'one', set, [own, center('7')]), row(1, undefined, undefined, [own, center('')]))).toEqual([
    own,
    center(''),
  ])
  // The key was declared after the call.
  expect(tagsFrom(row(1, undefined, undefined, [own]), row(1, 'one', set, [own, center('7')]))).toEqual([
    own,
    center('7'),
  ])
})
