import { describe, expect, test, vi } from 'vitest'
import {
  type TrailingWeightsDeps,
  trailingWeights,
  weightsInstant,
} from '../../../../internal/attribution/pools/trailing-weights.js'
import { WEIGHT_WINDOW_MS } from '../../../../internal/records/allocation-weights.js'

const HOUR_MS = 3_600_000
const RETRY_MS = 5 * 60_000
const NOON = Date.UTC(2026, 10, 3, 12)
const failed = (_tenantId: string, _asOfMs: number, cause: unknown) => {
  throw cause
}

test('the pool weights of an hour apply from five minutes after its end', () => {
  expect(weightsInstant(NOON + 5 * 60_000 - 1)).toBe(NOON - HOUR_MS)
  expect(weightsInstant(NOON + 5 * 60_000)).toBe(NOON)
  expect(weightsInstant(NOON + HOUR_MS)).toBe(NOON)
})

const lastKept = async () => undefined
const NO_COSTS: TrailingWeightsDeps['costsOf'] = async () => ({ costs: [], totalSteps: 0n })

/** A promise and the function that resolves it. */
function gate() {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

test('pool weights are computed once per hour and tenant, from the previous 30 days, with a unique name', async () => {
  const asked: unknown[] = []
  const kept: unknown[] = []
  const weightsAsOf = trailingWeights({
    costsOf: async (tenantId, window) => {
      asked.push([tenantId, window])
      return { costs: [{ service: 'search', owner: 'team', costSteps: 1n, isShown: true }], totalSteps: 2n }
    },
    keep: async (rows, token) => void kept.push([token, rows]),
    lastKept,
    failed,
  })
  const at = NOON + 10 * 60_000

  await vi.waitFor(async () => expect(await weightsAsOf('tnt_one', at)).toBe(NOON))
  expect(await weightsAsOf('tnt_one', at + 60_000)).toBe(NOON)
  await vi.waitFor(async () => expect(await weightsAsOf('tnt_two', at)).toBe(NOON))

  const window = { fromMs: NOON - WEIGHT_WINDOW_MS, toMs: NOON }
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

describe('while pool weights are computed', () => {
  test('the previous weights are returned at once, and one computation serves all callers', async () => {
    const { open, opened } = gate()
    let runs = 0
    const weightsAsOf = trailingWeights({
      async costsOf() {
        runs++
        await opened
        return { costs: [], totalSteps: 0n }
      },
      keep: async () => undefined,
      lastKept: async (_tenantId, byMs) => byMs - HOUR_MS,
      failed,
    })

    const asked = await Promise.all([1, 2, 3].map(() => weightsAsOf('tnt_one', NOON + RETRY_MS)))
    open()

    expect(asked).toEqual([NOON - HOUR_MS, NOON - HOUR_MS, NOON - HOUR_MS])
    await vi.waitFor(async () => expect(await weightsAsOf('tnt_one', NOON + RETRY_MS)).toBe(NOON))
    expect(runs).toBe(1)
  })

  test('a tenant without previous weights has none', async () => {
    const costsOf = () => new Promise<never>(() => undefined)
    const weightsAsOf = trailingWeights({ costsOf, keep: async () => undefined, lastKept, failed })

    expect(await weightsAsOf('tnt_one', NOON)).toBeUndefined()
    expect(await weightsAsOf('tnt_one', NOON)).toBeUndefined()
  })

  test('other tenants wait: two are computed at a time', async () => {
    const { open, opened } = gate()
    const begun: string[] = []
    const weightsAsOf = trailingWeights({
      async costsOf(tenantId) {
        begun.push(tenantId)
        await opened
        return { costs: [], totalSteps: 0n }
      },
      keep: async () => undefined,
      lastKept,
      failed,
    })

    for (const tenantId of ['a', 'b', 'c', 'd']) await weightsAsOf(tenantId, NOON)
    expect(begun).toEqual(['a', 'b'])
    open()

    await vi.waitFor(() => expect(begun).toEqual(['a', 'b', 'c', 'd']))
  })
})

test('pool weights that another process has stored for the hour are not computed again', async () => {
  const looked: unknown[] = []
  const weightsAsOf = trailingWeights({
    costsOf: () => Promise.reject(new Error('asked for the costs')),
    keep: async () => undefined,
    async lastKept(...asked) {
      looked.push(asked)
      return NOON
    },
    failed,
  })

  expect(await weightsAsOf('tnt_one', NOON + RETRY_MS)).toBe(NOON)
  expect(await weightsAsOf('tnt_one', NOON + HOUR_MS)).toBe(NOON)
  expect(looked).toEqual([['tnt_one', NOON]])
})

describe('pool weights that cannot be computed or stored', () => {
  const failing = (fails: (asOfMs: number) => boolean) => {
    const attempts: number[] = []
    const told: unknown[] = []
    const weightsAsOf = trailingWeights({
      costsOf: NO_COSTS,
      async keep([row]) {
        attempts.push(row?.asOfMs ?? 0)
        if (fails(row?.asOfMs ?? 0)) throw new Error('refused')
      },
      lastKept,
      failed: (...failure) => told.push(failure),
    })
    return { attempts, told, weightsAsOf }
  }

  test('are logged, and retried five minutes later', async () => {
    let isAway = true
    const { attempts, told, weightsAsOf } = failing(() => isAway)

    expect(await weightsAsOf('tnt_one', NOON)).toBeUndefined()
    await vi.waitFor(() => expect(told).toEqual([['tnt_one', NOON - HOUR_MS, new Error('refused')]]))
    expect(await weightsAsOf('tnt_one', NOON + RETRY_MS - 1)).toBeUndefined()
    isAway = false
    await vi.waitFor(async () => expect(await weightsAsOf('tnt_one', NOON + RETRY_MS)).toBe(NOON))

    expect(attempts).toHaveLength(2)
    expect(told).toHaveLength(1)
  })

  test('leave the previous weights in use', async () => {
    const { told, weightsAsOf } = failing((asOfMs) => asOfMs > NOON)

    await vi.waitFor(async () => expect(await weightsAsOf('tnt_one', NOON + HOUR_MS)).toBe(NOON))

    expect(await weightsAsOf('tnt_one', NOON + 2 * HOUR_MS)).toBe(NOON)
    await vi.waitFor(() => expect(told).toHaveLength(1))
    expect(await weightsAsOf('tnt_one', NOON + 2 * HOUR_MS + RETRY_MS)).toBe(NOON)
  })

  test('include weights whose parts exceed their total', async () => {
    const told: unknown[] = []
    const weightsAsOf = trailingWeights({
      costsOf: async () => ({ costs: [{ service: 'a', owner: 'b', costSteps: 2n, isShown: true }], totalSteps: 1n }),
      keep: async () => undefined,
      lastKept,
      failed: (_tenantId, _asOfMs, cause) => told.push(cause),
    })

    expect(await weightsAsOf('tnt_one', NOON)).toBeUndefined()
    await vi.waitFor(() => expect(told).toEqual([new RangeError('the parts are more than their total')]))
  })

  test('are absent until the next attempt if the stored ones cannot be read', async () => {
    const told: unknown[] = []
    let isAway = true
    const weightsAsOf = trailingWeights({
      costsOf: () => new Promise(() => undefined),
      keep: async () => undefined,
      async lastKept(_tenantId, byMs) {
        if (isAway) throw new Error('unavailable')
        return byMs
      },
      failed: (...failure) => told.push(failure),
    })

    expect(await weightsAsOf('tnt_one', NOON)).toBeUndefined()
    isAway = false
    expect(await weightsAsOf('tnt_one', NOON + RETRY_MS - 1)).toBeUndefined()
    expect(await weightsAsOf('tnt_one', NOON + RETRY_MS)).toBe(NOON)
    expect(told).toEqual([['tnt_one', NOON - HOUR_MS, new Error('unavailable')]])
  })
})
