import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ShownBy, shownUsage } from '../../../internal/reports/report-rows.js'
import type { AnswerRow } from '../../../internal/store/queries/reports/answer.js'
import { FIGURE_NAMES } from '../../../internal/store/queries/reports/figures.js'
import { formatQuantity, type Quantity } from '../../../internal/units/quantity.js'

const usd = (steps: bigint): string => formatQuantity(steps as Quantity<'USD'>)

/** Of the calls of one row. */
const calls = fc.array(
  fc.record({
    cost: fc.bigInt({ min: 0n, max: 10n ** 20n }),
    band: fc.constantFrom('ready', 'provisional', 'estimated'),
    isEligible: fc.boolean(),
    isUnattributed: fc.boolean(),
  }),
)
type Call = typeof calls extends fc.Arbitrary<(infer C)[]> ? C : never

const rowOf = (some: readonly Call[]): AnswerRow => {
  const costOf = (isMeant: (call: Call) => boolean): string =>
    usd(some.filter(isMeant).reduce((sum, { cost }) => sum + cost, 0n))
  const isEligible = ({ isEligible: can, band }: Call): boolean => can && band === 'ready'
  const isWithheld = (of: Call['band']) => (call: Call) => call.band === of && !isEligible(call) && !call.isUnattributed
  const figures = {
    ...Object.fromEntries(FIGURE_NAMES.map((name) => [name, '0'])),
    cost_usd: costOf(() => true),
    unattributed_cost_usd: costOf((call) => call.isUnattributed),
    eligible_cost_usd: costOf(isEligible),
    eligible_unattributed_cost_usd: costOf((call) => isEligible(call) && call.isUnattributed),
    withheld_ready_cost_usd: costOf(isWithheld('ready')),
    withheld_provisional_cost_usd: costOf(isWithheld('provisional')),
  } as AnswerRow['figures']
  return { interval: undefined, labels: [], isFolded: false, groups: 1, people: 9, figures }
}

const BY = {
  question: { groupBy: [], extras: [], period: { fromMs: 0, toMs: 1 } },
  totals: { rows: 1, costUsd: '1' },
  cohortMin: 5,
  cohortScope: 'all',
  isParent: false,
} as unknown as ShownBy

test('each call is in one part of its row: in that of its band unless it is eligible or nobody’s', () => {
  fc.assert(
    fc.property(calls, (some) => {
      const partOf = ({ band, isEligible, isUnattributed }: Call): string => {
        if (isEligible && band === 'ready') return 'eligible'
        if (isUnattributed) return 'unattributed'
        return band === 'ready' ? 'held_back' : band
      }
      const expected = { eligible: 0n, held_back: 0n, provisional: 0n, estimated: 0n, unattributed: 0n }
      for (const call of some) expected[partOf(call) as keyof typeof expected] += call.cost

      expect(shownUsage(rowOf(some), BY).cost_usd_by_trust).toEqual(
        Object.fromEntries(Object.entries(expected).map(([part, steps]) => [part, usd(steps)])),
      )
    }),
  )
})

test('no part is below nothing where shares of a pool are rounded apart', () => {
  const row = rowOf([{ cost: 5n, band: 'estimated', isEligible: false, isUnattributed: true }])
  const rounded = { ...row, figures: { ...row.figures, unattributed_cost_usd: usd(6n) } }

  expect(shownUsage(rounded, BY).cost_usd_by_trust).toMatchObject({ unattributed: usd(5n), estimated: '0' })
})
