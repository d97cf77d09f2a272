import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ByTenant } from '../../../internal/broker/by-tenant.js'

const TENANTS = ['tnt_a', 'tnt_b', 'tnt_c'] as const
const steps = fc.array(
  fc.tuple(fc.constantFrom('k1', 'k2', 'k3', 'k4'), fc.option(fc.constantFrom(...TENANTS), { nil: undefined })),
  { maxLength: 40 },
)

test('an index by tenant has each tenant’s latest records and no others', () => {
  fc.assert(
    fc.property(steps, (changes) => {
      const records = new ByTenant<{ tenant_id: string; key: string; step: number }>()
      const plain = new Map<string, { tenant_id: string; key: string; step: number }>()
      changes.forEach(([key, tenant_id], step) => {
        const record = tenant_id === undefined ? undefined : { tenant_id, key, step }
        records.follow(key, record)
        if (record === undefined) plain.delete(key)
        else plain.set(key, record)
      })

      for (const tenant of TENANTS) {
        const expected = [...plain.values()].filter(({ tenant_id }) => tenant_id === tenant)
        expect(new Set(records.of(tenant))).toEqual(new Set(expected))
        expect(records.countOf(tenant)).toBe(expected.length)
      }
      expect([...records.of('tnt_unknown')]).toEqual([])
    }),
  )
})

test('an index by tenant keeps insertion order: a changed record keeps its position, a re-created one is last', () => {
  const records = new ByTenant<{ tenant_id: string; name: string }>()
  for (const key of ['b', 'a', 'c']) records.follow(key, { tenant_id: 'tnt_a', name: key })

  records.follow('b', { tenant_id: 'tnt_a', name: 'changed' })
  records.follow('a', undefined)
  records.follow('a', { tenant_id: 'tnt_a', name: 'a' })

  expect([...records.of('tnt_a')].map(({ name }) => name)).toEqual(['changed', 'c', 'a'])
})
