import { type DatedPeriod, type PriceBookFile, type PriceRow, sheetOfPeriod } from '../cost/price-book.js'
import { rowName } from './book-file.js'
import { flattened, unflattened } from './flat-sheet.js'

/** The dated prices of a book by the names of the rows that have them. */
export const periodsByRow = ({ history }: PriceBookFile): ReadonlyMap<string, readonly DatedPeriod[]> =>
  new Map(
    history.flatMap(({ provider, models, periods }) =>
      models.map((model) => [rowName({ provider, model }), periods] as const),
    ),
  )

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
