import { describe, expect, test, vi } from 'vitest'
import { Baseline, type BaselineCall } from '../../../../../internal/attribution/stages/b/baseline.js'
import { Lookups, type LookupsDeps } from '../../../../../internal/attribution/stages/b/lookups.js'
import type { ClassCount, CountedWindow } from '../../../../../internal/store/queries/attribution/resolved-classes.js'
import { createLog } from '../../../../../internal/telemetry/log.js'

const HOUR_MS = 3_600_000
const NOON_MS = Date.UTC(2026, 10, 3, 12)
const call = (stated: Partial<BaselineCall> = {}): BaselineCall => ({
  principal: 'key_one',
  statesIdentity: false,
  traceId: undefined,
  eventTimeMs: NOON_MS,
  ...stated,
})
const counts = (of: string, ...classes: readonly (readonly [service: string, n: number])[]): ClassCount[] => {
  const total = classes.reduce((sum, [, n]) => sum + n, 0)
  return classes.map(([service, n]) => ({ of, service, owner: `team-${service}`, n, total }))
}

let nowMs = NOON_MS
const lookups = (stated: Partial<LookupsDeps> = {}) =>
  new Lookups({
    completeAsOf: async () => nowMs++,
    ticks: () => performance.now(),
    log: createLog('test', 'silent'),
    ...stated,
  })

/** A read model with these counts that records its queries. */
function baselineOver(byPrincipal: readonly ClassCount[], ofTraces: readonly ClassCount[] = []) {
  const queries: { readonly window: CountedWindow; readonly traces?: readonly string[] }[] = []
  const baseline = new Baseline({
    async byPrincipal(window) {
      queries.push({ window })
      return byPrincipal
    },
    async ofTraces(window, traces) {
      queries.push({ window, traces })
      return ofTraces
    },
  })
  return { baseline, queries }
}

test('the baseline guesses the most frequent class of the credential, with its share as confidence', async () => {
  const { baseline } = baselineOver(counts('key_one', ['search', 55], ['chat', 45]))

  const { guesses } = await baseline.guess('tnt_one', [call()], {}, lookups())

  expect(guesses).toEqual([
    {
      service: 'search',
      owner: 'team-search',
      confidence: 5_500,
      share: '0.5500',
      alternatives: [{ service: 'chat', owner: 'team-chat', probability: '0.4500' }],
      evidence: { most_frequent_of: 'principal', resolved_records: 100, of_this_class: 55 },
    },
  ])
})

describe('the baseline', () => {
  test('the baseline’s confidence never exceeds 0.60', async () => {
    const { baseline } = baselineOver(counts('key_one', ['search', 100]))

    expect((await baseline.guess('tnt_one', [call()], {}, lookups())).guesses[0]?.confidence).toBe(6_000)
  })

  test('the baseline makes no guess for a credential with fewer than ten resolved calls', async () => {
    const { baseline } = baselineOver([...counts('key_one', ['search', 9]), ...counts('key_two', ['search', 10])])

    const calls = [call(), call({ principal: 'key_two' }), call({ principal: 'key_three' })]
    const { guesses } = await baseline.guess('tnt_one', calls, {}, lookups())

    expect(guesses.map((guess) => guess?.service)).toEqual([undefined, 'search', undefined])
  })

  test('a credential of more than three classes is no evidence, unless nearly all of its calls are of one', async () => {
    const { baseline } = baselineOver([
      ...counts('key_few', ['search', 60], ['chat', 30], ['ocr', 10]),
      ...counts('key_many', ['search', 85], ['chat', 5], ['ocr', 5], ['mail', 5]),
      ...counts('key_nearly_one', ['search', 90], ['chat', 4], ['ocr', 3], ['mail', 3]),
    ])

    const calls = ['key_few', 'key_many', 'key_nearly_one'].map((principal) => call({ principal }))
    const { guesses } = await baseline.guess('tnt_one', calls, {}, lookups())

    expect(guesses.map((guess) => guess?.service)).toEqual(['search', undefined, 'search'])
  })

  test('the baseline guesses nothing by a credential that people without a service use most', async () => {
    const { baseline } = baselineOver(counts('key_one', ['unassigned', 12], ['search', 10]))

    expect((await baseline.guess('tnt_one', [call()], {}, lookups())).guesses).toEqual([undefined])
  })

  test('a call that states an identity gets no guess by its credential, and one by its trace', async () => {
    const { baseline } = baselineOver(counts('key_one', ['search', 100]), counts('t1', ['chat', 1]))

    const calls = [call({ statesIdentity: true }), call({ statesIdentity: true, traceId: 't1' })]
    const { guesses } = await baseline.guess('tnt_one', calls, {}, lookups())

    expect(guesses.map((guess) => guess?.service)).toEqual([undefined, 'chat'])
  })

  test('the baseline makes no guess for a trace with two services, whatever the majorities', async () => {
    const contested = counts('t1', ['chat', 2], ['search', 1])
    const { baseline } = baselineOver(counts('key_one', ['chat', 100]), contested)

    const { guesses } = await baseline.guess('tnt_one', [call({ traceId: 't1' }), call()], {}, lookups())

    expect(guesses.map((guess) => guess?.service)).toEqual([undefined, 'chat'])
  })

  test('one resolved call of the trace takes precedence over the credential', async () => {
    const { baseline, queries } = baselineOver(counts('key_one', ['search', 100]), counts('t1', ['chat', 1]))

    const calls = [call({ traceId: 't1' }), call({ traceId: 't2' })]
    const { guesses } = await baseline.guess('tnt_one', calls, {}, lookups())

    expect(guesses.map((guess) => guess?.service)).toEqual(['chat', 'search'])
    const window = { fromMs: NOON_MS - HOUR_MS, toMs: NOON_MS + HOUR_MS }
    expect(queries[1]).toMatchObject({ traces: ['t1', 't2'], window })
  })

  test('the baseline counts the 24 hours before the calls’ event time, whenever they arrive', async () => {
    const { baseline, queries } = baselineOver([])

    await baseline.guess('tnt_one', [call({ eventTimeMs: NOON_MS + 1 }), call({ eventTimeMs: 0 })], {}, lookups())

    const window = { tenantId: 'tnt_one', fromMs: NOON_MS - 23 * HOUR_MS, toMs: NOON_MS + HOUR_MS }
    expect(queries).toMatchObject([{ window }])
  })

  test('the baseline caches counts per tenant', async () => {
    const { baseline, queries } = baselineOver(counts('key_one', ['search', 100]))

    await baseline.guess('tnt_one', [call()], {}, lookups())
    await baseline.guess('tnt_one', [call()], {}, lookups())
    await baseline.guess('tnt_two', [call()], {}, lookups())

    expect(queries.map(({ window }) => window.tenantId)).toEqual(['tnt_one', 'tnt_two'])
  })

  test('the baseline refreshes its counts within 30 s, however long the query took', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    let counted = 0
    const baseline = new Baseline({
      async byPrincipal() {
        counted++
        vi.advanceTimersByTime(2_000)
        return []
      },
      ofTraces: () => Promise.reject(new Error('unexpected query')),
    })
    try {
      await baseline.guess('tnt_one', [call()], {}, lookups())
      vi.advanceTimersByTime(27_999)
      await baseline.guess('tnt_one', [call()], {}, lookups())
      expect(counted).toBe(1)

      vi.advanceTimersByTime(1)
      await baseline.guess('tnt_one', [call()], {}, lookups())
      expect(counted).toBe(2)
    } finally {
      vi.useRealTimers()
    }
  })

  test('no guess comes from counts that are older than 30 s, if the read model fails', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    let isFailing = false
    const baseline = new Baseline({
      async byPrincipal() {
        if (isFailing) throw new Error('the store is unavailable')
        vi.advanceTimersByTime(10)
        return counts('key_one', ['search', 100])
      },
      ofTraces: () => Promise.reject(new Error('unexpected query')),
    })
    const serviceNow = async () => (await baseline.guess('tnt_one', [call()], {}, lookups())).guesses[0]?.service
    try {
      expect(await serviceNow()).toBe('search')
      isFailing = true
      vi.advanceTimersByTime(29_989)
      expect(await serviceNow()).toBe('search')

      vi.advanceTimersByTime(1)
      expect(await serviceNow()).toBeUndefined()
    } finally {
      vi.useRealTimers()
    }
  })

  test('for a repeated batch, another process counts as of the same instants', async () => {
    const calls = [call({ traceId: 't1' })]
    const one = baselineOver(counts('key_one', ['search', 100]), counts('t1', ['chat', 1]))
    const other = baselineOver(counts('key_one', ['search', 100]), counts('t1', ['chat', 1]))
    await other.baseline.guess('tnt_one', calls, {}, lookups())
    other.queries.length = 0

    const first = await one.baseline.guess('tnt_one', calls, {}, lookups())
    const again = await other.baseline.guess('tnt_one', calls, { principalsMs: 7, tracesMs: 8 }, lookups())

    expect(again.guesses).toEqual(first.guesses)
    expect(again.asOf).toEqual({ principalsMs: 7, tracesMs: 8 })
    expect(other.queries.map(({ window }) => window.asOfMs)).toEqual([7, 8])
  })

  test('if the read model does not answer in time, the baseline uses expired counts or makes no guess', async () => {
    let isAnswering = true
    const never = new Promise<never>(() => undefined)
    const baseline = new Baseline({
      byPrincipal: () => (isAnswering ? Promise.resolve(counts('key_one', ['search', 100])) : never),
      ofTraces: () => Promise.reject(new Error('the store is unavailable')),
    })
    const calls = [call({ traceId: 't1' })]
    const first = await baseline.guess('tnt_one', calls, {}, lookups())
    isAnswering = false

    const again = await baseline.guess('tnt_one', calls, { principalsMs: 7 }, lookups())
    const unknown = await baseline.guess('tnt_two', calls, {}, lookups())

    expect(first.guesses[0]?.service).toBe('search')
    expect(again).toEqual(first)
    expect(unknown).toEqual({ guesses: [undefined], asOf: { principalsMs: undefined, tracesMs: undefined } })
  })

  test('the baseline waits at most half a second per batch for the read model, whatever the tenants', async () => {
    const never = new Promise<never>(() => undefined)
    let queries = 0
    const baseline = new Baseline({
      byPrincipal: () => {
        queries++
        return never
      },
      ofTraces: () => never,
    })
    // The timer fires before its time by the clock.
    const ofBatch = lookups({ ticks: () => 0 })

    for (let i = 0; i < 500; i++) await baseline.guess(`tnt_${i}`, [call()], {}, ofBatch)

    expect(queries).toBe(1)
  })
})
