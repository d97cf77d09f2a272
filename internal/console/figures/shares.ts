import type { ReportScope } from 'attribution-service/sdk/api'
import { divideHalfEven } from '../../units/half-even.js'
import { parseSum } from '../../units/quantity.js'
import { changeShown, shareShown } from './shown.js'
import type { UsageRow } from './usage.js'

/** Shares and changes, of the amounts: those that the API gives are rounded, so that 0 may be more than nothing. */

/** A part of a whole as a fraction with six decimals; undefined where the whole is nothing. */
export function fractionOf(part: string, whole: string): string | undefined {
  const all: bigint = parseSum(whole)
  return all <= 0n ? undefined : ratioText(parseSum(part), all, 6)
}

/** Of the cost of a whole report. */
export function costShareShown(
  { cost_usd: cost }: Pick<UsageRow, 'cost_usd'>,
  { total_cost_usd: total }: Whole,
): string {
  const share = fractionOf(cost, total)
  return share === undefined ? '–' : shareShown(share)
}

type Whole = Pick<ReportScope, 'total_cost_usd'>

/** Of the cost, on that of the period before. */
export function costChangeShown({ compared, change, previous }: Changed): string {
  if (compared === 'new') return 'new'
  if (compared === 'gone') return 'gone'
  const [by, before] = [change?.['cost_usd'], previous?.['cost_usd']]
  if (by == null || before == null) return '–'
  return parseSum<'USD'>(before) <= 0n ? '–' : changeShown(percentOf(by, before))
}

interface Changed {
  readonly compared?: UsageRow['compared']
  readonly change?: Cost
  readonly previous?: Cost
}

type Cost = Pick<NonNullable<UsageRow['change']>, 'cost_usd'> | null | undefined

/** A change in percent of what was before, which is more than nothing; with four decimals. */
export const percentOf = (change: string, before: string): string =>
  ratioText(parseSum<'USD'>(change) * 100n, parseSum(before), 4)

/** Rounded half to even, but what is more than nothing not to nothing: it is the last decimal at least. */
function ratioText(part: bigint, whole: bigint, decimals: number): string {
  const isNegative = part < 0n
  const steps = divideHalfEven((isNegative ? -part : part) * 10n ** BigInt(decimals), whole)
  const text = (steps === 0n && part !== 0n ? 1n : steps).toString().padStart(decimals + 1, '0')
  return `${isNegative ? '-' : ''}${text.slice(0, -decimals)}.${text.slice(-decimals)}`
}
