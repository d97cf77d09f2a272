import type { CostByTrust, ReportScope } from 'attribution-service/sdk/api'
import { formatDifference, formatQuantity, parseSum, type Quantity, sum } from '../../units/quantity.js'
import { countShown } from './shown.js'
import type { UsageRow } from './usage.js'
import { wordOf } from './words.js'

/** How far the money of a row can be trusted: parts that add up to its cost. The first is what a chargeback file has. */
export type Trust = CostByTrust
export type TrustPart = keyof Trust
export const TRUST_PARTS = [
  'eligible',
  'held_back',
  'provisional',
  'estimated',
  'unattributed',
] as const satisfies readonly TrustPart[]

type Trusted = Pick<UsageRow, 'cost_usd_by_trust' | 'cost_usd' | 'unattributed_cost_usd'>
type Usd = Quantity<'USD'>
const usd = (text: string): Usd => parseSum<'USD'>(text)

/** The parts of several rows together. */
export const trustOfAll = (rows: readonly Trusted[]): Trust => ({
  eligible: partOfAll(rows, 'eligible'),
  held_back: partOfAll(rows, 'held_back'),
  provisional: partOfAll(rows, 'provisional'),
  estimated: partOfAll(rows, 'estimated'),
  unattributed: partOfAll(rows, 'unattributed'),
})
const partOfAll = (rows: readonly Trusted[], part: TrustPart): string =>
  formatQuantity(sum(rows.map((row) => usd(row.cost_usd_by_trust[part]))))

/** What no chargeback file has of a row. */
export const notCharged = ({ cost_usd: cost, cost_usd_by_trust: trust }: Trusted): string =>
  formatDifference(usd(cost), usd(trust.eligible))

/** What a chargeback file has although the directory names no owner for it. */
export const chargedToNobody = (rows: readonly Trusted[]): string =>
  formatDifference(sum(rows.map((row) => usd(row.unattributed_cost_usd))), usd(trustOfAll(rows).unattributed))

/** The confidence of one call, and whether it is charged back. */
export interface Interpreted {
  readonly confidence: number
  readonly confidence_band: string
  readonly export_eligibility: string
}

export function trustPartOf({ export_eligibility: eligibility, confidence_band: band }: Interpreted): TrustPart {
  if (eligibility === 'eligible') return 'eligible'
  return band === 'chargeback_ready' ? 'held_back' : band === 'provisional' ? 'provisional' : 'estimated'
}

/** Cut, not rounded: 0.7999 is below the floor of 0.80. */
export const confidenceShown = (confidence: number): string => confidence.toFixed(4).slice(0, -2)

/** Never that a call is ready to be charged back when it is not. */
export function chargeShown(call: Interpreted): string {
  const band = call.confidence_band === 'chargeback_ready' ? '' : `${wordOf(call.confidence_band)}, `
  return call.export_eligibility === 'eligible'
    ? wordOf(call.confidence_band)
    : `${band}not charged back: ${wordOf(call.export_eligibility)}`
}

/**
 * What a folded row covers: groups of too few people, and perhaps a larger one, so that it can have many people.
 *
 * @param least people that a row has at least; undefined where the answer does not say
 */
export function smallGroupsShown(groups: number, least: number | undefined): string {
  const few = least === undefined ? 'too few people' : `fewer than ${least} people`
  return groups === 1 ? `one, of ${few}` : `${countShown(groups)} shown together, at least one of ${few}`
}

/** The people of a row; which rows have none is no secret, but how many the others have may be. */
export function peopleShown({ people }: Pick<UsageRow, 'people'>, scope: ReportScope): string {
  if (people !== null) return countShown(people)
  return scope.cohort_scope === 'people' ? '–' : `fewer than ${scope.min_cohort}`
}
