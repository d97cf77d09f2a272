/** The details of a price, frozen and serialised once for each way in which they count. */
import type { CostBasis } from '../../records/bases.js'
import type { CostDetails, StatedCostDoubt } from './cost-details.js'
import type { PriceBook } from './price-book.js'

export type BookName = Pick<CostDetails, 'book_as_of' | 'book_id'>

export const bookName = ({ asOf, id }: PriceBook): BookName => ({
  book_as_of: asOf,
  ...(id !== undefined && { book_id: id }),
})

export interface OutcomeDetails {
  readonly alone: SerialisedDetails
  /** The details when the client's estimate applies and this price is for comparison. */
  readonly besideEstimate: SerialisedDetails
  /** The details when nobody is billed for the call and this price is for comparison. */
  readonly notional: SerialisedDetails
  /** The details when the client's estimate is doubted; made on first use. */
  readonly doubted: Map<StatedCostDoubt, SerialisedDetails>
}

interface SerialisedDetails {
  readonly basis: CostBasis
  readonly details: CostDetails
  readonly detailsJson: string
}

export function outcomeDetails(
  book: BookName,
  basis: CostBasis,
  rest: Pick<CostDetails, 'price' | 'reason' | 'unpriced_units'>,
): OutcomeDetails {
  return {
    alone: serialised({ basis, ...book, ...rest }),
    besideEstimate: serialised({ basis: 'client_estimate', ...book, ...rest }),
    notional: serialised({ basis: 'notional', ...book, ...rest }),
    doubted: new Map(),
  }
}

/** An implausible cost still counts, one that is not trusted does not. */
export function doubtedDetails(
  { alone, besideEstimate, doubted }: OutcomeDetails,
  doubt: StatedCostDoubt,
): SerialisedDetails {
  let kept = doubted.get(doubt)
  if (kept === undefined) {
    kept = serialised({ ...(doubt === 'untrusted' ? alone : besideEstimate).details, stated_cost: doubt })
    doubted.set(doubt, kept)
  }
  return kept
}

export function serialised(details: CostDetails): SerialisedDetails {
  return { basis: details.basis, details: deepFrozen(details), detailsJson: JSON.stringify(details) }
}

function deepFrozen<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null && !Object.isFrozen(inner)) deepFrozen(inner)
  }
  return Object.freeze(value)
}
