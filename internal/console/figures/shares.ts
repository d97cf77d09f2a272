import type { ReportScope } from 'attribution-service/sdk/api'
import { parseSum } from '../../units/quantity.js'
import { changeShown, shareShown } from './shown.js'
import type { UsageRow } from './usage.js'

/** Shares and changes, of the amounts: those that the API gives are rounded, so that 0 may be more than nothing. */

const DECIMALS = 6

/**
 * A part of a whole as a fraction; undefined where the whole is nothing. It is cut to six decimals and has one more where
 * it goes on: so it is rounded only where it is shown, and is neither nothing nor everything unless the part is.
 */
export function fractionOf(part: string, whole: string): string | undefined {
  const [steps, all]: [bigint, bigint] = [parseSum(part), parseSum(whole)]
  if (all <= 0n) return undefined
  const scaled = (steps < 0n ? -steps : steps) * 10n ** BigInt(DECIMALS)
  const digits = (scaled / all).toString().padStart(DECIMALS + 1, '0')
  const goesOn = scaled % all === 0n ? '' : '1'
  return `${steps < 0n ? '-' : ''}${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}${goesOn}`
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
  const fraction = by == null || before == null ? undefined : fractionOf(by, before)
  return fraction === undefined ? '–' : changeShown(fraction)
}

interface Changed {
  readonly compared?: UsageRow['compared']
  readonly change?: Cost
  readonly previous?: Cost
}

type Cost = Pick<NonNullable<UsageRow['change']>, 'cost_usd'> | null | undefined
