import type { Invocation } from '../../invocations/invocation.js'
import type { FootprintBasis } from '../../records/bases.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { plus, type Quantity, zero } from '../../units/quantity.js'
import type { Footprint } from '../../valuation/energy/footprint.js'
import { recalledForValuation, withMeasured } from './revalue.js'
import { distance, type Model, SumsByModel } from './sums-by-model.js'

/**
 * The energy and carbon of one model's records by another energy table: only those records of which one would differ.
 */
export type FootprintChange = Model & FootprintSums

export interface FootprintSums {
  readonly records: number
  readonly oldEnergy: Quantity<'Wh'>
  readonly newEnergy: Quantity<'Wh'>
  readonly oldCarbon: Quantity<'gCO2e'>
  readonly newCarbon: Quantity<'gCO2e'>
  /** Of `records`: unknown, or an estimate of the model's class now, and modelled by the table. */
  readonly newlyKnown: number
  /** The reverse. */
  readonly newlyUnknown: number
}

/**
 * Sums up what an energy table would change, by provider and model; changes nothing.
 *
 * @param rows records whose energy is not measured
 */
export class FootprintChanges {
  private readonly models = new SumsByModel<FootprintSums>(NOTHING)
  /** Of all models. */
  total: FootprintSums = NOTHING

  /** @param footprintOf by the other table */
  add(
    rows: readonly AttributionRow[],
    footprintOf: (tenantId: string, invocation: Invocation) => Pick<Footprint, ComparedField>,
  ): void {
    for (const row of rows) {
      // The counts that the record counts, whichever reading its sender stated first.
      const { inputTokens, outputTokens } = row
      const counted = { ...recalledForValuation(row).invocation, inputTokens, outputTokens }
      const now = footprintOf(row.tenantId, withMeasured(row, counted))
      const isSame = COMPARED.every((field) => now[field] === row[field])
      if (isSame) continue
      const [wasKnown, isKnown] = [row.energyBasis, now.energyBasis].map((basis) => basis === MODELLED)
      const plusRow = (sums: FootprintSums): FootprintSums => ({
        records: sums.records + 1,
        oldEnergy: plus(sums.oldEnergy, row.energyWh),
        newEnergy: plus(sums.newEnergy, now.energyWh),
        oldCarbon: plus(sums.oldCarbon, row.carbonGco2e),
        newCarbon: plus(sums.newCarbon, now.carbonGco2e),
        newlyKnown: sums.newlyKnown + (isKnown && !wasKnown ? 1 : 0),
        newlyUnknown: sums.newlyUnknown + (wasKnown && !isKnown ? 1 : 0),
      })
      this.models.add(row, plusRow)
      this.total = plusRow(this.total)
    }
  }

  /** The models whose energy changes most come first. */
  largestFirst(): readonly FootprintChange[] {
    return this.models.largestFirst(({ oldEnergy, newEnergy }) => distance(oldEnergy, newEnergy))
  }
}

const MODELLED = 'modelled' satisfies FootprintBasis

const COMPARED = ['energyWh', 'energyBasis', 'carbonGco2e', 'carbonBasis'] as const
type ComparedField = (typeof COMPARED)[number]

const NOTHING: FootprintSums = {
  records: 0,
  oldEnergy: zero<'Wh'>(),
  newEnergy: zero<'Wh'>(),
  oldCarbon: zero<'gCO2e'>(),
  newCarbon: zero<'gCO2e'>(),
  newlyKnown: 0,
  newlyUnknown: 0,
}
