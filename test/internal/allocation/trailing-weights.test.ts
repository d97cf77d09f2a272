import { describe, expect, test } from 'vitest'
import { trailingWeights, WINDOW_MS, weightsInstant } from '../../../internal/allocation/trailing-weights.js'

const HOUR_MS = 3_600_000
const RETRY_MS = 5 * 60_000
const NOON = Date.UTC(2026, 10, 3, 12)
const failed = (_tenantId: string, _asOfMs: number, cause: unknown) => {
  throw cause
}

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
    failed,
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

describe('weights that cannot be worked out or kept', () => {
  const failing = (fails: (asOfMs: number) => boolean) => {
    const attempts: number[] = []
    const told: unknown[] = []
    const weightsAsOf = trailingWeights({
      costsOf: async () => ({ costs: [], totalSteps: 0n }),
      async keep([row]) {
        attempts.push(row?.asOfMs ?? 0)
        if (fails(row?.asOfMs ?? 0)) throw new Error('refused')
      },
      failed: (...failure) => told.push(failure),
    })
    return { attempts, told, weightsAsOf }
  }

  test('are told of, and tried again five minutes later', async () => {
    let isAway = true
    const { attempts, told, weightsAsOf } = failing(() => isAway)

    expect(await weightsAsOf('tnt_one', NOON)).toBeUndefined()
    expect(await weightsAsOf('tnt_one', NOON + RETRY_MS - 1)).toBeUndefined()
    isAway = false
    expect(await weightsAsOf('tnt_one', NOON + RETRY_MS)).toBe(NOON)

    expect(attempts).toHaveLength(2)
    expect(told).toEqual([['tnt_one', NOON - HOUR_MS, new Error('refused')]])
  })

  test('leave the last ones in their place', async () => {
    const { weightsAsOf } = failing((asOfMs) => asOfMs > NOON)

    await weightsAsOf('tnt_one', NOON + HOUR_MS)

    expect(await weightsAsOf('tnt_one', NOON + 2 * HOUR_MS)).toBe(NOON)
    expect(await weightsAsOf('tnt_one', NOON + 2 * HOUR_MS + RETRY_MS)).toBe(NOON)
  })

  test('are those whose parts are more than their total, too', async () => {
    const told: unknown[] = []
    const weightsAsOf = trailingWeights({
      costsOf: async () => ({ costs: [{ service: 'a', owner: 'b', costSteps: 2n, people: [] }], totalSteps: 1n }),
      keep: async () => undefined,
      failed: (_tenantId, _asOfMs, cause) => told.push(cause),
    })

    expect(await weightsAsOf('tnt_one', NOON)).toBeUndefined()
    expect(told).toEqual([new RangeError('the parts are more than their total')])
  })
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
    failed,
  })

  await weightsAsOf('tnt_one', NOON)

  expect(shown).toEqual({ a: true, b: false, c: false, job: true, '': true })
})
