import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Verdict } from '../../../../../internal/attribution/records/row.js'
import type { EvidenceDeps, Resolution } from '../../../../../internal/attribution/stages/a/evidence.js'
import { decideBatch } from '../../../../../internal/attribution/stages/t/decide.js'
import type { PartitionTraces } from '../../../../../internal/attribution/stages/t/partition-traces.js'
import { DEFAULT_SETTINGS } from '../../../../../internal/auth/tenant.js'
import { mappingPolicy, NO_RULES } from '../../../../../internal/directory/mapping/mapping-policy.js'
import { storedRule } from '../../../../../internal/directory/mapping/mapping-rule.js'
import type { Invocation } from '../../../../../internal/invocations/invocation.js'
import type { AdmittedInvocation } from '../../../../../internal/invocations/invocation-group.js'
import { directoryOf } from '../../../../support/directory.js'
import { admitted, idOf, NOW_MS } from '../../../../support/invocations.js'
import { drawn } from '../../../../support/run/rings.js'
import { noTraces, STAGE_C_DEPS } from '../../../../support/stages.js'

const directory = directoryOf({
  services: [{ name: 'search', owner: 'team-search', aliases: ['finder'] }],
  identities: [
    { name: 'bot', owner: 'team-bots', service: 'crawler' },
    { name: 'ada', owner: 'team-ada' },
    { name: 'bob', owner: 'team-bob' },
  ],
  principals: [{ id: 'key_batch', service: 'nightly' }],
})
const SETTINGS = { ...DEFAULT_SETTINGS, undeclared_services: 'resolved' } as const
const deps = { directory, settingsOf: () => SETTINGS, policyOf: STAGE_C_DEPS.policyOf, mappingOf: () => NO_RULES }

interface Step {
  readonly number: number
  readonly principal?: string
  readonly invocation?: Partial<Invocation>
}
const step = (number: number, invocation: Partial<Invocation> = {}, principal = 'key_one'): Step => ({
  number,
  principal,
  invocation: { traceId: 'trace', ...invocation },
})
const eventOf = ({ number, ...stated }: Step): AdmittedInvocation => admitted({ ...stated, id: idOf(number) })

interface Shown {
  readonly basis: string
  readonly service: string
  readonly owner: string
  readonly confidence: number
}

/**
 * Decides the batches in order and applies the corrections. Returns the final result per event; undefined: facts tell no
 * service.
 */
async function outcome(
  batches: readonly (readonly Step[])[],
  traces: PartitionTraces = noTraces(directory),
  decideDeps: EvidenceDeps = deps,
) {
  const shown = new Map<string, Shown | undefined>()
  for (const [i, batch] of batches.entries()) {
    const atMs = NOW_MS + i * 1000
    for (const [{ id }, { resolution }] of decideBatch(batch.map(eventOf), traces, atMs, decideDeps)) {
      shown.set(hex(id), resolution && shownAs(resolution))
    }
    await traces.deriveCorrections(atMs)
    for (const { id, verdict } of traces.corrections()) {
      const hasService = verdict.evidenceBasis !== 'default_pool' && verdict.evidenceBasis !== 'owner_resolved'
      shown.set(hex(id), hasService ? shownAs(verdict) : undefined)
    }
    traces.markSent()
  }
  return (number: number): Shown | undefined => shown.get(hex(idOf(number)))
}
const shownAs = ({ evidenceBasis: basis, service, owner, confidence }: Resolution | Verdict): Shown => {
  return { basis, service, owner, confidence }
}
const hex = (id: Uint8Array): string => Buffer.from(id).toString('hex')

describe('an event without stated evidence', () => {
  const silent = step(1)
  const stated = step(2, { attributedService: 'finder', attributedIdentity: 'ada' })

  test.each([
    ['sent after the stated event', [[stated], [silent]]],
    ['sent before it', [[silent], [stated]]],
    ['in the same batch', [[silent, stated]]],
    ['sent after other events of the trace', [[step(3)], [silent], [stated], [step(4)]]],
  ])('an event without stated evidence gets the service of its trace: %s', async (_, batches) => {
    const of = await outcome(batches)

    expect(of(1)).toEqual({ basis: 'trace_correlated', service: 'search', owner: 'team-search', confidence: 8_200 })
  })

  test('an event is not resolved by another trace', async () => {
    const of = await outcome([[stated], [step(1, { traceId: 'another' })]])

    expect(of(1)).toBeUndefined()
  })

  test('without an owner in the directory, the owner is the identity’s team, else that of the trace', async () => {
    const unlisted = step(2, { attributedService: 'unlisted', attributedIdentity: 'ada' })
    const ofTeam = await outcome([[unlisted], [step(1, { attributedIdentity: 'bob' })]])
    const ofTrace = await outcome([[unlisted], [step(1)]])

    expect(ofTeam(1)).toMatchObject({ owner: 'team-bob' })
    expect(ofTrace(1)).toMatchObject({ service: 'unlisted', owner: 'team-ada' })
  })

  test.each([
    ['sent after that call', (unlisted: Step, silent: Step) => [[unlisted], [silent]]],
    ['sent before that call', (unlisted: Step, silent: Step) => [[silent], [unlisted]]],
  ])('an event is never owned by the person who made another call of its trace: %s', async (_, batchesOf) => {
    const unlisted = step(2, { attributedService: 'unlisted', attributedIdentity: 'eve' })
    const ofTrace = await outcome(batchesOf(unlisted, step(1)))
    const oneOfTwo = await outcome([
      [step(3, { attributedService: 'unlisted', attributedIdentity: 'ada' })],
      [unlisted],
      [step(1)],
    ])

    expect(ofTrace(2)).toMatchObject({ service: 'unlisted', owner: 'eve' })
    expect(ofTrace(1)).toMatchObject({ basis: 'trace_correlated', service: 'unlisted', owner: 'unassigned' })
    expect(oneOfTwo(1)).toMatchObject({ service: 'unlisted', owner: 'unassigned' })
  })

  test('a trace-correlated event never has more confidence than the event that resolved its trace', async () => {
    const of = await outcome([[step(2, { attributedService: 'search', attributionConfidence: 0.6 })], [step(1)]])

    expect(of(1)).toMatchObject({ basis: 'trace_correlated', confidence: 6_000 })
  })
})

describe('a service that changes its name and owner between two calls', () => {
  const CHANGED_AT_MS = NOW_MS - 10_000
  const changed = directoryOf({
    services: [
      {
        name: 'search',
        owner: 'team-search',
        changes: [{ from: new Date(CHANGED_AT_MS).toISOString(), name: 'find', owner: 'team-find' }],
      },
    ],
    identities: [{ name: 'bot', service: 'search', is_workload: true }],
    principals: [{ id: 'key_alone', service: 'find', exclusive: true }],
  })
  const changedDeps = { ...deps, directory: changed }
  const of = (steps: readonly Step[]) => outcome([steps], noTraces(changed), changedDeps)
  const [before, after] = [CHANGED_AT_MS - 1, CHANGED_AT_MS]

  test.each([
    ['its old name', { attributedService: 'search' }, 'key_one'],
    ['its new name', { attributedService: 'find' }, 'key_one'],
    ['only its workload', { attributedIdentity: 'bot' }, 'key_one'],
    ['both, which do not contradict each other', { attributedService: 'find', attributedIdentity: 'bot' }, 'key_one'],
    ['nothing, by its own credential', {}, 'key_alone'],
  ])('each call has those of its own time, also if it arrives late: it states %s', async (_, stated, principal) => {
    const shown = await of([
      step(1, { ...stated, traceId: undefined, eventTimeMs: after }, principal),
      step(2, { ...stated, traceId: undefined, eventTimeMs: before }, principal),
    ])

    expect(shown(1)).toMatchObject({ service: 'find', owner: 'team-find' })
    expect(shown(2)).toMatchObject({ service: 'search', owner: 'team-search' })
    expect([shown(1)?.basis, shown(2)?.basis]).not.toContain('service_declared')
  })

  test('a trace with calls before and after has one service, and names it by the time of each call', async () => {
    const shown = await of([
      step(1, { attributedService: 'search', eventTimeMs: before }),
      step(2, { attributedService: 'find', eventTimeMs: after }),
      step(3, { eventTimeMs: before }),
      step(4, { eventTimeMs: after }),
    ])

    expect(shown(3)).toMatchObject({ basis: 'trace_correlated', service: 'search', owner: 'team-search' })
    expect(shown(4)).toMatchObject({ basis: 'trace_correlated', service: 'find', owner: 'team-find' })
  })
})

describe('a credential’s default service', () => {
  const byKey = step(1, {}, 'key_batch')

  test('a credential’s default service yields to the service stated in the trace, before or after it', async () => {
    const stated = step(2, { attributedService: 'search' })
    const [alone, earlier, later] = [
      await outcome([[byKey]]),
      await outcome([[byKey], [stated]]),
      await outcome([[stated], [byKey]]),
    ]

    expect(alone(1)).toMatchObject({ basis: 'principal_resolved', service: 'nightly' })
    expect(earlier(1)).toMatchObject({ basis: 'trace_correlated', service: 'search' })
    expect(later(1)).toEqual(earlier(1))
  })

  test('a credential’s default service stays if the stated service has less confidence', async () => {
    const of = await outcome([[step(2, { attributedService: 'search', attributionConfidence: 0.7 })], [byKey]])

    expect(of(1)).toMatchObject({ basis: 'principal_resolved', service: 'nightly' })
  })

  test('a credential’s default service resolves others of the trace, with at most its own confidence', async () => {
    const of = await outcome([[step(3)], [byKey]])

    expect(of(3)).toMatchObject({ basis: 'trace_correlated', service: 'nightly', confidence: 8_000 })
  })
})

describe('a trace with two services', () => {
  const one = step(2, { attributedService: 'search' })
  const other = step(3, { attributedService: 'chat' })

  test.each([
    ['both sent before', [[one, other], [step(1)]]],
    ['one sent before, one after', [[one], [step(1)], [other]]],
    ['both sent after', [[step(1)], [one], [other]]],
  ])('a trace with two services resolves no event, and withdraws earlier resolutions: %s', async (_, batches) => {
    const of = await outcome(batches)

    expect(of(1)).toBeUndefined()
    expect(of(2)).toMatchObject({ service: 'search' })
  })

  test.each([
    ['both sent before', [[one, other], [step(1)]]],
    ['both sent after, at once', [[step(1)], [one, other]]],
    ['one sent before, one after', [[one], [step(1)], [other]]],
  ])('an event that a trace with two services leaves unresolved names both: %s', async (_, batches) => {
    const traces = noTraces(directory)
    let named: readonly string[] | undefined
    for (const [i, batch] of batches.entries()) {
      const atMs = NOW_MS + i * 1000
      for (const [{ id }, { traceServices }] of decideBatch(batch.map(eventOf), traces, atMs, deps)) {
        if (hex(id) === hex(idOf(1))) named = traceServices
      }
      await traces.deriveCorrections(atMs)
      for (const { id, verdict } of traces.corrections()) {
        expect(hex(id)).toBe(hex(idOf(1)))
        named = (verdict.evidence as Partial<Resolution['evidence']>).conflict?.services
        expect(verdict.contested).toBe(named && 'trace')
      }
      traces.markSent()
    }
    expect(named).toEqual(['chat', 'search'])
  })

  test('a trace with two services leaves an event its own credential’s default service', async () => {
    const of = await outcome([[one], [step(1, {}, 'key_batch')], [other]])

    expect(of(1)).toMatchObject({ basis: 'principal_resolved' })
  })
})

describe('a weaker source in a trace', () => {
  const rule = storedRule(
    { name: 'tools', when: [{ field: 'team', match: 'exact', value: 'devs' }], set: { service: 'dev-tools' } },
    'mrl_tools',
    'tnt_one',
    0,
  )
  const undeclared = { ...deps, settingsOf: () => DEFAULT_SETTINGS, mappingOf: () => mappingPolicy([rule]) }

  test.each([
    ['an undeclared name', step(3, { attributedService: 'chekout' })],
    ['the service of an identity', step(3, { attributedIdentity: 'bot' })],
    ['a default service', step(3, {}, 'key_batch')],
    ['a mapping rule', step(3, { tags: { team: 'devs' } })],
  ])('%s does not contest a service of the directory', async (_, weaker) => {
    const of = await outcome(
      [[weaker], [step(2, { attributedService: 'search' })], [step(1)]],
      noTraces(directory),
      undeclared,
    )

    expect(of(1)).toMatchObject({ basis: 'trace_correlated', service: 'search', confidence: 8_200 })
  })

  test('a mapping rule decides before the trace, and resolves events of it that state nothing', async () => {
    const mapped = step(3, { tags: { team: 'devs' } })
    const of = await outcome([[step(2, { attributedService: 'search' }), mapped]], noTraces(directory), undeclared)
    expect(of(3)).toMatchObject({ basis: 'mapping_rule', service: 'dev-tools' })

    const alone = await outcome([[mapped], [step(1)]], noTraces(directory), undeclared)
    expect(alone(1)).toMatchObject({ basis: 'trace_correlated', service: 'dev-tools', confidence: 7_000 })
  })

  test('an undeclared name passes on no more confidence than its own', async () => {
    const of = await outcome([[step(3, { attributedService: 'chekout' })], [step(1)]], noTraces(directory), undeclared)

    expect(of(1)).toMatchObject({ basis: 'trace_correlated', service: 'chekout', confidence: 7_000 })
  })
})

test('a correction is repeated with its batch until the batch has been applied, and never after that', async () => {
  const traces = noTraces(directory)
  decideBatch([eventOf(step(1))], traces, NOW_MS, deps)
  await traces.deriveCorrections(NOW_MS)
  traces.markSent()

  const later = [eventOf(step(2, { attributedService: 'search' }))]
  for (let attempt = 0; attempt < 2; attempt++) {
    decideBatch(later, traces, NOW_MS + 1, deps)
    await traces.deriveCorrections(NOW_MS + 1)
    expect(traces.corrections()).toMatchObject([
      { id: idOf(1), verdict: { service: 'search', stageOrigin: 'stage_a' } },
    ])
  }
  traces.markSent()
  decideBatch([eventOf(step(3, { attributedService: 'search' }))], traces, NOW_MS + 2, deps)
  await traces.deriveCorrections(NOW_MS + 2)
  expect(traces.corrections()).toEqual([])
})

test('of a call in a contested trace, the owner of its identity stays', async () => {
  const traces = noTraces(directory)
  const calls = [
    step(1, { attributedIdentity: 'ada' }),
    step(2, { attributedIdentity: 'stranger' }),
    step(3, { attributedService: 'search' }),
  ]
  decideBatch(calls.map(eventOf), traces, NOW_MS, deps)
  await traces.deriveCorrections(NOW_MS)
  traces.markSent()

  decideBatch([eventOf(step(4, { attributedService: 'chat' }))], traces, NOW_MS + 1, deps)
  await traces.deriveCorrections(NOW_MS + 1)

  const verdicts = traces.corrections().map(({ verdict }) => verdict)
  const contested = { contested: 'trace', evidence: { conflict: { by: 'trace', services: ['chat', 'search'] } } }
  expect(verdicts).toMatchObject([
    { evidenceBasis: 'owner_resolved', service: 'unassigned', owner: 'team-ada', ...contested },
    { evidenceBasis: 'default_pool', service: 'unallocated', ...contested },
  ])
})

test('in a trace that knows only a credential’s default service, an identity’s team comes first', async () => {
  const ofDefault = step(1, {}, 'key_batch')

  const of = await outcome([[ofDefault, step(2, { attributedIdentity: 'ada' })]], undefined, {
    ...deps,
    directory: directoryOf({
      services: [{ name: 'nightly', owner: 'team-platform' }],
      identities: [{ name: 'ada', owner: 'team-ada' }],
      principals: [{ id: 'key_batch', service: 'nightly' }],
    }),
  })

  expect(of(1)).toMatchObject({ service: 'nightly', owner: 'team-platform' })
  expect(of(2)).toMatchObject({ basis: 'trace_correlated', service: 'nightly', owner: 'team-ada' })
})

test('an event outside the window is not corrected', async () => {
  const traces = noTraces(directory)
  decideBatch([eventOf(step(1))], traces, NOW_MS, deps)
  decideBatch([eventOf(step(2, { attributedService: 'search' }))], traces, NOW_MS + 3_600_001, deps)
  await traces.deriveCorrections(NOW_MS + 3_600_001)

  expect(traces.corrections()).toEqual([])
})

test('the result does not depend on the order of events or on their division into batches', async () => {
  const facts = fc.record({
    traceId: fc.constantFrom('a', 'b'),
    attributedService: fc.option(fc.constantFrom('search', 'finder', 'chat'), { nil: undefined, freq: 3 }),
    attributedIdentity: fc.option(fc.constantFrom('bot', 'eve'), { nil: undefined, freq: 3 }),
    attributionConfidence: fc.option(fc.constantFrom(0.5, 0.8), { nil: undefined, freq: 3 }),
  })
  const steps = fc
    .array(fc.tuple(facts, fc.constantFrom('key_one', 'key_batch')), { minLength: 1, maxLength: 10 })
    .map((all) => all.map(([invocation, principal], number) => ({ number, principal, invocation })))
  const shuffled = steps.chain((all) =>
    fc.record({
      all: fc.constant(all),
      order: fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length }),
      cuts: fc.array(fc.boolean(), { minLength: all.length, maxLength: all.length }),
    }),
  )
  await fc.assert(
    fc.asyncProperty(shuffled, async ({ all, order, cuts }) => {
      const batches: Step[][] = [[]]
      for (const [i, each] of order.entries()) {
        if (cuts[i]) batches.push([])
        batches.at(-1)?.push(each)
      }
      const [atOnce, inParts] = [await outcome([all]), await outcome(batches)]
      // The owner may differ: it is the one that the events of the trace agreed on at the time. Everything else is
      // equal.
      const withoutOwner = (shown: Shown | undefined) => shown && { ...shown, owner: '' }

      for (const { number } of all) expect(withoutOwner(inParts(number))).toEqual(withoutOwner(atOnce(number)))
    }),
    { numRuns: drawn(300) },
  )
})
