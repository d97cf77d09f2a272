import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { linkTo } from '../../../figures/address.js'
import { filterParams } from '../../../figures/filters.js'
import { spanLabel } from '../../../figures/period.js'
import { changeShown, countShown, decimalShown, decimalsOf, priceShown, shareShown } from '../../../figures/shown.js'
import { peopleShown, TRUST_PARTS } from '../../../figures/trust.js'
import { isNobodys, type UsageRow } from '../../../figures/usage.js'
import { readUsage, type UsageQuestion, type UsageReport } from '../../api/usage.js'
import { DownloadCsv } from '../../parts/download-csv.js'
import { Breakable } from '../../parts/name.js'
import { Scroll } from '../../parts/scroll.js'
import { SmallGroups } from '../../parts/small-groups.js'
import { TrustBar } from '../../parts/trust-bar.js'
import { DIMENSIONS, labelShown } from './dimensions.js'
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
  const decimals = decimalsOf(rows.map((row) => row.cost_usd))
  const listed = isWhole ? rows : rows.slice(0, SHOWN_AT_FIRST)
  const title = DIMENSIONS[by] ?? by
  const before = scope.compared_with
  const beforeLabel = before === undefined ? '' : spanLabel(Date.parse(before.from), Date.parse(before.to), zone)
  const question = questionOf(figures)
  return (
    <section aria-label={`By ${title}`} data-table-total={scope.total_cost_usd}>
      <div class="controls">
        <h2>By {title}</h2>
        <DownloadCsv name={`usage-by-${by}`} head={CSV_HEAD(by)} rows={() => csvRows(question, by)} />
      </div>
      <Suppressed report={figures.labels} />
      <Scroll label={`Table by ${title}`}>
        <table class="figures">
          <thead>
            <tr>
              <th scope="col">{title}</th>
              <th scope="col" class="number">
                people
              </th>
              <th scope="col" class="number">
                calls
              </th>
              <th scope="col" class="number">
                cost USD
              </th>
              <th scope="col" class="number">
                of total
              </th>
              <th scope="col" class="number" title={`Change of the cost on ${beforeLabel}`}>
                change
              </th>
              <th scope="col" class="number">
                USD per 1k tokens
              </th>
              <th scope="col">trust</th>
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
                    decimals={decimals}
                    params={params}
                    isOpen={isOpen}
                    onOpen={() => setOpen(isOpen ? undefined : key)}
                  />
                  {isOpen && (
                    <tr class="inside">
                      <td colSpan={8}>
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
      {rows.length > listed.length && (
        <p>
          <button type="button" onClick={() => setWhole(true)}>
            Show all {countShown(rows.length)}
          </button>
        </p>
      )}
      {isCut && (
        <p class="notice">
          The {countShown(rows.length)} most expensive of {countShown(scope.rows)} rows. The CSV has all of them, and
          the total is of all of them.
        </p>
      )}
    </section>
  )
}

const rowKey = (row: UsageRow, by: string): string => `${row.folded ? 'folded' : ''} ${row[by]}`

interface RowProps {
  readonly row: UsageRow
  readonly scope: UsageReport['scope']
  readonly by: string
  readonly decimals: number
  readonly params: URLSearchParams
  readonly isOpen: boolean
  readonly onOpen: () => void
}

function Row({ row, scope, by, decimals, params, isOpen, onOpen }: RowProps) {
  return (
    <tr class={row.folded ? 'folded' : isNobodys(row, by) ? 'apart' : undefined}>
      <th scope="row">
        <Name row={row} scope={scope} by={by} params={params} isOpen={isOpen} onOpen={onOpen} />
      </th>
      <td class="number">{peopleShown(row, scope)}</td>
      <td class="number">{countShown(row.calls)}</td>
      <td class="number">
        <Cost row={row} decimals={decimals} />
      </td>
      <td class="number">{row.cost_share === null ? '–' : shareShown(row.cost_share)}</td>
      <td class="number">{changeOf(row)}</td>
      <td class="number">{row.cost_usd_per_1k_tokens === null ? '–' : priceShown(row.cost_usd_per_1k_tokens)}</td>
      <td>
        <TrustBar trust={row.cost_usd_by_trust} whole={row.cost_usd} />
      </td>
    </tr>
  )
}

function Cost({ row, decimals }: Pick<RowProps, 'row' | 'decimals'>) {
  const shown = decimalShown(row.cost_usd, decimals)
  if (row.cost_usd === '0' && row.unpriced_calls > 0) return <>no price</>
  if (!row.lower_bounds.includes('cost_usd')) return <>{shown}</>
  return <span title="At least: some calls have no price">{shown.startsWith('<') ? '> 0' : `≥ ${shown}`}</span>
}

/** Unnamed calls and folded groups are not names: they say what they are. */
function Name({ row, scope, by, params, isOpen, onOpen }: Omit<RowProps, 'decimals'>) {
  if (row.folded) return <SmallGroups groups={row.groups} least={scope.min_cohort} />
  if (isNobodys(row, by)) {
    return (
      <>
        nobody{by === 'owner' && (row.unattributed ? ': services without an owner' : ': calls without a service')}{' '}
        <a href={linkTo('unattributed', params)}>why?</a>
      </>
    )
  }
  return (
    <button type="button" class="opens" aria-expanded={isOpen} onClick={onOpen}>
      <Breakable>{labelShown(by, row[by])}</Breakable>
    </button>
  )
}

function changeOf({ compared, change_percent: percent }: UsageRow): string {
  if (compared === 'new') return 'new'
  if (compared === 'gone') return 'gone'
  const cost = percent?.['cost_usd']
  return cost === undefined || cost === null ? '–' : changeShown(cost)
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
const questionOf = ({ labels: { scope }, by, zone, filters }: OverviewFigures): UsageQuestion => ({
  from: scope.from,
  to: scope.to,
  as_of: scope.as_of,
  time_zone: zone,
  group_by: by,
  compare: 'previous',
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
    const name = row.folded ? 'small groups' : isNobodys(row, by) ? 'nobody' : String(row[by] ?? '')
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
