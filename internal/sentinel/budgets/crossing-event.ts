import type { NewEvent } from '../../events/event.js'
import { ExactNumber } from '../../events/exact-json.js'
import { formatQuantity, type Quantity, quantityOfSteps } from '../../units/quantity.js'
import { type Budget, isStandard } from './budget.js'

/** A crossing to emit. */
export interface Occasion {
  readonly budget: Pick<Budget, 'id' | 'per' | 'ceiling'>
  readonly threshold: number
  readonly spent: Quantity<'USD'>
  /** Value of the dimension by which the budget is grouped; ignored of a budget without groups. */
  readonly group: string | undefined
  readonly cause: string
  readonly isTest?: true
}

/** The event of a crossed threshold: the contract's type for its three thresholds, one of ours for all others. */
export function crossingEvent(
  tenantId: string,
  { budget: { id, per, ceiling }, threshold, spent, group, cause, isTest }: Occasion,
): NewEvent<'budget.threshold.crossed' | 'budget.threshold.custom'> {
  const more = {
    period_to_date_usd: new ExactNumber(formatQuantity(spent)),
    ceiling_usd: new ExactNumber(formatQuantity(ceiling)),
    spent_usd: formatQuantity(spent),
    ...(per !== undefined && group !== undefined && { group: { dimension: per, value: group } }),
    ...(isTest && { test: isTest }),
  }
  return isStandard(threshold)
    ? { tenantId, type: 'budget.threshold.crossed', cause, data: { budget_id: id, threshold, ...more } }
    : { tenantId, type: 'budget.threshold.custom', cause, data: { budget_id: id, threshold, ...more } }
}

/** The least amount that reaches a threshold, to the last place. */
export const amountAt = ({ ceiling }: Pick<Budget, 'ceiling'>, threshold: number): Quantity<'USD'> =>
  quantityOfSteps((ceiling * BigInt(threshold) + 99n) / 100n)
