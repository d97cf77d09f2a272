import { type DatedPeriod, type PriceHistory, type PriceRow, sheetOfPeriod } from '../cost/price-book.js'
import { rowName } from './book-file.js'
import { flattened, unflattened } from './flat-sheet.js'

/** The dated prices of the rows that satisfy `isWanted`, by name. */
export const historyOfRows = <H extends PriceHistory>(
  history: readonly H[],
  isWanted: (name: string) => boolean,
): readonly H[] =>
  history
    .map((each) => ({ ...each, models: each.models.filter((model) => isWanted(rowName({ ...each, model }))) }))
    .filter(({ models }) => models.length > 0)

/** A period with all of its rates and fees, so that a new row behind it changes nothing of it. */
export function completed(period: DatedPeriod, row: PriceRow): DatedPeriod {
  const price = sheetOfPeriod(period, row)
  const fees = { ...row.fees, ...price.fees }
  const units = { ...row.units, ...price.units }
  return { ...period, complete: true, price: unflattened(flattened({ ...price, fees, units })) }
}

/** The newest of the prices that are not merely announced. */
export const newestOf = (periods: readonly DatedPeriod[]): DatedPeriod | undefined =>
  periods.findLast(({ scheduled }) => scheduled !== true)

/** Before the first model of any provider. */
export const FIRST_DAY = '1970-01-01'
