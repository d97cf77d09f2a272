import { expect, test } from 'vitest'
import { trailingWeights, WINDOW_MS, weightsInstant } from '../../../internal/allocation/trailing-weights.js'

const HOUR_MS = 3_600_000
const NOON = Date.UTC(2026, 10, 3, 12)

test('the weights of an hour hold from five minutes after its end', () => {
  expect(weightsInstant(NOON + 5 * 60_000 - 1)).toBe(NOON - HOUR_MS)
  expect(weightsInstant(NOON + 5 * 60_000)).toBe(NOON)
  expect(weightsInstant(NOON + HOUR_MS)).toBe(NOON)
})

test('they are worked out once an hour and tenant, of the thirty days before, under a name of their own', async () => {
  const asked: unknown[] = []
  const kept: unknown[] = []
  const weightsAsOf = trailingWeights({
    costsOf: async (tenantId, window) => {
      asked.push([tenantId, window])
      return { costs: [{ service: 'search', owner: 'team', costSteps: 1n, people: [] }], totalSteps: 2n }
    },
    keep: async (rows, token) => void kept.push([token, rows]),
  })
  const at = NOON + 10 * 60_000

  expect(await weightsAsOf('tnt_one', at)).toBe(NOON)
  expect(await weightsAsOf('tnt_one', at + 60_000)).toBe(NOON)
  expect(await weightsAsOf('tnt_two', at)).toBe(NOON)

  const window = { fromMs: NOON - WINDOW_MS, toMs: NOON }
  expect(asked).toEqual([
    ['tnt_one', window],
    ['tnt_two', window],
  ])
  const half = 500_000_000_000_000_000n
  expect(kept[0]).toEqual([
    `weights.tnt_one.${NOON}`,
    [
      { tenantId: 'tnt_one', asOfMs: NOON, service: 'search', owner: 'team', weightSteps: half, isShown: true },
      { tenantId: 'tnt_one', asOfMs: NOON, service: '', owner: '', weightSteps: half, isShown: true },
    ],
  ])
})

test('weights that could not be kept are worked out again', async () => {
  let attempts = 0
  const weightsAsOf = trailingWeights({
    costsOf: async () => ({ costs: [], totalSteps: 0n }),
    async keep() {
      attempts += 1
      if (attempts === 1) throw new Error('away')
    },
  })

  await expect(weightsAsOf('tnt_one', NOON)).rejects.toThrow('away')
  await weightsAsOf('tnt_one', NOON)
  expect(attempts).toBe(2)
})

test('a weight that tells of one to four people is not shown, and neither is what it could be told by', async () => {
  const people = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
  const cost = (service: string, of: readonly number[]) => ({ service, owner: 'team', costSteps: 1n, people: of })
  const shown: Record<string, boolean> = {}
  const weightsAsOf = trailingWeights({
    costsOf: async () => ({
      costs: [cost('a', people(1, 9)), cost('b', people(10, 12)), cost('c', people(13, 18)), cost('job', [])],
      totalSteps: 5n,
    }),
    keep: async (rows) => {
      for (const { service, isShown } of rows) shown[service] = isShown
    },
  })

  await weightsAsOf('tnt_one', NOON)

  expect(shown).toEqual({ a: true, b: false, c: false, job: true, '': true })
})
