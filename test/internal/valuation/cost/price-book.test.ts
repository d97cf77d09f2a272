import { expect, test } from 'vitest'
import { validateInvocation } from '../../../../internal/invocations/validate-invocation.js'
import {
  datedPrices,
  loadPriceBook,
  loadPriceBookFile,
  type PriceBookFile,
  priceBook,
  startMs,
} from '../../../../internal/valuation/cost/price-book.js'

const file: PriceBookFile = {
  as_of: '2026-09-23',
  providers: { bedrock: {}, openai: {}, azure: {} },
  models: [
    { provider: 'openai', model: 'gpt-4o', input: '2.5', output: '10' },
    { provider: 'azure', model: 'gpt-4o', input: '2.5', output: '10' },
    { provider: 'azure', model: 'gpt-4o', region: 'eu', input: '2.75', output: '11' },
    { provider: 'bedrock', model: 'amazon.nova-pro-v1:0', input: '0.8', output: '3.2' },
    { provider: 'bedrock', model: 'us.amazon.nova-pro-v1:0', input: '0.9', output: '3.3' },
    { provider: 'bedrock', model: 'amazon.nova-pro-v1:0', region: 'us-gov-west-1', input: '0.96', output: '3.84' },
  ],
  history: [],
  zero_priced: [{ provider: 'openai', model: 'preview' }],
  incomplete: [{ provider: 'openai', model: 'half' }],
  quarantined: [{ provider: 'wandb', model: 'huge' }],
}
const book = priceBook(file)

const find = (provider: string, model: string, region?: string) => {
  const found = book.find(provider, model, region)
  return found.kind === 'none' ? found.reason : [found.entry.model, found.entry.region, ...found.match]
}

test('a price book row for the region takes precedence over the row for all regions', () => {
  expect(find('azure', 'gpt-4o', 'EU')).toEqual(['gpt-4o', 'eu', 'exact'])
  expect(find('azure', 'azure/eu/gpt-4o')).toEqual(['gpt-4o', 'eu', 'prefix'])
  expect(find('bedrock', 'arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/amazon.nova-pro-v1:0')).toEqual([
    'amazon.nova-pro-v1:0',
    'us-gov-west-1',
    'prefix',
  ])
})

test('a region without a price book row uses the row for all regions, marked region_default', () => {
  expect(find('azure', 'gpt-4o', 'us')).toEqual(['gpt-4o', undefined, 'exact', 'region_default'])
})

test('an Azure deployment of an unstated kind has the price of a global one, marked region_unstated', () => {
  expect(find('azure', 'gpt-4o')).toEqual(['gpt-4o', undefined, 'exact', 'region_unstated'])
  expect(find('azure', 'prod/azure/gpt-4o')).toBe('unknown_model')
  // The plain id of Bedrock has a region: that of the account.
  expect(find('bedrock', 'amazon.nova-pro-v1:0')).toEqual(['amazon.nova-pro-v1:0', undefined, 'exact'])
})

test('a region is ignored when the provider has one price for all regions', () => {
  expect(find('openai', 'gpt-4o', 'westeurope')).toEqual(['gpt-4o', undefined, 'exact'])
})

test('a row of a region has dated prices of its own', () => {
  const periods = (input: string) => [
    { from: '2026-01-01', to: '2026-08-01', price: { input, output: '22' } },
    { from: '2026-08-01', price: { input: '2.75', output: '11' } },
  ]
  const history = [
    { provider: 'azure', models: ['gpt-4o'], region: 'EU', periods: periods('5.5') },
    { provider: 'azure', models: ['gpt-4o'], periods: periods('5') },
  ]
  const inputs = (region: string | undefined) => {
    const found = priceBook({ ...file, history }).find('azure', 'gpt-4o', region)
    return found.kind === 'none' ? [] : found.entry.periods.map(({ sheet }) => sheet.input)
  }

  expect(inputs('eu')).toEqual(['5.5', '2.75'])
  expect(inputs('us')).toEqual(['5', '2.75'])
})

test('at any time an Azure data zone costs what a global deployment costs, or up to 10 % more', () => {
  const { models, history } = loadPriceBookFile()
  const periodsOf = datedPrices(history)
  const included = loadPriceBook()
  const ratesAt = (model: string, region: string | undefined, atMs: number) => {
    const found = included.find('azure', model, region)
    const periods = found.kind === 'none' ? [] : found.entry.periods
    const { sheet } = periods.findLast(({ fromMs }) => fromMs <= atMs) ?? periods[0] ?? {}
    return ['input', 'output'].map((part) => Number(sheet?.[part as 'input' | 'output']))
  }
  const dated = models.filter(({ provider, model, region }) => {
    return provider === 'azure' && (region === 'eu' || region === 'us') && periodsOf({ provider, model }) !== undefined
  })
  const tried = dated.flatMap(({ provider, model, region }) =>
    (periodsOf({ provider, model }) ?? []).flatMap(({ from }) =>
      [startMs(from) - 1, startMs(from)].map((atMs) => {
        const [global, zone] = [ratesAt(model, undefined, atMs), ratesAt(model, region, atMs)]
        return { model, region, atMs, factors: zone.map((rate, at) => rate / (global[at] ?? 0)) }
      }),
    ),
  )

  expect(tried).not.toEqual([])
  expect(tried.filter(({ factors }) => !factors.every((factor) => factor > 0.9999 && factor < 1.1001))).toEqual([])
})

test('an inference profile uses its own row or else that of the plain model', () => {
  expect(find('bedrock', 'us.amazon.nova-pro-v1:0', 'us-east-1')).toEqual([
    'us.amazon.nova-pro-v1:0',
    undefined,
    'exact',
  ])
  expect(find('bedrock', 'eu.amazon.nova-pro-v1:0')).toEqual(['amazon.nova-pro-v1:0', undefined, 'profile_stripped'])
})

test('a model name that only starts like a listed model is not found', () => {
  expect(['gpt-4', 'gpt-4o-mini', 'gpt-4oo', 'xgpt-4o'].map((model) => find('openai', model))).toEqual(
    Array(4).fill('unknown_model'),
  )
})

test('a model of another provider is not found', () => {
  expect(find('bedrock', 'gpt-4o')).toBe('unknown_model')
})

test('each failed price look-up has a reason', () => {
  expect(find('acme', 'gpt-4o')).toBe('unknown_provider')
  expect(find('openai', 'preview')).toBe('zero_priced')
  expect(find('openai', 'half')).toBe('incomplete_price')
  expect(find('wandb', 'huge')).toBe('quarantined_price')
  expect(find('bedrock', 'arn:aws:bedrock:us-east-1:1:application-inference-profile/x')).toBe('opaque_profile')
})

test('a price book with a rate that cannot be held exactly is rejected', () => {
  const wrong = { ...file, models: [{ provider: 'openai', model: 'x', input: '1e-6', output: '1' }] }

  expect(() => priceBook(wrong)).toThrow(/cannot be held exactly/)
})

test('every row of the built-in price book is found under its own name', () => {
  const shipped = loadPriceBook()

  expect(shipped.asOf).toMatch(/^\d{4}-\d\d-\d\d$/)
  expect(shipped.find('openai', 'gpt-4o-2024-08-06', undefined)).toMatchObject({ kind: 'entry', match: ['exact'] })
})

test('a free variant of OpenRouter is a known zero, and never the paid row of the same model', () => {
  const paid = { provider: 'openrouter', model: 'z-ai/glm-5', input: '0.6', output: '2.2' }
  const ofRouter = priceBook({ ...file, providers: { openrouter: {} }, models: [...file.models, paid] })
  const inputRate = (model: string) => {
    const found = ofRouter.find('openrouter', model, undefined)
    return found.kind === 'entry' ? found.entry.periods[0]?.sheet.input : found.reason
  }

  expect(inputRate('z-ai/glm-5')).toBe('0.6')
  expect(inputRate('z-ai/GLM-5:free')).toBe('0')
  expect(inputRate('z-ai/glm-6:free')).toBe('0')
  expect(inputRate('z-ai/glm-6')).toBe('unknown_model')
})

test('a period of a price begins and ends at an instant where one is stated, and at midnight UTC of a day', () => {
  const periods = [
    { from: '2026-04-24', to: '2026-08-16T16:00:00Z', price: { input: '1', output: '2' } },
    { from: '2026-08-16T16:00:00Z', price: { input: '2', output: '4' } },
  ]
  const dated = priceBook({
    ...file,
    models: [{ provider: 'openai', model: 'm', input: '2', output: '4' }],
    history: [{ provider: 'openai', models: ['m'], periods }],
  })

  const found = dated.find('openai', 'm', undefined)
  if (found.kind === 'none') throw new Error(found.reason)
  expect(found.entry.periods.map(({ fromMs, toMs }) => [fromMs, toMs])).toEqual([
    [Date.UTC(2026, 3, 24), Date.UTC(2026, 7, 16, 16)],
    [Date.UTC(2026, 7, 16, 16), Number.POSITIVE_INFINITY],
  ])
})

test('every model of the built-in book has a name that an event can state', () => {
  const event = {
    event_id: '8f14e45f-ceea-4e7a-9c1b-1e0f2a3b4c5d',
    ingestion_layer: 'gateway',
    ingestion_timestamp: '2026-11-03T12:00:00Z',
  }
  const refused = loadPriceBookFile().models.filter(
    ({ provider, model }) =>
      !validateInvocation({ ...event, provider, requested_model: model }, Date.UTC(2026, 10, 3, 12)).ok,
  )

  expect(refused.map(({ provider, model }) => `${provider}/${model}`)).toEqual([])
})
