import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ByTenant } from '../../../internal/broker/by-tenant.js'

const TENANTS = ['tnt_a', 'tnt_b', 'tnt_c'] as const
const steps = fc.array(
  fc.tuple(fc.constantFrom('k1', 'k2', 'k3', 'k4'), fc.option(fc.constantFrom(...TENANTS), { nil: undefined })),
  { maxLength: 40 },
)

test('each tenant has the records that are there last, and nobody else’s', () => {
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
