import { parseSum } from '../../../../units/quantity.js'
import { spanLabel } from '../../../figures/period.js'
import { costChangeShown, costShareShown, fractionOf } from '../../../figures/shares.js'
import { countShown, decimalShown, decimalsOf, priceShown } from '../../../figures/shown.js'
import type { SortValue } from '../../../figures/sorting.js'
import { peopleShown } from '../../../figures/trust.js'
import { hasNoPrice, isNobodys, type UsageRow } from '../../../figures/usage.js'
import { fieldShown } from '../../../figures/words.js'
import type { UsageReport } from '../../api/usage.js'
import type { Column } from '../../parts/columns.js'
import { TrustBar } from '../../parts/trust-bar.js'

/** The columns of the breakdown. */

export interface UsageColumn extends Column<UsageRow> {
  readonly sortValue: (row: UsageRow) => SortValue
  /** How the API sorts by it, for a table that has not all rows. */
  readonly sort?: string
}

type Amount = 'cost_usd' | 'energy_wh' | 'carbon_gco2e'
type Count = 'calls' | 'input_tokens' | 'output_tokens' | 'unpriced_calls'
type Price = 'cost_usd_per_1k_tokens' | 'cost_usd_per_call'

const exact = (text: unknown): bigint | null => (typeof text === 'string' ? parseSum(text) : null)

/** Of the names, which is always there: those that are none come last. */
export const nameColumn = (by: string, title: string) => ({
  name: 'name',
  title,
  sort: by,
  sortValue: (row: UsageRow): SortValue => (row.folded || isNobodys(row, by) ? null : String(row[by] ?? '')),
})

const amount = (name: Amount, isUsual: boolean, rows: readonly UsageRow[]): UsageColumn => {
  const decimals = decimalsOf(rows.map((row) => row[name]))
  return {
    name,
    title: fieldShown(name),
    isUsual,
    isNumber: true,
    isSortable: true,
    sort: name,
    sortValue: (row) => parseSum(row[name]),
    cell: (row) => (name === 'cost_usd' ? <Cost row={row} decimals={decimals} /> : decimalShown(row[name], decimals)),
  }
}

const counted = (name: Count, isUsual = false): UsageColumn => ({
  name,
  title: fieldShown(name),
  isUsual,
  isNumber: true,
  isSortable: true,
  sort: name,
  sortValue: (row) => row[name],
  cell: (row) => countShown(row[name]),
})

const priced = (name: Price, title: string, isUsual: boolean): UsageColumn => ({
  name,
  title,
  isUsual,
  isNumber: true,
  isSortable: true,
  sort: name,
  sortValue: (row) => exact(row[name]),
  cell: (row) => (row[name] === null || hasNoPrice(row) ? '–' : priceShown(row[name])),
})

/** @param zone in which the period before is named */
export function usageColumns({ rows, scope }: UsageReport, zone: string): readonly UsageColumn[] {
  const before = scope.compared_with
  const beforeLabel = before === undefined ? '' : spanLabel(Date.parse(before.from), Date.parse(before.to), zone)
  const decimals = decimalsOf(rows.map((row) => row.cost_usd))
  const isShown = { isNumber: true, isSortable: true }
  return [
    {
      ...isShown,
      name: 'people',
      title: 'people',
      isUsual: true,
      sort: 'people',
      sortValue: (row) => row.people,
      cell: (row) => peopleShown(row, scope),
    },
    counted('calls', true),
    amount('cost_usd', true, rows),
    {
      ...isShown,
      name: 'cost_share',
      title: 'of total',
      isUsual: true,
      sort: 'cost_share',
      sortValue: (row) => parseSum(row.cost_usd),
      cell: (row) => costShareShown(row, scope),
    },
    {
      ...isShown,
      name: 'previous',
      title: 'before USD',
      about: `Cost on ${beforeLabel}`,
      isUsual: false,
      sortValue: (row) => exact(row.previous?.['cost_usd']),
      cell: (row) => amountShown(row.previous?.['cost_usd'], decimals),
    },
    {
      ...isShown,
      name: 'difference',
      title: 'difference USD',
      about: `To the cost on ${beforeLabel}`,
      isUsual: false,
      sort: 'change.cost_usd',
      sortValue: (row) => exact(row.change?.['cost_usd']),
      cell: (row) => amountShown(row.change?.['cost_usd'], decimals),
    },
    {
      ...isShown,
      name: 'change',
      title: 'change',
      about: `Change of the cost on ${beforeLabel}`,
      isUsual: true,
      sort: 'change_percent.cost_usd',
      sortValue: (row) => exact(row.change_percent?.['cost_usd']),
      cell: costChangeShown,
    },
    priced('cost_usd_per_1k_tokens', 'USD per 1k tokens', true),
    priced('cost_usd_per_call', 'USD per call', false),
    amount('energy_wh', false, rows),
    amount('carbon_gco2e', false, rows),
    counted('input_tokens'),
    counted('output_tokens'),
    counted('unpriced_calls'),
    {
      name: 'trust',
      title: 'trust',
      about: 'How much of the cost can be charged',
      isUsual: true,
      isSortable: true,
      sortValue: (row) => exact(fractionOf(row.cost_usd_by_trust.eligible, row.cost_usd)),
      cell: (row) => <TrustBar trust={row.cost_usd_by_trust} whole={row.cost_usd} />,
    },
  ]
}

function Cost({ row, decimals }: { readonly row: UsageRow; readonly decimals: number }) {
  const shown = decimalShown(row.cost_usd, decimals)
  if (hasNoPrice(row)) return <>no price</>
  if (!row.lower_bounds.includes('cost_usd')) return <>{shown}</>
  return <span title="At least: some calls have no price">{shown.startsWith('<') ? '> 0' : `≥ ${shown}`}</span>
}

const amountShown = (text: unknown, decimals: number): string =>
  typeof text === 'string' ? decimalShown(text, decimals) : '–'
