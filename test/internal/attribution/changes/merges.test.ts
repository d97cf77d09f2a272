import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../../../internal/attribution/changes/change.js'
import { seenByOf } from '../../../../internal/attribution/sightings/seen-by.js'
import type { AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { plus, type Quantity, zero } from '../../../../internal/units/quantity.js'
import { explainCost } from '../../../../internal/valuation/cost/explain-cost.js'
import { priceBook } from '../../../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../../../internal/valuation/cost/price-invocation.js'
import { call } from '../../../support/attribution-events.js'
import { idOf, NOW_MS } from '../../../support/invocations.js'
import { bookOf, priceRow } from '../../../support/price-books.js'
import { hexOf, idOfRow, Records } from '../../../support/records-of-changes.js'
import { finishedRow } from '../../../support/rows.js'

const APP = { intake: 'otlp', principal: 'key_app' } as const
const GATEWAY = { intake: 'litellm', principal: 'key_gw' } as const

const rowOf = (number: number, stated: Partial<AttributionRow> = {}): AttributionRow => ({
  ...finishedRow({ id: idOf(number) }, { verdict: { evidence: { service_from: 'event' } } }),
  responseId: 'resp_1',
  costUsd: BigInt(number) as Quantity<'USD'>,
  inputTokens: number,
  ...stated,
})

let changes = 0
const change = (number: number, decision: Change['decision']): Change => ({
  id: `chg_${++changes}`,
  tenantId: 'tnt_one',
  recordId: hexOf(number),
  actor: 'usr_1',
  decision,
})
const compare = (...numbers: readonly number[]): Change =>
  change(numbers[0] ?? 0, {
    kind: 'same_call',
    members: numbers.map(hexOf),
    fromMs: NOW_MS,
    toMs: NOW_MS,
  })
const undo = (number: number) => change(number, { kind: 'undo_merge' })
const override = (number: number, service: string) =>
  change(number, { kind: 'override', service, owner: 'team', reason: 'so it is' })

const costOf = (rows: readonly AttributionRow[]) => rows.reduce((sum, { costUsd }) => plus(sum, costUsd), zero<'USD'>())
/** Without what every version has of its own. */
const plain = (row: AttributionRow | undefined) => row && { ...row, validFromMs: 0, seenBy: '' }

describe('a merge', () => {
  test('leaves one record, with the other event as evidence, and the other without a version', () => {
    const records = new Records([rowOf(1, { ...APP, confidence: 9_000 }), rowOf(2, { ...GATEWAY, confidence: 7_000 })])

    const { rows, closed, applied } = records.apply(compare(1, 2))

    expect(records.current).toHaveLength(1)
    expect(seenByOf(records.current[0] as AttributionRow)).toMatchObject({
      also: [{ id: hexOf(2), ...GATEWAY, matched_by: 'response_id', usage: false }],
      apart: [],
    })
    // Both end when the new version begins: no snapshot counts the call twice or never.
    expect(
      new Set([...rows.map(({ validFromMs }) => validFromMs), ...closed.map(({ closedAtMs }) => closedAtMs)]).size,
    ).toBe(1)
    expect(closed.map(({ change: kind, changeId }) => [kind, changeId])).toEqual(
      [1, 2].map(() => ['merge', `merge.${hexOf(1)}.${hexOf(2)}`]),
    )
    expect(applied.map(({ row }) => row)).toEqual(rows)
  })

  test('keeps the stronger attribution and takes the better known usage', () => {
    const app = rowOf(1, { ...APP, service: 'search', owner: 'team-search', usageBasis: 'partial', tags: { a: 'app' } })
    const gateway = rowOf(2, {
      ...GATEWAY,
      confidence: 3_000,
      service: 'unallocated',
      region: 'eu-west-1',
      latencyMs: 7,
    })
    const records = new Records([app, gateway])

    records.apply(compare(1, 2))

    const { service, principal, tags, eventId } = app
    const { costUsd, inputTokens, usageBasis, region, latencyMs } = gateway
    expect(records.record(1)).toMatchObject({
      service,
      principal,
      tags,
      eventId,
      costUsd,
      inputTokens,
      usageBasis,
      region,
      latencyMs,
    })
    expect(seenByOf(records.record(1) as AttributionRow).also).toMatchObject([{ usage: true }])
  })

  test.each<[string, Partial<AttributionRow>, Partial<AttributionRow>]>([
    ['of a cache that bought nothing', { costBasis: 'price_book' }, { costBasis: 'local_cache' }],
    ['with a price', { costBasis: 'unpriced' }, { costBasis: 'price_book' }],
    ['with a stated cost', { costBasis: 'price_book' }, { costBasis: 'client_estimate' }],
    [
      'with a plausible cost',
      { costBasis: 'client_estimate', costDetails: '{"stated_cost":"implausible"}' },
      { costBasis: 'price_book' },
    ],
    ['that is reported', { usageBasis: 'estimated' }, { usageBasis: 'reported' }],
    ['that can be read in one way', { usageBasis: 'ambiguous' }, { usageBasis: 'estimated' }],
  ])('the better known usage is the one %s', (_, worse, better) => {
    for (const [one, other] of [
      [worse, better],
      [better, worse],
    ] as const) {
      const records = new Records([rowOf(1, { ...APP, ...one }), rowOf(2, { ...GATEWAY, ...other })])
      records.apply(compare(1, 2))
      expect(records.current[0]).toMatchObject(better)
    }
  })

  describe('of two spans of which one is around the other', () => {
    const inner = { ...APP, responseId: '', instrumentation: 'sdk', traceId: 't', spanId: 'in', parentSpanId: 'out' }
    const outer = { ...APP, responseId: '', instrumentation: 'framework', traceId: 't', spanId: 'out', latencyMs: 9 }

    test.each([
      [1, 2],
      [2, 1],
    ])('the inner one counts, in whatever order they arrived (%i, %i)', (first, second) => {
      const records = new Records([
        rowOf(first, { ...inner, inputTokens: 400 }),
        rowOf(second, { ...outer, inputTokens: 900, estimatedCostUsd: 7n as Quantity<'USD'>, tags: { user: 'x' } }),
      ])
      records.apply(compare(1, 2))

      expect(records.current).toMatchObject([{ inputTokens: 400, tags: { user: 'x' } }])
      expect(seenByOf(records.current[0] as AttributionRow).also).toMatchObject([{ matched_by: 'parent_span' }])
    })

    test('the outer one counts if the inner one states nothing, or both are of LiteLLM', () => {
      const unknown = { inputTokens: undefined, usageBasis: 'unknown', costBasis: 'unpriced' }
      const [of, stated] = [{ instrumentation: 'litellm' }, { costBasis: 'client_estimate' }]
      for (const [ofInner, ofOuter] of [
        [unknown, {}],
        [of, { ...of, ...stated }],
      ]) {
        const records = new Records([rowOf(1, { ...inner, ...ofInner }), rowOf(2, { ...outer, ...ofOuter })])
        records.apply(compare(1, 2))
        expect(records.current).toMatchObject([{ inputTokens: 2 }])
      }
    })
  })

  test('parts of equal totals that only the other event states are kept, and priced', () => {
    const price = { rates: { input: '3', output: '15', cache_read: '0.3', cache_write: '3.75', cache_write_1h: '6' } }
    const priced = {
      inputTokens: 1_000,
      outputTokens: 100,
      costBasis: 'price_book',
      costDetails: JSON.stringify({ basis: 'price_book', price }),
    }
    const cached = { cachedInputTokens: 200, cacheWriteTokens: 300, cacheWrite1hTokens: 100 }
    const ofParts = (stated: Partial<AttributionRow>, others: Partial<AttributionRow>) => {
      const records = new Records([
        rowOf(1, { ...APP, ...priced, ...stated }),
        rowOf(2, { ...GATEWAY, ...priced, ...others }),
      ])
      records.apply(compare(1, 2))
      return records.current[0]
    }

    // (500 x 3 + 200 x 0.3 + 200 x 3.75 + 100 x 6 + 100 x 15) / 1,000,000
    const usd = 4_410_000_000_000_000n
    const wide = { cacheWrite5mTokens: 200, cachedInputTokens: 200, cacheWriteTokens: 300, reasoningTokens: 7 }
    expect(ofParts({ ...cached, reasoningTokens: 7, audioInputTokens: 0 }, wide)).toMatchObject({
      ...cached,
      ...wide,
      costUsd: usd,
    })
    expect(ofParts(wide, { ...cached, audioInputTokens: 0, imageInputTokens: 0 })).toMatchObject({ costUsd: usd })
    // Not of other totals, and not where a sender states the cost.
    expect(ofParts({}, { ...cached, inputTokens: 999 })).toMatchObject({ inputTokens: 999 })
    expect(ofParts({ costBasis: 'client_estimate' }, cached)).toMatchObject({ ...cached, costUsd: 1n })
  })

  test('cached tokens that only the other event states make the cost an upper bound where they have no rate', () => {
    const details = (rates: object, more = {}) =>
      JSON.stringify({
        basis: 'price_book',
        price: { confidence: 0.95, rates: { input: '3', output: '15', ...rates } },
        ...more,
      })
    const priced = { inputTokens: 1_000, outputTokens: 100, costBasis: 'price_book', costDetails: details({}) }
    const ofOther = (others: Partial<AttributionRow>, own: Partial<AttributionRow> = {}) => {
      const records = new Records([
        rowOf(1, { ...APP, ...priced, serviceTier: 'standard', ...own }),
        rowOf(2, { ...GATEWAY, ...priced, ...others }),
      ])
      records.apply(compare(1, 2))
      return records.current[0]
    }
    const cached = { cachedInputTokens: 700 }

    const bounded = ofOther(cached)
    expect(bounded).toMatchObject({ ...cached, costBound: 'upper', exportEligibility: 'cost_upper_bound' })
    expect(JSON.parse(bounded?.costDetails ?? '').price).toMatchObject({
      confidence: 0.7,
      flags: ['cache_read_rate_missing'],
    })
    const charged = { ...cached, costDetails: details({}, { upper_bound_charged: true }) }
    expect(ofOther(charged)).toMatchObject({ costBound: 'upper', exportEligibility: 'eligible' })
    const known = { costDetails: details({ cache_read: '0.3' }) }
    expect(ofOther(cached, known)).toMatchObject({ ...cached, ...known, costBound: '', exportEligibility: 'eligible' })
    // The column of a record of an earlier version is empty.
    const earlier = { ...cached, costDetails: JSON.stringify({ ...JSON.parse(bounded?.costDetails ?? '') }) }
    expect(ofOther({}, earlier)).toMatchObject({ costBound: 'upper', exportEligibility: 'cost_upper_bound' })
  })

  test('a rate that is only assumed is said to be where tokens of the other event are billed by it', () => {
    const book = priceBook(
      bookOf([priceRow('gpt-4o', '3', '15')], {
        providers: { openai: { rules: [{ models: ['*'], cache_read: '0.1', source: 'prices.example' }] } },
      }),
    )
    const { details, detailsJson: costDetails } = priceInvocation(call({ inputTokens: 1_000, outputTokens: 100 }), book)
    expect(details.price).not.toHaveProperty('flags')
    expect(explainCost(details, call({ inputTokens: 1_000, outputTokens: 100 })).assumptions).toEqual([])

    const priced = { inputTokens: 1_000, outputTokens: 100, costBasis: 'price_book', costDetails }
    const records = new Records([
      rowOf(1, { ...APP, ...priced, serviceTier: 'standard' }),
      rowOf(2, { ...GATEWAY, ...priced, cachedInputTokens: 700 }),
    ])
    records.apply(compare(1, 2))

    const [merged] = records.current
    expect(merged).toMatchObject({ costUsd: 2_610_000_000_000_000n, costBound: '' })
    expect(JSON.parse(merged?.costDetails ?? '').price).toMatchObject({
      confidence: 0.9,
      flags: ['rate_by_provider_rule'],
    })
  })

  test('who called, ids and tags come from all who saw the call', () => {
    const app = rowOf(1, { ...APP, tags: { env: 'prod', team: 'mine' }, dimensions: ['env\tprod', 'team\t'] })
    const identityHash = new Uint8Array(16).fill(7)
    const [traceId, spanId, requestId, operationId] = ['t', 's', 'req', 'op']
    const others = { traceId, spanId, requestId, operationId, attempt: 2, identityHash }
    const tagged = { tags: { team: 'search' }, dimensions: ['env\t', 'team\tsearch'] }
    const records = new Records([app, rowOf(2, { ...GATEWAY, ...others, ...tagged, confidence: 3_000 })])

    records.apply(compare(1, 2))

    expect(records.record(1)).toMatchObject({
      ...others,
      tags: { env: 'prod', team: 'mine' },
      dimensions: ['env\tprod', 'team\tsearch'],
    })
  })

  test('two that may show one call stay two, and each says so, once', () => {
    const twin = { ...APP, responseId: '', latencyMs: 50, inputTokens: 900, outputTokens: 1 }
    const records = new Records([
      rowOf(1, { ...twin, instrumentation: 'sdk', traceId: 'a', spanId: 'a' }),
      rowOf(2, { ...twin, instrumentation: 'framework', traceId: 'b', spanId: 'b' }),
    ])
    const before = costOf(records.current)

    const { closed, applied } = records.apply(compare(1, 2))
    const again = records.apply(compare(2, 1))

    expect(records.current.map((row) => seenByOf(row).perhaps)).toEqual([[hexOf(2)], [hexOf(1)]])
    expect([costOf(records.current), applied, again.rows]).toEqual([before, [], []])
    expect(closed.map(({ change: kind, actor }) => [kind, actor])).toEqual([
      ['perhaps_twice', 'usr_1'],
      ['perhaps_twice', 'usr_1'],
    ])
  })

  test('a price that the other event has makes the record eligible', () => {
    const app = rowOf(1, { ...APP, costBasis: 'unpriced', exportEligibility: 'unpriced' })
    const records = new Records([app, rowOf(2, { ...GATEWAY, confidence: 3_000, exportEligibility: 'below_floor' })])

    records.apply(compare(1, 2))

    expect(records.current[0]?.exportEligibility).toBe('eligible')
  })

  test('restricted data stays restricted', () => {
    const records = new Records([rowOf(1, APP), rowOf(2, { ...GATEWAY, exportEligibility: 'residency_restricted' })])

    records.apply(compare(1, 2))

    expect(records.current[0]?.exportEligibility).toBe('residency_restricted')
  })

  test('a third source joins the record that counts the call, also by an id that only the closed record has', () => {
    const span = { traceId: 'trace', spanId: 'span' }
    const records = new Records([
      rowOf(1, APP),
      rowOf(2, { ...GATEWAY, ...span, confidence: 3_000 }),
      rowOf(3, { intake: '', principal: 'key_3', responseId: '', ...span, confidence: 3_000 }),
    ])

    records.apply(compare(1, 2))
    records.apply(compare(2, 3))

    expect(records.current.map(idOfRow)).toEqual([hexOf(1)])
    expect(seenByOf(records.current[0] as AttributionRow).also.map(({ id }) => id)).toEqual([hexOf(2), hexOf(3)])
  })

  test('by a stronger third source', () => {
    const records = new Records([
      rowOf(1, { ...APP, confidence: 8_000 }),
      rowOf(2, { ...GATEWAY, confidence: 3_000, costBasis: 'client_estimate' }),
      rowOf(3, { intake: '', principal: 'key_3', confidence: 9_500, usageBasis: 'unknown' }),
    ])

    records.apply(compare(1, 2))
    records.apply(compare(1, 3))

    expect(records.current).toMatchObject([{ costBasis: 'client_estimate' }])
    const { also } = seenByOf(records.record(3) as AttributionRow)
    expect(also.map(({ id, usage }) => [id, usage])).toEqual([
      [hexOf(1), false],
      [hexOf(2), true],
    ])
  })
})

describe('whichever event of a call comes first', () => {
  const PARTS = { cachedInputTokens: 2_000, cacheWriteTokens: 300, reasoningTokens: 30 } as const
  const known = fc.record({
    parts: fc.subarray(Object.keys(PARTS) as (keyof typeof PARTS)[]),
    isCostStated: fc.boolean(),
    isTierStated: fc.boolean(),
    usageBasis: fc.constantFrom('reported', 'partial'),
  })
  type Known = typeof known extends fc.Arbitrary<infer T> ? T : never
  /** A call of a seat, as a log event or a span shows it. */
  const viewOf = (number: number, sees: Known, instrumentation: string): AttributionRow =>
    rowOf(number, {
      ...APP,
      instrumentation,
      receivedAtMs: NOW_MS + number,
      requestId: 'req_1',
      inputTokens: 3_100,
      outputTokens: 400,
      ...Object.fromEntries(Object.keys(PARTS).map((name) => [name, undefined])),
      ...Object.fromEntries(sees.parts.map((name) => [name, PARTS[name]])),
      costBasis: 'notional',
      costUsd: (sees.isCostStated ? 5n : sees.isTierStated ? 3n : 6n) as Quantity<'USD'>,
      estimatedCostUsd: sees.isCostStated ? (5n as Quantity<'USD'>) : undefined,
      serviceTier: sees.isTierStated ? 'flex' : '',
      usageBasis: sees.usageBasis,
    })

  test('its record knows the same', () => {
    fc.assert(
      fc.property(known, known, (one, other) => {
        const [first, second] = [
          new Records([viewOf(1, one, 'events'), viewOf(2, other, 'tracing')]),
          new Records([viewOf(1, other, 'tracing'), viewOf(2, one, 'events')]),
        ].map((records) => {
          records.apply(compare(1, 2))
          expect(records.current).toHaveLength(1)
          const { costUsd, estimatedCostUsd, serviceTier, usageBasis, ...row } = records.current[0] as AttributionRow
          const parts = Object.keys(PARTS).map((name) => row[name as keyof typeof PARTS])
          return { costUsd, estimatedCostUsd, serviceTier, usageBasis, parts }
        })

        expect(second).toEqual(first)
        const both = [...one.parts, ...other.parts]
        for (const [i, name] of Object.keys(PARTS).entries()) {
          expect(first?.parts[i]).toBe(both.includes(name as keyof typeof PARTS) ? Object.values(PARTS)[i] : undefined)
        }
      }),
    )
  })

  test('the dollars that a log event states stay beside the counts of a span', () => {
    const sees = { parts: [], isTierStated: false, usageBasis: 'reported' } as const
    const span = viewOf(1, { ...sees, parts: ['reasoningTokens'], isCostStated: false }, 'tracing')
    const log = viewOf(2, { ...sees, parts: [], isCostStated: true }, 'events')
    const records = new Records([span, log])

    records.apply(compare(1, 2))

    expect(records.current).toMatchObject([{ estimatedCostUsd: 5n, costUsd: 5n, reasoningTokens: 30 }])
  })
})

describe('with decisions of people', () => {
  test('a record that was overridden stays so; undoing the override leaves the merge', () => {
    const records = new Records([rowOf(1, APP), rowOf(2, { ...GATEWAY, costBasis: 'client_estimate' })])
    records.apply(override(1, 'chat'))

    records.apply(compare(1, 2))
    expect(records.current).toMatchObject([
      { service: 'chat', outputState: 'overridden', costBasis: 'client_estimate' },
    ])

    records.apply(change(1, { kind: 'undo_override' }))
    expect(records.current).toMatchObject([{ service: 'search', costBasis: 'client_estimate' }])
    expect(seenByOf(records.record(1) as AttributionRow).also).toHaveLength(1)
  })

  test('undoing a merge leaves the override', () => {
    const records = new Records([rowOf(1, APP), rowOf(2, GATEWAY)])
    records.apply(compare(1, 2), override(1, 'chat'), undo(1))

    expect(records.record(1)).toMatchObject({ service: 'chat', outputState: 'overridden' })
    expect(records.record(2)).toMatchObject({ service: 'search' })
    records.apply(change(1, { kind: 'undo_override' }))
    expect(plain(records.record(1))).toEqual(plain(rowOf(1, APP)))
  })
})

describe('the undoing of a merge', () => {
  test('restores every record, with the attribution that it has now, and keeps them apart', () => {
    const [one, other] = [rowOf(1, APP), rowOf(2, { ...GATEWAY, costBasis: 'client_estimate' })]
    const records = new Records([one, other])
    records.apply(compare(1, 2))

    const undoing = undo(1)
    const { closed } = records.apply(undoing)
    const again = [records.apply(undoing), records.apply(compare(1, 2))]

    expect([plain(records.record(1)), plain(records.record(2))]).toEqual([plain(one), plain(other)])
    expect(closed).toMatchObject([{ change: 'undo_merge', changeId: undoing.id }])
    for (const { rows } of again) expect(rows).toEqual([])
    expect(seenByOf(records.record(1) as AttributionRow).apart).toEqual([hexOf(2)])
  })

  test('is refused for a record that counts no other event', () => {
    const records = new Records([rowOf(1, APP), rowOf(2, { ...GATEWAY, responseId: 'resp_2' })])

    expect(records.apply(undo(1), undo(2), undo(3)).rows).toEqual([])
  })

  test('is refused where one of the records is no longer stored', () => {
    const records = new Records([rowOf(1, APP), rowOf(2, GATEWAY)])
    records.apply(compare(1, 2))
    records.versions = records.versions.filter(({ row }) => idOfRow(row) !== hexOf(2))

    expect(records.apply(undo(1)).rows).toEqual([])
  })
})

describe('for any records, comparisons and decisions', () => {
  const NUMBERS = [1, 2, 3, 4, 5]
  const stated = fc.record({
    intake: fc.constantFrom('', 'otlp', 'litellm'),
    principal: fc.constantFrom('key_1', 'key_2'),
    responseId: fc.constantFrom('resp_1', 'resp_1', 'resp_2'),
    confidence: fc.constantFrom(3_000, 9_000),
    usageBasis: fc.constantFrom('reported', 'partial', 'unknown'),
    costBasis: fc.constantFrom('price_book', 'client_estimate', 'local_cache'),
  })
  const rows = fc.array(stated, { minLength: 5, maxLength: 5 }).map((all) =>
    all.map((each, i) => {
      const exportEligibility = each.confidence < 8_000 ? 'below_floor' : 'eligible'
      return rowOf(i + 1, { ...each, exportEligibility })
    }),
  )
  const number = fc.constantFrom(...NUMBERS)
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.subarray(NUMBERS, { minLength: 2 }).map((members) => () => compare(...members)) },
    { weight: 1, arbitrary: number.map((each) => () => override(each, 'chat')) },
    { weight: 1, arbitrary: number.map((each) => () => change(each, { kind: 'undo_override' })) },
    { weight: 1, arbitrary: number.map((each) => () => undo(each)) },
  )
  const batches = fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 6 })

  const recordsAfter = (all: readonly AttributionRow[], steps: readonly (readonly (() => Change)[])[]): Records => {
    const records = new Records(all)
    for (const batch of steps) records.apply(...batch.map((make) => make()))
    return records
  }

  test('every event is counted in exactly one record, once per source', () => {
    fc.assert(
      fc.property(rows, batches, (all, steps) => {
        const counted = recordsAfter(all, steps).current.map((row) => {
          const { also } = seenByOf(row)
          const sources = [row, ...also].map(({ intake, principal }) => `${intake} ${principal}`)
          expect(new Set(sources).size).toBe(sources.length)
          return [idOfRow(row), ...also.map(({ id }) => id)]
        })
        expect(counted.flat().sort()).toEqual(NUMBERS.map(hexOf).sort())
      }),
    )
  })

  test('at any instant a record has at most one version, and no closed version is closed again', () => {
    fc.assert(
      fc.property(rows, batches, (all, steps) => {
        const { versions } = recordsAfter(all, steps)
        for (const id of NUMBERS.map(hexOf)) {
          const own = versions
            .filter(({ row }) => idOfRow(row) === id)
            .sort((a, b) => a.row.validFromMs - b.row.validFromMs)
          for (const [i, { closed }] of own.entries()) {
            const next = own[i + 1]?.row.validFromMs
            if (next !== undefined) expect(closed?.atMs).toBeLessThanOrEqual(next)
          }
        }
      }),
    )
  })

  test('the cost of a record is that of one of its events', () => {
    fc.assert(
      fc.property(rows, batches, (all, steps) => {
        const costs = new Map(all.map((row) => [idOfRow(row), row.costUsd]))
        for (const row of recordsAfter(all, steps).current) {
          const { also } = seenByOf(row)
          const counts = also.find(({ usage }) => usage)?.id ?? idOfRow(row)
          expect(row.costUsd).toBe(costs.get(counts))
        }
      }),
    )
  })

  test('when all is undone, every record is what it was', () => {
    fc.assert(
      fc.property(rows, batches, (all, steps) => {
        const records = recordsAfter(all, steps)
        for (const each of NUMBERS) records.apply(undo(each), change(each, { kind: 'undo_override' }))

        expect(costOf(records.current)).toBe(costOf(all))
        for (const row of all) {
          const now = records.current.find((each) => idOfRow(each) === idOfRow(row))
          expect(plain(now)).toEqual(plain(row))
        }
      }),
    )
  })
})
