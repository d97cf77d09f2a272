import { expect, test } from 'vitest'
import { pricedCall } from '../../../bench/prices/priced-call.js'
import { priceBook } from '../../../internal/valuation/cost/price-book.js'

const BOOK = priceBook({
  as_of: '2026-11-01',
  providers: { openai: {} },
  models: [
    {
      ...{ provider: 'openai', model: 'gpt-a', input: '2', output: '8', cache_read: '0.5', cache_write: '2.5' },
      ...{ cache_write_1h: '4', audio_input: '40', audio_output: '80', batch: { input: '1', output: '4' } },
    },
  ],
  ...{ history: [], zero_priced: [], incomplete: [], quarantined: [] },
})
const AT_MS = Date.parse('2026-11-27T12:00:00Z')
const priced = (usage: Parameters<typeof pricedCall>[0]['usage'], rest: object = {}) =>
  pricedCall({ provider: 'openai', requestedModel: 'gpt-a', usage, ...rest }, BOOK, AT_MS)

test.each([
  [{ input: 100_000, output: 10_000 }, '0.28'],
  [{ input: 100_000, output: 0, cacheRead: 100_000 }, '0.05'],
  [{ input: 100_000, output: 0, cacheWrite5m: 100_000 }, '0.25'],
  [{ input: 100_000, output: 0, cacheWrite1h: 100_000 }, '0.4'],
  [{ input: 10_000, output: 0, audioInput: 10_000 }, '0.4'],
  [{ input: 0, output: 10_000, audioOutput: 10_000 }, '0.8'],
])('%o costs %s', (usage, usd) => {
  expect(priced(usage).text).toBe(usd)
})

test('a call has the price of its tier by its served name, or says why it has none', () => {
  const usage = { input: 100_000, output: 10_000 }

  expect(priced(usage, { servedModel: 'gpt-a-2026-01-01', tier: 'batch' })).toMatchObject({ usd: 0.14, text: '0.14' })
  expect(priced(usage, { tier: 'flex' })).toEqual({ usd: undefined, text: '0', remarks: ['no_flex_rate'] })
})

test('an event that the gateway refuses has no price', () => {
  expect(priced({ input: -1, output: 0 })).toEqual({ usd: undefined, text: '0', remarks: ['refused'] })
})
