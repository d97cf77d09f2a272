import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Shares } from '../../../internal/http/shares.js'

const AMOUNT = 1_000

const asked = fc.record({
  tenantId: fc.constantFrom('tnt_a', 'tnt_b', 'tnt_c', null),
  principal: fc.constantFrom('key_1', 'key_2', undefined),
  amount: fc.integer({ min: 1, max: 400 }),
})

test('whatever others hold, one who holds nothing gets half of what is left, and a credential a third', () => {
  fc.assert(
    fc.property(fc.array(asked), (all) => {
      const shares = new Shares(AMOUNT)
      let held = 0
      for (const { tenantId, principal, amount } of all) {
        if (shares.hold(amount, tenantId, principal)) held += amount
      }
      const half = Math.floor((AMOUNT - held) / 2)

      expect(held).toBeLessThan(AMOUNT)
      expect(half).toBeGreaterThan(0)
      expect(shares.hold(half, 'tnt_new')).toBe(true)
      shares.release(half, 'tnt_new')
      expect(shares.hold(Math.floor((AMOUNT - held) / 3), 'tnt_new', 'key_1')).toBe(true)
    }),
  )
})

test('nobody holds more than is left for the others', () => {
  fc.assert(
    fc.property(fc.array(asked), (all) => {
      const shares = new Shares(AMOUNT)
      const heldOf = new Map<string | null, number>()
      let held = 0
      for (const { tenantId, principal, amount } of all) {
        if (!shares.hold(amount, tenantId, principal)) continue
        held += amount
        heldOf.set(tenantId, (heldOf.get(tenantId) ?? 0) + amount)
        expect(heldOf.get(tenantId)).toBeLessThanOrEqual(AMOUNT - held)
      }
    }),
  )
})

test('what is given back can be had again by others', () => {
  fc.assert(
    fc.property(fc.array(asked), (all) => {
      const shares = new Shares(AMOUNT)
      const taken = all.filter(({ amount, tenantId, principal }) => shares.hold(amount, tenantId, principal))
      for (const { amount, tenantId, principal } of taken) shares.release(amount, tenantId, principal)

      expect(shares.hold(AMOUNT / 2, 'tnt_a')).toBe(true)
    }),
  )
})
