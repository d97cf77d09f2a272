import { addressOf, sharedParams } from '../../../figures/address.js'
import { type Filter, fieldNamed, filterParams, withFilters } from '../../../figures/filters.js'
import type { Period } from '../../../figures/period.js'
import { costShareShown } from '../../../figures/shares.js'
import { decimalShown, decimalsOf } from '../../../figures/shown.js'
import { isNobodys, type UsageRow } from '../../../figures/usage.js'
import { readUsage, type UsageReport } from '../../api/usage.js'
import { useAnswer } from '../../api/use-answer.js'
import { AndMore } from '../../parts/and-more.js'
import { SmallGroups } from '../../parts/small-groups.js'
import { Shown } from '../../parts/states.js'
import { DIMENSIONS, labelShown } from './dimensions.js'

interface InsideProps {
  readonly row: UsageRow
  readonly by: string
  readonly period: Period
  readonly zone: string
  /** Of the page. */
  readonly filters: readonly Filter[]
  readonly asOf: string
  readonly params: URLSearchParams
}

const PARTS = ['served_model', 'owner', 'ingestion_layer'] as const

/** What a row of the breakdown is made of. */
export function Inside({ row, by, period, zone, filters: filtersOfPage, asOf, params }: InsideProps) {
  const label = String(row[by] ?? '')
  const filters: readonly Filter[] = [...filtersOfPage, { field: by, operator: 'eq', value: label }]
  const parts = PARTS.filter((part) => part !== by)
  const answer = useAnswer(JSON.stringify([by, label, asOf, period, zone, filters]), (signal) => {
    const question = {
      from: new Date(period.fromMs).toISOString(),
      to: new Date(period.toMs).toISOString(),
      as_of: asOf,
      time_zone: zone,
      sort: '-cost_usd',
      ...filterParams(filters),
    }
    return Promise.all(parts.map((part) => readUsage({ ...question, group_by: part }, signal)))
  })
  return (
    <Shown answer={answer} what="what is inside" placeholder={<p class="muted">…</p>}>
      {(reports) => (
        <>
          <div class="parts">
            {reports.map((report, at) => (
              <Part key={parts[at]} report={report} part={parts[at] ?? ''} />
            ))}
          </div>
          {fieldNamed(by) !== undefined && (
            <p>
              <a href={addressOf('explorer', withFilters(sharedParams(params), filters))}>
                Every call of {labelShown(by, label)}
              </a>
            </p>
          )}
        </>
      )}
    </Shown>
  )
}

const LISTED_MAX = 6

function Part({ report: { rows, scope, suppressed }, part }: { readonly report: UsageReport; readonly part: string }) {
  if (suppressed !== undefined) return <p class="muted">Too few people to split by {DIMENSIONS[part]}.</p>
  const decimals = decimalsOf(rows.map((row) => row.cost_usd))
  return (
    <table class="figures small">
      <thead>
        <tr>
          <th scope="col">{DIMENSIONS[part]}</th>
          <th scope="col" class="number">
            cost USD
          </th>
          <th scope="col" class="number">
            of this
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, LISTED_MAX).map((row) => (
          <tr key={`${row.folded} ${row[part]}`} class={row.folded ? 'folded' : undefined}>
            <th scope="row">
              {row.folded ? (
                <SmallGroups groups={row.groups} least={scope.min_cohort} />
              ) : isNobodys(row, part) ? (
                'nobody'
              ) : (
                labelShown(part, row[part])
              )}
            </th>
            <td class="number">{decimalShown(row.cost_usd, decimals)}</td>
            <td class="number">{costShareShown(row, scope)}</td>
          </tr>
        ))}
        <AndMore columns={3} count={rows.length - LISTED_MAX} />
      </tbody>
    </table>
  )
}
