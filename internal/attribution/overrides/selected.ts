import type { SelectedOwner } from '../../store/queries/records/selected-records.js'
import { formatQuantity, parseSum, sum } from '../../units/quantity.js'
import { OTHERS } from '../changes/moves.js'
import type { ShownPreview } from './override-contract.js'

/** What a dry run has found: totals, and the records by service and owner. */
export interface Selected
  extends Pick<ShownPreview, 'records' | 'cost_usd' | 'before' | 'implausible_cost' | 'unchanged'> {
  /** Event times of the records, milliseconds since the epoch; the end is exclusive. */
  readonly fromMs: number
  readonly toMs: number
}

/** Groups that are kept apart. */
const GROUPS_MAX = 1_000

/** @param owners the most costly first */
export function totalOf(owners: readonly SelectedOwner[]): Selected {
  const taken = owners.filter(({ records }) => Number(records) > 0)
  const groups = taken.map(({ service, owner, records, costUsd }) => {
    return { service, owner, records: Number(records), cost_usd: sumOf([costUsd]) }
  })
  const others = groups.slice(GROUPS_MAX)
  const count = (of: (owner: SelectedOwner) => string): number => owners.reduce((all, one) => all + Number(of(one)), 0)
  return {
    records: count(({ records }) => records),
    cost_usd: sumOf(taken.map(({ costUsd }) => costUsd)),
    before: [
      ...groups.slice(0, GROUPS_MAX),
      ...(others.length === 0
        ? []
        : [
            {
              service: OTHERS,
              owner: OTHERS,
              records: others.reduce((all, { records }) => all + records, 0),
              cost_usd: sumOf(others.map(({ cost_usd }) => cost_usd)),
            },
          ]),
    ],
    implausible_cost: {
      records: count(({ implausible }) => implausible),
      cost_usd: sumOf(owners.map(({ implausibleUsd }) => implausibleUsd)),
    },
    unchanged: { overridden: count(({ overridden }) => overridden), disputed: count(({ disputed }) => disputed) },
    fromMs: taken.reduce((least, { firstMs }) => Math.min(least, Number(firstMs)), taken.length === 0 ? 0 : Infinity),
    toMs: taken.reduce((most, { lastMs }) => Math.max(most, Number(lastMs) + 1), 0),
  }
}

const sumOf = (amounts: readonly string[]): string =>
  formatQuantity(sum(amounts.map((amount) => parseSum<'USD'>(amount))))
