import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  chargedToNobody,
  chargeShown,
  confidenceShown,
  notCharged,
  peopleShown,
  smallGroupsShown,
  trustOfAll,
  trustPartOf,
} from '../../../../internal/console/figures/trust.js'
import { CONFIDENCE_BANDS, EXPORT_ELIGIBILITIES } from '../../../../internal/records/interpretation.js'
import { formatQuantity, parseSum, sum } from '../../../../internal/units/quantity.js'

const added = (amounts: readonly string[]): string => formatQuantity(sum(amounts.map((text) => parseSum<'USD'>(text))))
const amount = fc.bigInt({ min: 0n, max: 10n ** 24n }).map((steps) => formatQuantity(steps as never))
const rows = fc.array(
  fc
    .record({ eligible: amount, held_back: amount, provisional: amount, estimated: amount, unattributed: amount })
    .map((trust) => ({
      cost_usd_by_trust: trust,
      cost_usd: added(Object.values(trust)),
      unattributed_cost_usd: trust.unattributed,
    })),
)

test('what can be charged and what is not charged add up to the cost, as the parts of trust do', () => {
  fc.assert(
    fc.property(rows, (some) => {
      const trust = trustOfAll(some)
      const cost = added(some.map((row) => row.cost_usd))

      expect(added(Object.values(trust))).toBe(cost)
      expect(added([trust.eligible, ...some.map(notCharged)])).toBe(cost)
    }),
  )
})

test('what is charged although nobody owns it is unattributed, and in the part that can be charged', () => {
  const trust = { eligible: '7', held_back: '0', provisional: '0', estimated: '0', unattributed: '3' }

  expect(chargedToNobody([{ cost_usd: '10', cost_usd_by_trust: trust, unattributed_cost_usd: '5' }])).toBe('2')
})

test('a call is ready to be charged, and filled, if it is eligible alone', () => {
  for (const band of CONFIDENCE_BANDS) {
    for (const eligibility of EXPORT_ELIGIBILITIES) {
      const call = { confidence: 0.9, confidence_band: band, export_eligibility: eligibility }

      expect(trustPartOf(call) === 'eligible').toBe(eligibility === 'eligible')
      expect(chargeShown(call).includes('not charged back')).toBe(eligibility !== 'eligible')
      if (eligibility !== 'eligible') expect(chargeShown(call)).not.toContain('ready')
    }
  }
  const call = { confidence: 0.95, confidence_band: 'chargeback_ready', export_eligibility: 'disputed' }
  expect([trustPartOf(call), chargeShown(call)]).toEqual(['held_back', 'not charged back: disputed'])
})

test('a confidence below the floor does not read as the floor', () => {
  expect([0.7999, 0.8, 0.95, 0.29, 0].map(confidenceShown)).toEqual(['0.79', '0.80', '0.95', '0.29', '0.00'])
})

test('a folded row says nothing of its groups that its people contradict', () => {
  expect(smallGroupsShown(2, 5)).toBe('2 shown together, at least one of fewer than 5 people')
  expect(smallGroupsShown(1, 10)).toBe('one, of fewer than 10 people')
})

test('people who are not shown are few, or are not counted where cost objects are always named', () => {
  const scope = { min_cohort: 5, cohort_scope: 'all' } as Parameters<typeof peopleShown>[1]

  expect(peopleShown({ people: 1_204 }, scope)).toBe('1,204')
  expect(peopleShown({ people: null }, scope)).toBe('fewer than 5')
  expect(peopleShown({ people: null }, { ...scope, cohort_scope: 'people' })).toBe('–')
})
