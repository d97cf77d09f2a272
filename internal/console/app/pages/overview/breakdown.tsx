import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { linkTo } from '../../../figures/address.js'
import { filterParams } from '../../../figures/filters.js'
import { countShown } from '../../../figures/shown.js'
import { sortedRows, sortOf } from '../../../figures/sorting.js'
import { TRUST_PARTS } from '../../../figures/trust.js'
import { isNobodys, nobodyShown, type UsageRow } from '../../../figures/usage.js'
import { fieldShown } from '../../../figures/words.js'
import { readUsage, type UsageQuestion, type UsageReport } from '../../api/usage.js'
import { useAnswer } from '../../api/use-answer.js'
import { ColumnHead, useColumns } from '../../parts/columns.js'
import { DownloadCsv } from '../../parts/download-csv.js'
import { Breakable } from '../../parts/name.js'
import { Scroll } from '../../parts/scroll.js'
import { SmallGroups } from '../../parts/small-groups.js'
import { nameColumn, type UsageColumn, usageColumns } from './columns.js'
import { labelShown } from './dimensions.js'
import { Inside } from './inside.js'
import type { OverviewFigures } from './load.js'

interface BreakdownProps {
  readonly figures: OverviewFigures
  readonly params: URLSearchParams
}

const SHOWN_AT_FIRST = 25

/** By whom: a row per label, the most expensive first. Its costs add up to the total. */
export function Breakdown({ figures, params }: BreakdownProps) {
  const { by, period, zone, filters } = figures
  const [isWhole, setWhole] = useState(false)
  const [open, setOpen] = useState<string | undefined>()
  const { rows, scope, isCut } = figures.labels
  const title = fieldShown(by)
  const columns = useColumns('breakdown', usageColumns(figures.labels, zone))
  const question = questionOf(figures)
  const sort = params.get('sort') ?? BY_COST
  const name = nameColumn(by, title)
  const { sorted, isEarlier } = useSorted(figures.labels, question, [name, ...columns.all], sort)
  const listed = isWhole ? sorted : sorted.slice(0, SHOWN_AT_FIRST)
  return (
    <section aria-label={`By ${title}`} data-table-total={scope.total_cost_usd}>
      <div class="controls">
        <h2>By {title}</h2>
        {columns.choice}
        <DownloadCsv name={`usage-by-${by}`} head={CSV_HEAD(by)} rows={() => csvRows(question, by)} />
      </div>
      <Suppressed report={figures.labels} />
      <div class="shown" aria-busy={isEarlier}>
        <Scroll label={`Table by ${title}`}>
          <table class="figures">
            <thead>
              <tr>
                <ColumnHead {...name} isSortable={true} sort={sort} />
                {columns.shown.map((column) => (
                  <ColumnHead
                    key={column.name}
                    {...column}
                    isSortable={!isCut || column.sort !== undefined}
                    sort={sort}
                  />
                ))}
              </tr>
            </thead>
            <tbody>
              {listed.map((row) => {
                const key = rowKey(row, by)
                const isOpen = open === key
                return (
                  <Fragment key={key}>
                    <Row
                      row={row}
                      scope={scope}
                      by={by}
                      columns={columns.shown}
                      params={params}
                      isOpen={isOpen}
                      onOpen={() => setOpen(isOpen ? undefined : key)}
                    />
                    {isOpen && (
                      <tr class="inside">
                        <td colSpan={columns.shown.length + 1}>
                          <Inside
                            row={row}
                            by={by}
                            period={period}
                            zone={zone}
                            filters={filters}
                            asOf={scope.as_of}
                            params={params}
                          />
                        </td>
                      </tr>
                    )}
                  </Fragment>
                )
              })}
            </tbody>
          </table>
        </Scroll>
      </div>
      {rows.length > listed.length && (
        <p>
          <button type="button" onClick={() => setWhole(true)}>
            Show all {countShown(rows.length)}
          </button>
        </p>
      )}
      {isCut && (
        <p class="notice">
          The first {countShown(rows.length)} of {countShown(scope.rows)} rows in this order. The CSV has all of them,
          and the total is of all of them.
        </p>
      )}
    </section>
  )
}

const BY_COST = '-cost_usd'

type Sortable = Pick<UsageColumn, 'name' | 'sort' | 'sortValue'>

/** The rows by one of the columns. Where the table has not all of them, the API sorts, if it can; till then they stay. */
function useSorted(labels: UsageReport, question: UsageQuestion, columns: readonly Sortable[], sort: string) {
  const { name, isDescending } = sortOf(sort)
  const column = columns.find((each) => each.name === name)
  const asked = { ...question, sort: `${isDescending ? '-' : ''}${column?.sort}` }
  const isAsked = labels.isCut && sort !== BY_COST && column?.sort !== undefined
  const answer = useAnswer(isAsked ? JSON.stringify(asked) : '', (signal) => readUsage(asked, signal))
  if (isAsked) {
    return { sorted: answer.value?.rows ?? labels.rows, isEarlier: answer.value !== undefined && answer.isEarlier }
  }
  const sorted = column === undefined ? labels.rows : sortedRows(labels.rows, column.sortValue, isDescending)
  return { sorted, isEarlier: false }
}

const rowKey = (row: UsageRow, by: string): string => `${row.folded ? 'folded' : ''} ${row[by]}`

interface RowProps {
  readonly row: UsageRow
  readonly scope: UsageReport['scope']
  readonly by: string
  readonly columns: readonly UsageColumn[]
  readonly params: URLSearchParams
  readonly isOpen: boolean
  readonly onOpen: () => void
}

const Row = ({ row, scope, by, columns, params, isOpen, onOpen }: RowProps) => (
  <tr class={row.folded ? 'folded' : isNobodys(row, by) ? 'apart' : undefined}>
    <th scope="row">
      <Name row={row} scope={scope} by={by} params={params} isOpen={isOpen} onOpen={onOpen} />
    </th>
    {columns.map(({ name, isNumber, cell }) => (
      <td key={name} class={isNumber === true ? 'number' : undefined}>
        {cell(row)}
      </td>
    ))}
  </tr>
)

/** Unnamed calls and folded groups are not names: they say what they are. */
function Name({ row, scope, by, params, isOpen, onOpen }: Omit<RowProps, 'columns'>) {
  if (row.folded) return <SmallGroups groups={row.groups} least={scope.min_cohort} />
  if (isNobodys(row, by)) {
    return (
      <>
        {nobodyShown(row, by)} <a href={linkTo('unattributed', params)}>why?</a>
      </>
    )
  }
  return (
    <button type="button" class="opens" aria-expanded={isOpen} onClick={onOpen}>
      <Breakable>{labelShown(by, row[by])}</Breakable>
    </button>
  )
}

/** Filters that select too few people were dropped, which the figures say. */
function Suppressed({ report: { suppressed, scope } }: { readonly report: UsageReport }) {
  if (suppressed === undefined) return null
  const dropped = suppressed.asked.slice(suppressed.applied.length)
  return (
    <p class="notice" role="status">
      {dropped.map(({ field, values }) => `${field} ${values.join(', ')}`).join(' and ')} selects fewer than{' '}
      {scope.min_cohort} people: these are the figures of the larger group.
    </p>
  )
}

/** The same report again, for the CSV: of the same period, as of the same instant. */
const questionOf = ({ labels: { scope }, comparison, by, zone, filters }: OverviewFigures): UsageQuestion => ({
  from: scope.from,
  to: scope.to,
  as_of: scope.as_of,
  time_zone: zone,
  group_by: by,
  ...comparison,
  sort: '-cost_usd',
  ...filterParams(filters),
})

const CSV_HEAD = (by: string) => [
  by,
  'folded_groups',
  'people',
  'calls',
  'cost_usd',
  'cost_share',
  'previous_cost_usd',
  'energy_wh',
  'carbon_gco2e',
  ...TRUST_PARTS.map((part) => `${part}_usd`),
  'unpriced_calls',
  'energy_class_estimate_wh',
]

const CSV_PAGES_MAX = 500

async function csvRows(question: UsageQuestion, by: string) {
  const { rows } = await readUsage(question, new AbortController().signal, CSV_PAGES_MAX)
  return rows.map((row) => {
    const name = row.folded ? 'small groups' : isNobodys(row, by) ? nobodyShown(row, by) : String(row[by] ?? '')
    return [
      name,
      row.groups ?? null,
      row.people,
      row.calls,
      row.cost_usd,
      row.cost_share,
      String(row.previous?.['cost_usd'] ?? ''),
      row.energy_wh,
      row.carbon_gco2e,
      ...TRUST_PARTS.map((part) => row.cost_usd_by_trust[part]),
      row.unpriced_calls,
      row.energy_class_estimate_wh ?? '0',
    ]
  })
}
