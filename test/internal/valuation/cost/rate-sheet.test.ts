import { expect, test } from 'vitest'
import {
  billedAs,
  cliffOf,
  isRate,
  type RateSheet,
  ratesOf,
  stepsPerToken,
} from '../../../../internal/valuation/cost/rate-sheet.js'

const tiered: RateSheet = {
  input: '2',
  output: '8',
  cache_read: '0.5',
  batch: { input: '1', output: '4' },
  priority: { input: '3', output: '9', cache_read: '0.75' },
  tiers: [{ above: 200_000, input: '4', output: '12', priority: { input: '6', output: '15' } }],
}

test('a price threshold applies strictly above it, or at it and above if it is inclusive', () => {
  expect([199_999, 200_000, 200_001].map((tokens) => cliffOf(tiered, tokens, false))).toEqual([-1, -1, 0])
  expect([199_999, 200_000, 200_001].map((tokens) => cliffOf(tiered, tokens, true))).toEqual([-1, 0, 0])
})

test('price bands exclude their lower bound and include their upper bound', () => {
  const banded: RateSheet = {
    bands: [
      { over: 0, up_to: 32_000 },
      { over: 32_000, up_to: 128_000 },
    ],
  }

  expect([0, 1, 32_000, 32_001, 128_000, 128_001].map((tokens) => cliffOf(banded, tokens, false))).toEqual([
    0, 0, 0, 1, 1, 1,
  ])
})

test('a cliff replaces the rates it lists and keeps the others', () => {
  expect(ratesOf(tiered, 'standard', 0)).toMatchObject({ rates: { input: '4', output: '12', cache_read: '0.5' } })
})

test('a one-hour cache write changes with the five-minute one at a cliff', () => {
  const base = { input: '3', output: '15', cache_write: '3.75', cache_write_1h: '6' }
  const beyond = (tier: object) => ratesOf({ ...base, tiers: [{ above: 200_000, input: '6', ...tier }] }, 'standard', 0)

  expect(beyond({ cache_write: '7.5' })).toMatchObject({ rates: { cache_write: '7.5' } })
  expect(beyond({ cache_write: '7.5' })).not.toHaveProperty('rates.cache_write_1h')
  expect(beyond({ cache_write: '7.5', cache_write_1h: '12' })).toHaveProperty('rates.cache_write_1h', '12')
  expect(beyond({})).toHaveProperty('rates.cache_write_1h', '6')
})

test('a reasoning rate equal to the output rate moves with the output rate', () => {
  const sheet: RateSheet = { input: '1', output: '8', reasoning: '8', tiers: [{ above: 10, output: '12' }] }

  expect(ratesOf(sheet, 'standard', 0)).toMatchObject({ rates: { input: '1', output: '12' } })
  expect(ratesOf({ ...sheet, reasoning: '3' }, 'standard', 0)).toMatchObject({
    rates: { output: '12', reasoning: '3' },
  })
})

test('a service tier has only the rates listed for it', () => {
  expect(ratesOf(tiered, 'batch', -1)).toEqual({
    kind: 'rates',
    rates: { input: '1', output: '4' },
    assumed: {},
    tier: 'batch',
    isCliffUnlisted: false,
  })
  expect(ratesOf(tiered, 'batch', 0)).toEqual({
    kind: 'rates',
    rates: { input: '1', output: '4' },
    assumed: {},
    tier: 'batch',
    isCliffUnlisted: true,
  })
  expect(ratesOf(tiered, 'priority', 0)).toEqual({
    kind: 'rates',
    rates: { input: '6', output: '15' },
    assumed: {},
    tier: 'priority',
    isCliffUnlisted: false,
  })
  expect(ratesOf(tiered, 'flex', -1)).toEqual({ kind: 'none', tier: 'flex' })
  expect(ratesOf({ ...tiered, flex: { input: '1' } }, 'flex', -1)).toEqual({ kind: 'none', tier: 'flex' })
})

test('a part without a rate is billed at the next rate of its chain', () => {
  expect(billedAs('cache_read', { input: '1', output: '2' })).toBe('input')
  expect(billedAs('cache_write', { input: '1', output: '2', cache_write: '0' })).toBe('input')
  expect(billedAs('cache_write_1h', { input: '1', output: '2', cache_write: '1.25' })).toBe('cache_write')
  expect(billedAs('cache_write_1h', { input: '1', output: '2', cache_write: '0.0' })).toBe('input')
  expect(billedAs('reasoning', { input: '1', output: '2' })).toBe('output')
  expect(billedAs('audio_cache_read', { input: '1', output: '2', cache_read: '0.5' })).toBe('cache_read')
})

test('a rate per million tokens is a whole number of steps per token', () => {
  expect(stepsPerToken('2.5', [])).toBe(2_500_000_000_000n)
  expect(stepsPerToken('0.003625', ['1.1'])).toBe(3_987_500_000n)
  expect(stepsPerToken('0.000000000001', [])).toBe(1n)
  expect(stepsPerToken('0.000000000001', ['1.1'])).toBeUndefined()
})

test('a rate is a plain decimal', () => {
  expect(['0', '12.5', '0.000000000001'].every(isRate)).toBe(true)
  expect(['', '-1', '1e3', '.5', '0.0000000000001'].some(isRate)).toBe(false)
})

test('a variant of a tier has its own rates if they are listed, else those of the tier', () => {
  const flex = { input: '1', output: '4' }
  const sheet: RateSheet = { input: '2', output: '8', flex }

  expect(ratesOf(sheet, 'flex_discount', -1)).toMatchObject({ tier: 'flex', rates: flex })
  expect(ratesOf({ ...sheet, flex_discount: { input: '0.5', output: '2' } }, 'flex_discount', -1)).toMatchObject({
    tier: 'flex_discount',
    rates: { input: '0.5', output: '2' },
  })
  expect(ratesOf(sheet, 'scale', -1)).toMatchObject({ tier: 'standard', rates: { input: '2', output: '8' } })
  expect(ratesOf(sheet, 'priority_on_demand', -1)).toEqual({ kind: 'none', tier: 'priority' })
})
