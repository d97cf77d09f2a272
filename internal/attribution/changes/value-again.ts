import type { AdmittedInvocation } from '../../invocations/group.js'
import { eligibilityOf } from '../../records/interpretation.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { formatDifference, formatQuantity, parseSum, plus, type Quantity, type Unit } from '../../units/quantity.js'
import type { Consumption } from '../records/row.js'
import type { CostDetails } from '../valuation/cost/cost-details.js'
import { recall } from './recall.js'

/** Which records a job values anew: those without a value, or those whose cost is by one version of the price book. */
export type Valued = 'unpriced' | { readonly book: string }

/** What new versions make of cost, energy and carbon: of how many records, and by how much together, as decimal text. */
export interface Tally {
  readonly cost_records: number
  readonly cost_usd: string
  readonly energy_records: number
  readonly energy_wh: string
  readonly carbon_records: number
  readonly carbon_gco2e: string
  /** Records that the job is for and that stay without a value, or with that of the book, in part or whole. */
  readonly left: number
}

export const NO_TALLY: Tally = {
  cost_records: 0,
  cost_usd: '0',
  energy_records: 0,
  energy_wh: '0',
  carbon_records: 0,
  carbon_gco2e: '0',
  left: 0,
}

/**
 * Values records anew, by the books, prices and tables of now, as of the time of their events. What has a value keeps it to
 * the digit, but for the cost by a book that is to be replaced; a value is never replaced by none.
 *
 * @returns new versions, of those records alone that come out otherwise
 */
export function valueAgain(
  rows: readonly AttributionRow[],
  valued: Valued,
  consumptionOf: (admitted: AdmittedInvocation) => Consumption,
  validFromMs: number,
): AttributionRow[] {
  return rows.flatMap((row) => {
    if (!isMeant(row, valued)) return []
    const consumption = consumed(row, consumptionOf)
    if (consumption === undefined) return []
    const made = { ...costOf(row, consumption, valued), ...footprintOf(row, consumption, valued) }
    return Object.keys(made).length === 0 ? [] : [{ ...row, ...made, validFromMs }]
  })
}

/** What a job's new versions change. @param before the versions that records had, of those that stay, too */
export function tallyOf(before: readonly AttributionRow[], changed: readonly AttributionRow[], valued: Valued): Tally {
  const after = new Map(changed.map((row) => [nameOf(row), row]))
  let tally = NO_TALLY
  for (const row of before) {
    const now = after.get(nameOf(row)) ?? row
    const differs = (
      basis: 'costBasis' | 'energyBasis' | 'carbonBasis',
      details: 'costDetails' | 'footprintDetails',
    ) => (now[basis] !== row[basis] || (valued !== 'unpriced' && now[details] !== row[details]) ? 1 : 0)
    tally = plusTally(tally, {
      cost_records: differs('costBasis', 'costDetails'),
      cost_usd: formatDifference(now.costUsd, row.costUsd),
      energy_records: differs('energyBasis', 'footprintDetails'),
      energy_wh: formatDifference(now.energyWh, row.energyWh),
      carbon_records: differs('carbonBasis', 'footprintDetails'),
      carbon_gco2e: formatDifference(now.carbonGco2e, row.carbonGco2e),
      left: isMeant(now, valued) ? 1 : 0,
    })
  }
  return tally
}

export const plusTally = (one: Tally, other: Tally): Tally => ({
  cost_records: one.cost_records + other.cost_records,
  cost_usd: sumText<'USD'>(one.cost_usd, other.cost_usd),
  energy_records: one.energy_records + other.energy_records,
  energy_wh: sumText<'Wh'>(one.energy_wh, other.energy_wh),
  carbon_records: one.carbon_records + other.carbon_records,
  carbon_gco2e: sumText<'gCO2e'>(one.carbon_gco2e, other.carbon_gco2e),
  left: one.left + other.left,
})

const sumText = <U extends Unit>(one: string, other: string): string =>
  formatQuantity(plus(parseSum<U>(one), parseSum<U>(other)))

function isMeant(row: AttributionRow, valued: Valued): boolean {
  if (valued === 'unpriced') {
    return row.costBasis === 'unpriced' || row.energyBasis === 'unknown' || row.carbonBasis === 'unknown'
  }
  return row.costBasis === 'price_book' && bookOf(row) === valued.book
}

/** The book that the product comes with has no id: the day that it describes names it. */
function bookOf({ costDetails }: Pick<Consumption, 'costDetails'>): string | undefined {
  const { book_id, book_as_of } = JSON.parse(costDetails) as Partial<CostDetails>
  return book_id ?? book_as_of
}

/** Undefined where the rules have no answer, as for more than a record can hold: the record then stays as it is. */
function consumed(
  row: AttributionRow,
  consumptionOf: (admitted: AdmittedInvocation) => Consumption,
): Consumption | undefined {
  const admitted = recall(row, () => undefined)
  const invocation = {
    ...admitted.invocation,
    // The row has the requested model for both where no other was stated.
    servedModel: row.servedModel === row.requestedModel ? undefined : row.servedModel,
    // What the caller has measured stands in the row as the value itself.
    energyWh: row.energyBasis === 'measured' ? formatQuantity(row.energyWh) : undefined,
    carbonGco2e: row.carbonBasis === 'measured' ? formatQuantity(row.carbonGco2e) : undefined,
  }
  try {
    return consumptionOf({ ...admitted, invocation })
  } catch (cause) {
    if (cause instanceof RangeError) return undefined
    throw cause
  }
}

function costOf(row: AttributionRow, consumption: Consumption, valued: Valued): Partial<AttributionRow> {
  const { costUsd, costBasis, costDetails } = consumption
  if (costBasis === 'unpriced') return {}
  const isReplaced =
    valued === 'unpriced'
      ? row.costBasis === 'unpriced'
      : costBasis !== 'price_book' || bookOf(consumption) !== valued.book
  if (!isReplaced) return {}
  // Each reason before it in the list is told first, and stays.
  const exportEligibility =
    row.exportEligibility === 'unpriced'
      ? eligibilityOf({
          confidence: row.confidence,
          isPriced: true,
          degradationState: 'none',
          isResidencyRestricted: false,
        })
      : row.exportEligibility
  return { costUsd, costBasis, costDetails, exportEligibility }
}

/** Energy and carbon have one explanation, so they are taken together: where one is there, if it comes out the same again. */
function footprintOf(row: AttributionRow, consumption: Consumption, valued: Valued): Partial<AttributionRow> {
  if (valued !== 'unpriced') return {}
  const { energyWh, energyBasis, carbonGco2e, carbonBasis, footprintDetails } = consumption
  const fills =
    (row.energyBasis === 'unknown' && energyBasis !== 'unknown') ||
    (row.carbonBasis === 'unknown' && carbonBasis !== 'unknown')
  const keeps =
    isKept(row.energyBasis, row.energyWh, energyBasis, energyWh) &&
    isKept(row.carbonBasis, row.carbonGco2e, carbonBasis, carbonGco2e)
  return fills && keeps ? { energyWh, energyBasis, carbonGco2e, carbonBasis, footprintDetails } : {}
}

const isKept = <U extends Unit>(basis: string, value: Quantity<U>, newBasis: string, newValue: Quantity<U>): boolean =>
  basis === 'unknown' || (basis === newBasis && value === newValue)

const nameOf = ({ id }: AttributionRow): string => Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')
