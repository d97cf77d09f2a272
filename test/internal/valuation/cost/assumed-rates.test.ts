import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatQuantity } from '../../../../internal/units/quantity.js'
import { usedOf } from '../../../../internal/valuation/cost/assumed-from.js'
import { type ProviderRule, relatives, ruleFor } from '../../../../internal/valuation/cost/assumed-rates.js'
import { explainCost } from '../../../../internal/valuation/cost/explain-cost.js'
import {
  loadPriceBook,
  loadPriceBookFile,
  type PriceBookFile,
  type PriceRow,
  priceBook,
} from '../../../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../../../internal/valuation/cost/price-invocation.js'
import { call } from '../../../support/attribution-events.js'
import { bookOf, priceRow } from '../../../support/price-books.js'
import { drawn } from '../../../support/run/rings.js'

type Stated = Parameters<typeof call>[0]

const RULE: ProviderRule = {
  models: ['model*'],
  source: 'the provider',
  batch: '0.5',
  flex: '0.5',
  priority: '2',
  cache_read: '0.1',
  cache_write: '1.25',
  cache_write_1h: '2',
}
const ruled = (models: readonly PriceRow[], rule: Partial<ProviderRule> = {}): PriceBookFile =>
  bookOf(models, { providers: { openai: { rules: [{ ...RULE, ...rule }] } } })

function priced(file: PriceBookFile, stated: Stated) {
  const event = call({ inputTokens: 1_000_000, outputTokens: 1_000_000, ...stated })
  const { costUsd, details } = priceInvocation(event, priceBook(file))
  const { lines, assumptions } = explainCost(details, event)
  return {
    cost: details.basis === 'unpriced' ? details.reason : formatQuantity(costUsd),
    flags: details.price?.flags ?? [],
    assumed: usedOf(details.price?.assumed ?? [], new Set(lines.map(({ billedAs }) => billedAs))),
    assumptions,
  }
}

describe('a rule of the provider', () => {
  const file = ruled([priceRow('model', '2', '8', { tiers: [{ above: 1_000_000, input: '4', output: '16' }] })])
  const model = { requestedModel: 'model' }

  test.each<[string, Stated, string, readonly string[]]>([
    ['batch', { serviceTier: 'batch' }, '5', ['input', 'output']],
    ['flex', { serviceTier: 'flex' }, '5', ['input', 'output']],
    ['priority', { serviceTier: 'priority' }, '20', ['input', 'output']],
    ['cache reads', { cachedInputTokens: 1_000_000 }, '8.2', ['cache_read']],
    ['cache writes', { cacheWriteTokens: 1_000_000 }, '10.5', ['cache_write']],
    ['long cache writes', { cacheWriteTokens: 1_000_000, cacheWriteTtlSeconds: 3600 }, '12', ['cache_write_1h']],
    ['both', { serviceTier: 'batch', cachedInputTokens: 1_000_000 }, '4.2', ['output', 'cache_read']],
    ['beyond a threshold', { inputTokens: 2_000_000, serviceTier: 'batch' }, '12', ['input', 'output']],
    ['cached, beyond it', { inputTokens: 2_000_000, cachedInputTokens: 1_000_000 }, '20.4', ['cache_read']],
  ])('prices what the row lacks, as an assumption on the card: %s', (_, stated, cost, rates) => {
    const found = priced(file, { ...model, ...stated })

    expect(found.cost).toBe(cost)
    expect(found.assumed).toEqual([{ from: 'provider_rule', by: 'the provider', rates }])
    expect(found.flags).toContain('rate_by_provider_rule')
    expect(found.assumptions.join()).toContain('a rule of the provider (the provider)')
  })

  test.each<[string, Partial<ProviderRule>, Stated, string]>([
    ['has no discount that is not stated', {}, { serviceTier: 'flex' }, '4.2'],
    ['has the discount stated for it', { flex_cache: '0.5' }, { serviceTier: 'flex' }, '4.1'],
    ['has not the discount of another tier', { batch_cache: '0.5' }, { serviceTier: 'flex' }, '4.2'],
    ['would cost more than its input costs as much', { cache_read: '0.7' }, { serviceTier: 'flex' }, '5'],
    ['has the surcharge of the tier', {}, { serviceTier: 'priority' }, '16.4'],
  ])('prices a tier whose cache %s', (_, stated, tier, cost) => {
    const found = priced(ruled([priceRow('model', '2', '8')], stated), {
      ...model,
      ...tier,
      cachedInputTokens: 1_000_000,
    })

    expect(found.cost).toBe(cost)
  })

  test('says nothing of a rate by which the call is not billed', () => {
    const batch = { input: '1', output: '4' }
    const reasoning = ruled([priceRow('model', '2', '8', { reasoning: '9', batch })])

    expect(priced(reasoning, { ...model, serviceTier: 'batch' })).toMatchObject({ flags: [], assumptions: [] })
    expect(priced(reasoning, { ...model, serviceTier: 'batch', reasoningTokens: 1 })).toMatchObject({
      flags: ['rate_by_provider_rule'],
      assumed: [{ from: 'provider_rule', by: 'the provider', rates: ['reasoning'] }],
    })
  })

  test('says nothing of a call that uses only listed rates', () => {
    expect(priced(file, model)).toEqual({
      cost: '10',
      flags: [],
      assumed: [],
      assumptions: [],
    })
  })

  test('never replaces a listed rate, nor completes a tier that is listed otherwise', () => {
    const listed = ruled([priceRow('model', '2', '8', { cache_read: '1', batch: { input: '1.5', output: '6' } })])

    expect(priced(listed, { ...model, cachedInputTokens: 1_000_000 })).toMatchObject({ cost: '9', assumed: [] })
    expect(priced(listed, { ...model, serviceTier: 'batch' })).toMatchObject({ cost: '7.5', assumed: [] })
    expect(priced(listed, { ...model, serviceTier: 'batch', cachedInputTokens: 1_000_000 })).toMatchObject({
      flags: ['cache_read_rate_missing'],
    })
  })

  test('is not used where the guard would refuse the rate', () => {
    const refused = ruled([priceRow('model', '2', '8')], { cache_read: '3', cache_write_1h: '24', batch: '5' })

    expect(priced(refused, { ...model, cachedInputTokens: 1_000_000 }).flags).toEqual(['cache_read_rate_missing'])
    expect(priced(refused, { ...model, cacheWrite1hTokens: 1_000_000 })).toMatchObject({
      cost: '10.5',
      flags: ['cache_write_1h_rate_missing', 'rate_by_provider_rule'],
    })
    expect(priced(refused, { ...model, serviceTier: 'batch' }).cost).toBe('no_batch_rate')
  })

  test('is of each factor the first that is stated for the model', () => {
    const rules = [
      { models: ['gpt-4o'], source: 'a', batch: '0.5' },
      { models: ['gpt-4*', 'o3'], source: 'b', batch: '0.6', cache_read: '0.1' },
    ]
    const of = (name: string) => {
      const { batch, cache_read } = ruleFor(rules, name)
      return [batch?.source, cache_read?.source]
    }

    expect(['GPT-4o', 'gpt-4o-mini', 'o3', 'o3-mini', 'gpt-5'].map(of)).toEqual([
      ['a', 'b'],
      ['b', 'b'],
      ['b', 'b'],
      [undefined, undefined],
      [undefined, undefined],
    ])
  })
})

test.each([
  ['openai', 'gpt-realtime-2.1', 'batch'],
  ['openai', 'gpt-4o-mini-transcribe', 'batch'],
  ['openai', 'gpt-4o-audio-preview', 'batch'],
  ['openai', 'gpt-5-search-api', 'flex'],
  ['openai', 'gpt-5.2-pro', 'flex'],
  ['azure', 'gpt-4o-mini-tts', 'batch'],
  ['bedrock', 'amazon.nova-2-sonic-v1:0', 'flex'],
  ['gemini', 'gemini-3.8-live', 'priority'],
  ['vertex_ai', 'gemini-live-2.5-flash-native-audio', 'batch'],
] as const)(
  'a rule does not reach what the provider does not offer: %s %s in %s',
  (provider, requestedModel, serviceTier) => {
    const book = loadPriceBook()
    const usual = priceInvocation(call({ provider, requestedModel }), book).details.basis
    expect(usual).toBe('price_book')
    const { basis, reason } = priceInvocation(call({ provider, requestedModel, serviceTier }), book).details
    expect({ basis, reason }).toEqual({ basis: 'unpriced', reason: `no_${serviceTier}_rate` })
  },
)

describe('the other name of a model', () => {
  const alias = priceRow('model-x', '2', '8', { cache_read: '0.5', flex: { input: '1', output: '4' } })
  const dated = priceRow('model-x-2026-05-01', '2', '8')
  const later = priceRow('model-x-2026-08-01', '2', '8', { cache_read: '0.2', priority: { input: '4', output: '16' } })

  test('gives a dated name what its alias lists, and an alias what its snapshots list, the last first', () => {
    const file = bookOf([alias, dated, later])

    expect(priced(file, { requestedModel: dated.model, serviceTier: 'flex' })).toMatchObject({
      cost: '5',
      flags: ['rate_of_alias'],
      assumed: [{ from: 'alias', by: 'model-x', rates: ['input', 'output'] }],
    })
    expect(priced(file, { requestedModel: 'model-x', serviceTier: 'priority' })).toMatchObject({
      cost: '20',
      flags: ['rate_of_snapshot'],
      assumed: [{ from: 'snapshot', by: later.model, rates: ['input', 'output'] }],
    })
  })

  test('comes after a rule, and counts only at the same price, provider and region', () => {
    const others = [
      { ...alias, output: '9' },
      { ...alias, provider: 'azure' },
      { ...alias, region: 'eu' },
    ]
    const cached = { requestedModel: dated.model, cachedInputTokens: 1_000_000 }

    expect(priced(ruled([alias, dated]), cached)).toMatchObject({ cost: '8.2', flags: ['rate_by_provider_rule'] })
    for (const other of others) {
      expect(priced(bookOf([other, dated]), cached).flags).toEqual(['cache_read_rate_missing'])
    }
  })

  test('brings no threshold back that was removed from the alias, and gives one that still holds', () => {
    const dated = { requestedModel: 'model-2026-01-01', inputTokens: 300_000, outputTokens: 0 }
    const tiers = [{ above: 200_000, input: '4', output: '16' }]
    const long = { from: '2025-01-01', to: '2026-03-01', price: { input: '2', output: '8', tiers } }
    const flat = { from: '2026-03-01', price: { input: '2', output: '8' } }
    const of = (alias: Partial<PriceRow>, ...periods: PriceBookFile['history'][number]['periods']) =>
      bookOf([priceRow('model', '2', '8', alias), priceRow('model-2026-01-01', '2', '8')], {
        history: [{ provider: 'openai', models: ['model'], periods }],
      })

    expect(priced(of({}, long, flat), dated).cost).toBe('0.6')
    expect(priced(of({ tiers }, { ...long, to: '2030-01-01' }), dated).cost).toBe('1.2')
  })

  test('is of a date in any form, and no other suffix', () => {
    const names = ['m-1', 'm-1-latest', 'm-1-20260501', 'm-1@20260501', 'm-1-2605', 'm-1-mini', 'v.m-1-20260501-v1:0']
    const rows = names.map((model) => ({ provider: 'p', model }))
    const of = relatives(rows)
    const others = (row: (typeof rows)[number]) => of(row).map(({ row: { model } }) => model)

    expect(rows.map(others)).toEqual([
      ['m-1@20260501', 'm-1-2605', 'm-1-20260501'],
      ['m-1@20260501', 'm-1-2605', 'm-1-20260501'],
      ['m-1', 'm-1-latest', 'm-1@20260501', 'm-1-2605'],
      ['m-1', 'm-1-latest', 'm-1-2605', 'm-1-20260501'],
      ['m-1', 'm-1-latest', 'm-1@20260501', 'm-1-20260501'],
      [],
      [],
    ])
  })
})

const USES: readonly NonNullable<Stated>[] = [
  {},
  { cachedInputTokens: 500_000 },
  { cacheWriteTokens: 300_000 },
  { cacheWrite1hTokens: 300_000 },
  { audioInputTokens: 1000, audioOutputTokens: 1000 },
  { imageInputTokens: 1000, imageOutputTokens: 1000 },
  { reasoningTokens: 400_000 },
  { webSearchCalls: 3 },
  { region: 'us' },
  { speed: 'fast' },
]
const TIERS = [undefined, 'batch', 'flex', 'priority'] as const
const tokens = [
  { inputTokens: 900_000, outputTokens: 500_000 },
  { inputTokens: 90_000, outputTokens: 50_000 },
]

/** What a price list knows of a call: its cost, or why it has none; and what it says that it does not know. */
function known(book: ReturnType<typeof priceBook>, stated: Stated) {
  const { costUsd, details } = priceInvocation(call(stated), book)
  return details.basis === 'unpriced' ? undefined : { costUsd, flags: details.price?.flags ?? [] }
}

function expectNoLess(book: ReturnType<typeof priceBook>, alias: PriceRow, dated: PriceRow, all = tokens): void {
  for (const use of USES) {
    for (const serviceTier of TIERS) {
      for (const counts of all) {
        const stated = { ...counts, ...use, provider: alias.provider, ...(serviceTier && { serviceTier }) }
        if (
          (use.cachedInputTokens ?? 0) + (use.cacheWriteTokens ?? 0) + (use.cacheWrite1hTokens ?? 0) >
          counts.inputTokens
        )
          continue
        if ((use.reasoningTokens ?? 0) > counts.outputTokens) continue
        const [ofAlias, ofDated] = [alias, dated].map(({ model }) => known(book, { ...stated, requestedModel: model }))
        if (ofAlias === undefined) continue
        expect(ofDated, `${dated.provider}/${dated.model} ${JSON.stringify(stated)}`).toBeDefined()
        const missing = (flags: readonly string[]) => flags.filter((flag) => /missing|unlisted/.test(flag))
        expect(missing(ofAlias.flags), `${dated.model} ${JSON.stringify(stated)}`).toEqual(
          expect.arrayContaining(missing(ofDated?.flags ?? [])),
        )
      }
    }
  }
}

test('a dated name of the book never knows less than its alias of the same price', () => {
  const file = loadPriceBookFile()
  const book = loadPriceBook()
  const of = relatives(file.models)
  const undated = new Set(file.history.flatMap(({ provider, models }) => models.map((model) => `${provider}/${model}`)))
  const pairs = file.models.flatMap((dated) =>
    of(dated)
      .filter(({ from, row }) => from === 'alias' && row.input === dated.input && row.output === dated.output)
      .map(({ row }) => ({ alias: row, dated })),
  )
  const compared = pairs.filter(
    ({ alias, dated }) =>
      alias.region === undefined && ![alias, dated].some(({ provider, model }) => undated.has(`${provider}/${model}`)),
  )

  expect(compared.length).toBeGreaterThan(30)
  for (const { alias, dated } of compared) expectNoLess(book, alias, dated, tokens.slice(0, 1))
})

test('a dated name never knows less than its alias of the same price, whatever each of them lists', () => {
  const rate = fc.integer({ min: 1, max: 9 }).map((tenths) => `0.${tenths}`)
  const facts = fc.record(
    {
      cache_read: rate,
      cache_write: fc.constant('1.25'),
      cache_write_1h: fc.constant('2'),
      audio_input: fc.constant('8'),
      audio_output: fc.constant('16'),
      batch: fc.record(
        { input: fc.constant('0.5'), output: fc.constant('2'), cache_read: fc.constantFrom('0.05', '0.5') },
        { requiredKeys: ['input', 'output'] },
      ),
      flex: fc.record({ input: fc.constant('0.5'), output: fc.constant('2') }),
      priority: fc.record({ input: fc.constant('2'), output: fc.constant('8') }),
      tiers: fc.constant([{ above: 200_000, input: '2', output: '8' }]),
      fees: fc.constant({ web_search: '0.01' }),
      multipliers: fc.constant({ us: '1.1', fast: '2' }),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(facts, facts, fc.boolean(), (ofAlias, ofDated, isRuled) => {
      const alias = priceRow('model-x', '1', '4', ofAlias)
      const dated = priceRow('model-x-2026-05-01', '1', '4', ofDated)
      expectNoLess(priceBook(isRuled ? ruled([alias, dated]) : bookOf([alias, dated])), alias, dated)
    }),
    { numRuns: drawn(25) },
  )
})
