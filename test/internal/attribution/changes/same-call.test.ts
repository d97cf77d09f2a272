import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decidedRow } from '../../../../internal/attribution/changes/decided.js'
import { type Pair, sameCalls } from '../../../../internal/attribution/changes/same-call.js'
import { MEMBERS_MAX, SAME_CALL_MS, seenByText } from '../../../../internal/attribution/sightings/seen-by.js'
import type { AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { idOf, NOW_MS } from '../../../support/invocations.js'
import { finishedRow } from '../../../support/rows.js'

const hexOf = (number: number): string => Buffer.from(idOf(number)).toString('hex')

/** A record of an event with this number. */
const rowOf = (number: number, stated: Partial<AttributionRow> = {}): AttributionRow => ({
  ...finishedRow({ id: idOf(number) }),
  responseId: 'resp_1',
  ...stated,
})
const APP = { intake: 'otlp', principal: 'key_app' } as const
const GATEWAY = { intake: 'litellm', principal: 'key_gw' } as const
const pairsOf = (rows: readonly AttributionRow[]): readonly Pair[] => sameCalls(rows.map((row) => ({ row }))).pairs
const namesOf = (pairs: readonly Pair[]): string[] =>
  pairs.map(({ winner, absorbed }) => [winner, absorbed].sort().join()).sort()
const named = (...pairs: readonly (readonly [number, number])[]): string[] =>
  pairs.map(([one, other]) => [hexOf(one), hexOf(other)].sort().join()).sort()

describe('two records show the same call', () => {
  test('by provider and response id, however the provider is spelled', () => {
    const pairs = pairsOf([
      rowOf(1, { ...APP, provider: 'aws.bedrock' }),
      rowOf(2, { ...GATEWAY, provider: 'bedrock' }),
    ])

    expect(pairs).toMatchObject([{ matchedBy: 'response_id' }])
    expect(namesOf(pairs)).toEqual(named([1, 2]))
  })

  test('by trace and span', () => {
    const ids = { responseId: '', traceId: 'trace', spanId: 'span' }

    expect(pairsOf([rowOf(1, { ...APP, ...ids }), rowOf(2, { ...GATEWAY, ...ids })])).toMatchObject([
      { matchedBy: 'trace_and_span' },
    ])
  })

  test.each<[string, Partial<AttributionRow>, Partial<AttributionRow>]>([
    ['another provider', APP, { ...GATEWAY, provider: 'anthropic' }],
    ['another response id', APP, { ...GATEWAY, responseId: 'resp_2' }],
    ['no id, however alike they are', { ...APP, responseId: '' }, { ...GATEWAY, responseId: '' }],
    ['the same trace alone', { ...APP, responseId: '', traceId: 't' }, { ...GATEWAY, responseId: '', traceId: 't' }],
    ['a provider that nobody names', { ...APP, provider: 'unknown' }, { ...GATEWAY, provider: 'unknown' }],
    ['the same source', APP, APP],
    ['a time further away', APP, { ...GATEWAY, eventTimeMs: NOW_MS + SAME_CALL_MS + 1 }],
    ['a person who took them apart', APP, { ...GATEWAY, seenBy: seenByText({ also: [], apart: [hexOf(1)] }) }],
  ])('not with %s', (_, one, other) => {
    expect(pairsOf([rowOf(1, { eventTimeMs: NOW_MS, ...one }), rowOf(2, { eventTimeMs: NOW_MS, ...other })])).toEqual(
      [],
    )
  })

  test('also where the intakes, or the credentials, alone differ', () => {
    expect(pairsOf([rowOf(1, APP), rowOf(2, { ...APP, intake: 'litellm' })])).toHaveLength(1)
    expect(pairsOf([rowOf(1, APP), rowOf(2, { ...APP, principal: 'key_gw' })])).toHaveLength(1)
  })
})

describe('replays from a cache, which repeat a response id', () => {
  const original = rowOf(1, { ...GATEWAY, eventTimeMs: NOW_MS })
  const replay = rowOf(2, { ...GATEWAY, eventTimeMs: NOW_MS + 5_000, servedFromCache: true })

  test('stay calls of their own', () => {
    expect(pairsOf([original, replay])).toEqual([])
  })

  test('are paired with what their caller saw of them, and the original with what its caller saw', () => {
    const first = rowOf(3, { ...APP, eventTimeMs: NOW_MS - 20 })
    const second = rowOf(4, { ...APP, eventTimeMs: NOW_MS + 4_990 })

    expect(namesOf(pairsOf([second, replay, first, original]))).toEqual(named([1, 3], [2, 4]))
    expect(namesOf(pairsOf([original, replay, first]))).toEqual(named([1, 3]))
  })
})

describe('which record stays', () => {
  const winnerOf = (one: Partial<AttributionRow>, other: Partial<AttributionRow>) =>
    pairsOf([rowOf(1, { ...APP, ...one }), rowOf(2, { ...GATEWAY, ...other })]).map(({ winner }) => winner)

  test('is the one with the higher confidence, then with the better evidence, then the one that arrived first', () => {
    expect(winnerOf({ confidence: 7_000 }, { confidence: 9_000 })).toEqual([hexOf(2)])
    expect(winnerOf({ evidenceBasis: 'principal_resolved' }, { evidenceBasis: 'identity_resolved' })).toEqual([
      hexOf(2),
    ])
    expect(winnerOf({ receivedAtMs: NOW_MS + 1 }, { receivedAtMs: NOW_MS })).toEqual([hexOf(2)])
    expect(winnerOf({}, {})).toEqual([hexOf(1)])
  })

  const OWNER = { stageOrigin: 'stage_a', evidenceBasis: 'owner_resolved', confidence: 8_500 } as const

  test.each([
    ['trace_correlated', 8_200],
    ['exclusive_principal_resolved', 8_000],
    ['principal_resolved', 8_000],
    ['service_resolved', 4_000],
  ] as const)(
    'is the one whose facts name the service, not one of which only the owner is known: %s',
    (basis, confidence) => {
      const service = { stageOrigin: 'stage_a', evidenceBasis: basis, confidence } as const

      expect(winnerOf(OWNER, service)).toEqual([hexOf(2)])
      expect(winnerOf(service, OWNER)).toEqual([hexOf(1)])
    },
  )

  test.each([
    ['stage_b', 'trained_inference'],
    ['stage_c', 'allocation_policy'],
  ] as const)(
    'is the one whose owner facts tell, not one whose service %s inferred or allocated',
    (stageOrigin, basis) => {
      const guess = { stageOrigin, evidenceBasis: basis, confidence: 9_000 } as const

      expect(winnerOf(guess, OWNER)).toEqual([hexOf(2)])
      expect(winnerOf(OWNER, guess)).toEqual([hexOf(1)])
    },
  )

  test('is never the guess of a fail-open heuristic, if there is another', () => {
    expect(winnerOf({ confidence: 6_000, degradationState: 'degraded_serving' }, { confidence: 3_000 })).toEqual([
      hexOf(2),
    ])
  })

  test('is the one on which a person has decided; if both are, they stay two', () => {
    const disputed = (number: number, source: Partial<AttributionRow>) =>
      decidedRow(rowOf(number, source), { dispute: { reason: 'not ours', actor: 'usr_1' } }, NOW_MS)

    const [pair] = pairsOf([disputed(1, { ...APP, confidence: 3_000 }), rowOf(2, GATEWAY)])
    expect(pair).toMatchObject({ winner: hexOf(1), absorbed: hexOf(2) })
    expect(pairsOf([disputed(1, APP), disputed(2, GATEWAY)])).toEqual([])
  })
})

test('three sources show one call; a fourth record of one of them is another call', () => {
  const rows = [
    rowOf(1, APP),
    rowOf(2, GATEWAY),
    rowOf(3, { intake: 'bedrock-log', principal: 'key_gw' }),
    rowOf(4, { ...APP, eventTimeMs: NOW_MS + 60_000 }),
  ]

  expect(pairsOf(rows)).toHaveLength(2)
})

describe('two instrumentations of one process with the same response id', () => {
  const span = (number: number, instrumentation: string, traceId: string, parentSpanId = '') =>
    rowOf(number, { ...APP, instrumentation, traceId, spanId: `s${number}`, parentSpanId, latencyMs: 500 })

  test('show one call as siblings, or where one of them is a root of its own', () => {
    expect(pairsOf([span(1, 'sdk', 't', 'workflow'), span(2, 'framework', 't', 'workflow')])).toHaveLength(1)
    expect(pairsOf([span(1, 'sdk', 't', 'server'), span(2, 'framework', 'u')])).toHaveLength(1)
  })

  test('may show one call where each is within a trace of its own', () => {
    const rows = [span(1, 'sdk', 't', 'server'), span(2, 'framework', 'u', 'chain')]

    expect(sameCalls(rows.map((row) => ({ row })))).toEqual({ pairs: [], perhaps: [[hexOf(1), hexOf(2)]] })
  })

  test('stay two calls that each were seen from outside and inside', () => {
    const stated = { responseId: '', inputTokens: 400, outputTokens: 60, latencyMs: 500 }
    const rows = [
      { ...span(1, 'sdk', 't', 's2'), ...stated },
      { ...span(2, 'framework', 't'), ...stated },
      { ...span(3, 'mixed', 'u', 's4'), ...stated },
    ]

    expect(namesOf(pairsOf(rows))).toEqual(named([1, 2]))
  })
})

test('an id that ever so many records have is that of no call', () => {
  const sources = Array.from({ length: MEMBERS_MAX + 1 }, (_, i) => rowOf(i, { intake: 'otlp', principal: `key_${i}` }))

  expect(pairsOf(sources)).toEqual([])
  expect(pairsOf(sources.slice(1))).toHaveLength(MEMBERS_MAX - 1)
})

describe('for any records', () => {
  const record = fc.record({
    intake: fc.constantFrom('', 'otlp', 'litellm'),
    principal: fc.constantFrom('key_1', 'key_2'),
    instrumentation: fc.constantFrom('', 'openai'),
    responseId: fc.constantFrom('', 'resp_1', 'resp_2'),
    traceId: fc.constantFrom('', 't'),
    spanId: fc.constantFrom('', 's1', 's2'),
    eventTimeMs: fc.integer({ min: 0, max: 2 * SAME_CALL_MS }).map((ms) => NOW_MS + ms),
    confidence: fc.constantFrom(3_000, 8_000, 9_000),
  })
  const records = fc.array(record, { maxLength: 10 }).map((stated) => stated.map((each, i) => rowOf(i + 1, each)))

  /** The records of each call, by the record that stays. */
  function callsOf(rows: readonly AttributionRow[]): readonly (readonly AttributionRow[])[] {
    const calls = new Map(rows.map((row) => [Buffer.from(row.id).toString('hex'), [row]]))
    for (const { winner, absorbed } of pairsOf(rows)) {
      const [kept, taken] = [calls.get(winner), calls.get(absorbed)]
      if (kept === undefined || taken === undefined) throw new Error('a record is merged that is closed already')
      kept.push(...taken)
      calls.delete(absorbed)
    }
    return [...calls.values()]
  }

  test('their order does not matter', () => {
    fc.assert(
      fc.property(records, fc.infiniteStream(fc.nat()), (rows, random) => {
        const shuffled = rows.map((row) => [random.next().value, row] as const).sort(([one], [other]) => one - other)
        expect(pairsOf(shuffled.map(([, row]) => row))).toEqual(pairsOf(rows))
      }),
    )
  })

  test('each record is in one call, and each call has at most one record of a source', () => {
    fc.assert(
      fc.property(records, (rows) => {
        const calls = callsOf(rows)
        expect(calls.flat()).toHaveLength(rows.length)
        for (const call of calls) {
          const sources = call.map(
            ({ intake, principal, instrumentation }) => `${intake} ${principal} ${instrumentation}`,
          )
          expect(new Set(sources).size).toBe(call.length)
        }
      }),
    )
  })

  test('the records of a call are linked by ids that they share', () => {
    fc.assert(
      fc.property(records, (rows) => {
        for (const call of callsOf(rows)) {
          const share = (one: AttributionRow, other: AttributionRow) =>
            (one.responseId !== '' && one.responseId === other.responseId) ||
            (one.traceId !== '' && one.spanId !== '' && one.traceId === other.traceId && one.spanId === other.spanId)
          const [first] = call
          const reached = new Set(first === undefined ? [] : [first])
          for (const _ of call) {
            for (const row of call) if ([...reached].some((one) => share(one, row))) reached.add(row)
          }
          expect(reached.size).toBe(call.length)
        }
      }),
    )
  })
})
