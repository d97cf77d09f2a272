import type { Invocation } from '../../invocations/invocation.js'
import type { AdmittedInvocation } from '../../invocations/invocation-group.js'
import type { FootprintBasis } from '../../records/bases.js'
import type { ExportEligibility } from '../../records/interpretation.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { UsageBasis } from '../../text/call-words.js'
import { formatDifference, formatQuantity, parseSum, plus, type Quantity, type Unit } from '../../units/quantity.js'
import type { Consumption } from '../../valuation/consumption.js'
import type { CostDetails } from '../../valuation/cost/cost-details.js'
import { otherReading } from '../../valuation/cost/usage-readings.js'
import { usageBasisOf } from '../records/row.js'
import { seenByOf } from '../sightings/seen-by.js'
import { recall } from './recall.js'
import { costOfRow, rowEligibility } from './row-eligibility.js'

/**
 * The records that a job revalues: those without a value or with that of their model's class, those whose counts can be
 * read in two ways, or those whose cost comes from one version of the price book.
 */
export type Valued = 'unpriced' | 'usage' | { readonly book: string }

/**
 * The changes that new versions make to cost, energy and carbon: number of records, and the total difference as decimal
 * text.
 */
export interface Tally {
  readonly cost_records: number
  readonly cost_usd: string
  readonly energy_records: number
  readonly energy_wh: string
  readonly carbon_records: number
  readonly carbon_gco2e: string
  /** Selected records that still lack a value, or whose cost still comes from the book. */
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
 * Revalues records with the current price books, prices and tables, as of the time of their events. Existing values
 * stay exactly as they are, except a cost from the book to be replaced, and what is counted in another way; no other
 * value is ever removed.
 *
 * @returns new versions of the records whose values change
 */
export function revalue(
  rows: readonly AttributionRow[],
  valued: Valued,
  consumptionOf: (admitted: AdmittedInvocation) => Consumption,
  validFromMs: number,
): AttributionRow[] {
  return rows.flatMap((row) => {
    if (!isSelected(row, valued)) return []
    const consumption = currentConsumption(row, consumptionOf)
    if (consumption === undefined) return []
    if (valued === 'usage') return readAgain(row, consumption, validFromMs)
    const changes = { ...costOf(row, consumption, valued), ...footprintOf(row, consumption, valued) }
    return Object.keys(changes).length === 0 ? [] : [{ ...row, ...changes, validFromMs }]
  })
}

/**
 * Sums up the changes of a job's new versions.
 *
 * @param before the previous versions of all records, also of unchanged ones
 */
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
      cost_records: now.costUsd === row.costUsd ? differs('costBasis', 'costDetails') : 1,
      cost_usd: formatDifference(now.costUsd, row.costUsd),
      energy_records: differs('energyBasis', 'footprintDetails'),
      energy_wh: formatDifference(now.energyWh, row.energyWh),
      carbon_records: differs('carbonBasis', 'footprintDetails'),
      carbon_gco2e: formatDifference(now.carbonGco2e, row.carbonGco2e),
      left: isLeft(now, valued) ? 1 : 0,
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

function isSelected(row: AttributionRow, valued: Valued): boolean {
  if (valued === 'unpriced') {
    return isLacking(row) || row.energyBasis === CLASS_ESTIMATE
  }
  if (valued === 'usage') return row.alternativeInputTokens !== undefined || row.alternativeOutputTokens !== undefined
  return row.costBasis === 'price_book' && bookOf(row) === valued.book
}

const isCostUnknown = (row: AttributionRow): boolean =>
  row.costBasis === 'unpriced' || costOfRow(row).costBound === 'upper'

const isLeft = (row: AttributionRow, valued: Valued): boolean =>
  valued === 'usage' ? row.usageBasis === 'ambiguous' : valued === 'unpriced' ? isLacking(row) : isSelected(row, valued)

const isLacking = (row: AttributionRow): boolean =>
  isCostUnknown(row) || row.energyBasis === 'unknown' || row.carbonBasis === 'unknown'

const CLASS_ESTIMATE = 'class_estimate' satisfies FootprintBasis

/** The built-in price book has no id; it is identified by its `as_of` date. */
function bookOf({ costDetails }: Pick<Consumption, 'costDetails'>): string | undefined {
  const { book_id, book_as_of } = JSON.parse(costDetails) as Partial<CostDetails>
  return book_id ?? book_as_of
}

/**
 * The event of a row, as its sender stated it, with the models that its price depends on. Of a merged record the sender
 * is the one whose usage counts, and a convention may have put the other reading first.
 */
export function recalledForValuation(row: AttributionRow): AdmittedInvocation {
  const admitted = recall(row, () => undefined)
  // If the event stated no served model, the row has the requested model in both columns.
  const servedModel = row.servedModel === row.requestedModel ? undefined : row.servedModel
  const { other_reading: other, usage_convention: convention } = JSON.parse(row.costDetails) as CostDetails
  const usageBasis = other === undefined ? (row.usageBasis as UsageBasis) : other.usage_basis
  const stated = convention?.is_other === true ? otherReading(admitted.invocation) : admitted.invocation
  const { intake, instrumentation = '' } = seenByOf(row).also.find(({ usage }) => usage) ?? row
  const invocation = { ...stated, servedModel, usageBasis, instrumentation: instrumentation || undefined }
  return { ...admitted, ...(intake !== '' && { intake }), invocation }
}

/** With the values measured by the caller, which are stored in the row itself. */
export const withMeasured = (row: AttributionRow, invocation: Invocation): Invocation => ({
  ...invocation,
  energyWh: row.energyBasis === 'measured' ? formatQuantity(row.energyWh) : undefined,
  carbonGco2e: row.carbonBasis === 'measured' ? formatQuantity(row.carbonGco2e) : undefined,
})

/** @returns undefined if a value is out of a record's range; the record then stays unchanged */
function currentConsumption(
  row: AttributionRow,
  consumptionOf: (admitted: AdmittedInvocation) => Consumption,
): Consumption | undefined {
  const admitted = recalledForValuation(row)
  try {
    return consumptionOf({ ...admitted, invocation: withMeasured(row, admitted.invocation) })
  } catch (cause) {
    if (cause instanceof RangeError) return undefined
    throw cause
  }
}

/** What a price or a reading of the usage may change; every other eligibility is independent of both and stays. */
const BY_PRICE: ReadonlySet<string> = new Set<ExportEligibility>([
  'eligible',
  'below_floor',
  'unpriced',
  'cost_upper_bound',
  'ambiguous_usage',
])

function costOf(
  row: AttributionRow,
  consumption: Consumption,
  valued: Exclude<Valued, 'usage'>,
): Partial<AttributionRow> {
  const { costBasis, costUsd } = consumption
  if (costBasis === 'unpriced') {
    // One of several billed units may have a price by now.
    const isMoreKnown = row.costBasis === 'unpriced' && costUsd > row.costUsd
    return isMoreKnown ? pricedAs(row, consumption) : {}
  }
  const isReplaced =
    valued === 'unpriced'
      ? row.costBasis === 'unpriced' || isBoundBetter(row, consumption)
      : costBasis !== 'price_book' || bookOf(consumption) !== valued.book
  return isReplaced ? pricedAs(row, consumption) : {}
}

/**
 * Whether an upper bound has become a cost, or may be charged back by now, or no more. A negotiated price that is gone by
 * now is not replaced by the list's.
 */
function isBoundBetter(row: AttributionRow, { costBasis, costBound, isUnchargedBound }: Consumption): boolean {
  const was = costOfRow(row)
  if (was.costBound !== 'upper' || (row.costBasis === 'tenant_price' && costBasis !== 'tenant_price')) return false
  return costBound !== 'upper' || isUnchargedBound !== was.isUnchargedBound
}

/** What is counted of a row, and its cost. */
function pricedAs(row: AttributionRow, consumption: Consumption) {
  const { costUsd, costBasis, costBound, costDetails, read = recalledForValuation(row).invocation } = consumption
  const { inputTokens, outputTokens, alternativeInputTokens, alternativeOutputTokens } = read
  const counts = { inputTokens, outputTokens, alternativeInputTokens, alternativeOutputTokens }
  const usageBasis = usageBasisOf(read, consumption)
  const priced = { ...counts, costUsd, costBasis, costBound, costDetails, usageBasis }
  const isByPrice = BY_PRICE.has(row.exportEligibility)
  return { ...priced, exportEligibility: isByPrice ? rowEligibility({ ...row, ...priced }) : row.exportEligibility }
}

/** A version by the reading that holds now; none if the row is read so already, whatever prices have become. */
function readAgain(row: AttributionRow, consumption: Consumption, validFromMs: number): AttributionRow[] {
  const { energyWh, energyBasis, carbonGco2e, carbonBasis, footprintDetails } = consumption
  const footprint = { energyWh, energyBasis, carbonGco2e, carbonBasis, footprintDetails }
  const next = { ...row, ...pricedAs(row, consumption), ...footprint, validFromMs }
  return readingOf(next) === readingOf(row) ? [] : [next]
}

function readingOf({ costDetails, usageBasis, inputTokens, outputTokens }: AttributionRow): string {
  const { usage_convention: convention } = JSON.parse(costDetails) as CostDetails
  return JSON.stringify([convention?.id, usageBasis, inputTokens, outputTokens])
}

/**
 * Energy and carbon share one explanation, so both are replaced together, and only if an existing value stays the same.
 */
function footprintOf(
  row: AttributionRow,
  consumption: Consumption,
  valued: Exclude<Valued, 'usage'>,
): Partial<AttributionRow> {
  if (valued !== 'unpriced') return {}
  const { energyWh, energyBasis, carbonGco2e, carbonBasis, footprintDetails } = consumption
  const fills =
    (row.energyBasis === 'unknown' && energyBasis !== 'unknown') ||
    (row.carbonBasis === 'unknown' && carbonBasis !== 'unknown') ||
    // A newer table knows the model itself.
    (row.energyBasis === CLASS_ESTIMATE && energyBasis === 'modelled')
  const keeps =
    isKept(row.energyBasis, row.energyWh, energyBasis, energyWh) &&
    isKept(row.carbonBasis, row.carbonGco2e, carbonBasis, carbonGco2e)
  return fills && keeps ? { energyWh, energyBasis, carbonGco2e, carbonBasis, footprintDetails } : {}
}

const isKept = <U extends Unit>(basis: string, value: Quantity<U>, newBasis: string, newValue: Quantity<U>): boolean =>
  basis === 'unknown' ||
  (basis === CLASS_ESTIMATE && newBasis === 'modelled') ||
  (basis === newBasis && value === newValue)

const nameOf = ({ id }: AttributionRow): string => Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')
