import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PoolRule, StoredPool } from '../../../../internal/attribution/pools/pool.js'
import { allocationPolicy, type PooledCall, WatchedPools } from '../../../../internal/attribution/pools/pool-policy.js'

const pool = (name: string, rules: readonly PoolRule[], stated: Partial<StoredPool> = {}): StoredPool => ({
  id: `pool_${name}`,
  tenant_id: 'tnt_one',
  name,
  owner: `team-${name}`,
  priority: 100,
  rules,
  created_at: '2026-11-01T00:00:00.000Z',
  ...stated,
})
const call = (stated: Partial<PooledCall> = {}): PooledCall => ({
  provider: 'openai',
  ingestionLayer: 'proxy',
  principal: 'key_one',
  ...stated,
})
const taken = (pools: readonly StoredPool[], stated?: Partial<PooledCall>): string | undefined =>
  allocationPolicy(pools).allocate(call(stated))?.pool.name

describe('a pool rule', () => {
  test('matches calls that meet all its conditions', () => {
    const both = pool('both', [{ provider: 'openai', ingestion_layer: 'proxy' }])

    expect(taken([both])).toBe('both')
    expect(taken([both], { ingestionLayer: 'gateway' })).toBeUndefined()
    expect(taken([both], { provider: 'gemini' })).toBeUndefined()
    expect(taken([pool('key', [{ principal_id: 'key_one' }])])).toBe('key')
    expect(taken([pool('key', [{ principal_id: 'key_one' }])], { principal: 'key_two' })).toBeUndefined()
  })

  test('matches all names of a provider, and layers in either case', () => {
    const bedrock = pool('bedrock', [{ provider: 'aws.bedrock', ingestion_layer: 'Proxy' }])

    expect(taken([bedrock], { provider: 'Bedrock', ingestionLayer: 'PROXY' })).toBe('bedrock')
  })
})

describe('when several pools have a matching rule', () => {
  const first = pool('b', [{ provider: 'openai' }], { priority: 1 })
  const second = pool('a', [{ provider: 'openai' }])

  test('the pool with the lowest priority number applies, then the first by name', () => {
    expect(taken([second, first])).toBe('b')
    expect(taken([second, pool('c', [{ provider: 'openai' }])])).toBe('a')
  })

  test('the result does not depend on the order in which pools were added', () => {
    const rules = fc.array(
      fc.record({ provider: fc.constantFrom('openai', 'gemini') }, { requiredKeys: ['provider'] }),
      { minLength: 1, maxLength: 3 },
    )
    const pools = fc.uniqueArray(
      fc.record({ name: fc.string({ minLength: 1 }), priority: fc.nat({ max: 3 }), rules }),
      { selector: ({ name }) => name, maxLength: 8 },
    )
    fc.assert(
      fc.property(pools, (drawn) => {
        const all = drawn.map(({ name, priority, rules: of }) => pool(name, of, { priority }))

        expect(taken([...all].reverse())).toBe(taken(all))
      }),
    )
  })
})

test('watched pools hold the current policy of each tenant', () => {
  const watched = new WatchedPools()
  const one = pool('one', [{ provider: 'openai' }])

  expect(watched.of('tnt_one').allocate(call())).toBeUndefined()
  watched.apply(one.id, one)
  expect(watched.of('tnt_one').allocate(call())?.pool.name).toBe('one')
  expect(watched.of('tnt_one')).toBe(watched.of('tnt_one'))
  expect(watched.of('tnt_two').allocate(call())).toBeUndefined()
  watched.apply(one.id, { ...one, rules: [{ provider: 'gemini' }] })
  expect(watched.of('tnt_one').allocate(call())).toBeUndefined()
  watched.apply(one.id, undefined)
  expect(watched.of('tnt_one').allocate(call({ provider: 'gemini' }))).toBeUndefined()
})

test('a pool is tried, changed or removed, while the policy itself stays as it is', () => {
  const pools = new WatchedPools()
  pools.apply('pool_all', pool('all', [{ provider: 'openai' }]))
  const first = pool('first', [{ provider: 'openai' }], { priority: 1 })

  expect(pools.with('pool_first', first, 'tnt_one').allocate(call())?.pool.name).toBe('first')
  expect(pools.with('pool_all', undefined, 'tnt_one').allocate(call())).toBeUndefined()
  expect(pools.of('tnt_one').allocate(call())?.pool.name).toBe('all')
})
