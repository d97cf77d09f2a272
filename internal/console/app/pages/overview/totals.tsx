import type { ReportScope } from 'attribution-service/sdk/api'
import { Fragment } from 'preact'
import { formatDifference, formatQuantity, parseSum, type Quantity, sum } from '../../../../units/quantity.js'
import { addressOf, linkTo, sharedParams } from '../../../figures/address.js'
import { type Filter, withFilters } from '../../../figures/filters.js'
import { spanLabel } from '../../../figures/period.js'
import { fractionOf } from '../../../figures/shares.js'
import {
  callsShown,
  changeShown,
  countShort,
  countShown,
  measureShown,
  shareShown,
  usdShown,
} from '../../../figures/shown.js'
import { chargedToNobody, notCharged, TRUST_PARTS, trustOfAll } from '../../../figures/trust.js'
import type { UsageRow } from '../../../figures/usage.js'
import { wordOf } from '../../../figures/words.js'
import { Ago, Instant } from '../../parts/instant.js'
import { TRUST_FILL, TRUST_WORDS, TrustBar } from '../../parts/trust-bar.js'
import { ComparedWith } from './compared-with.js'
import { Forecast } from './forecast.js'
import type { OverviewFigures } from './load.js'

interface TotalsProps {
  readonly figures: OverviewFigures
  /** Undefined where it is not known. */
  readonly newestAtMs: number | undefined
}

/** The totals of the period, and how far the money can be trusted. */
export function Totals({ figures, newestAtMs }: TotalsProps) {
  const { charging, asOfMs, period, zone, by, stated, filters } = figures
  const { rows, scope } = charging
  const total = scope.total_cost_usd
  const calls = rows.reduce((all, row) => all + row.calls, 0)
  const unpriced = rows.reduce((all, row) => all + row.unpriced_calls, 0)
  const isLowerBound = rows.some((row) => row.lower_bounds.includes('energy_wh'))
  const energy = measureShown(sumOf(rows, 'energy_wh'), 'energy')
  const estimated = sumOf(rows, 'energy_class_estimate_wh')
  const carbon = measureShown(sumOf(rows, 'carbon_gco2e'), 'carbon')
  const params = new URLSearchParams(location.search)
  const notional = scope.total_notional_cost_usd ?? '0'
  return (
    <section
      class="totals"
      aria-label="Totals"
      data-scope={JSON.stringify({ by, stated, zone, filters, ...asked(scope) })}
    >
      <div class="total">
        <p class="figure">
          <span class="unit">USD</span> <output data-total={total}>{usdShown(total)}</output>
        </p>
        <Change scope={scope} zone={zone} />
        <ComparedWith period={period} zone={zone} params={params} />
        <Forecast figures={figures} />
        <p class="muted">
          {isLowerBound && 'at least '}
          {energy} · {carbon} · <span title={countShown(calls)}>{countShort(calls)} calls</span>
          {newestAtMs !== undefined && (
            <>
              {' '}
              · newest <Ago ms={newestAtMs} />
            </>
          )}
        </p>
        {estimated !== '0' && (
          <p class="muted">
            {measureShown(estimated, 'energy')} of it estimated by class, for models whose size nobody states
          </p>
        )}
        {notional !== '0' && (
          <p class="muted">
            beside it USD {usdShown(notional)} notional: stated for calls that <Notional params={params} />
          </p>
        )}
        <p class="muted">
          {period.label}, as of <Instant ms={asOfMs} zone={zone} />
        </p>
      </div>
      <div class="trusted">
        <Trusted rows={rows} total={total} filters={filters} params={params} />
        {unpriced > 0 && (
          <p class="notice">
            {callsShown(unpriced)} {unpriced === 1 ? 'has no price: its' : 'have no price: their'} cost is not in the
            total. <a href={linkTo('unattributed', params)}>Which models?</a>
          </p>
        )}
      </div>
    </section>
  )
}

interface TrustedProps {
  /** A row per reason why calls can or cannot be charged. */
  readonly rows: readonly UsageRow[]
  readonly total: string
  readonly filters: OverviewFigures['filters']
  readonly params: URLSearchParams
}

/** How much of the total a chargeback file has, and why it has no more. */
function Trusted({ rows, total, filters, params }: TrustedProps) {
  const trust = trustOfAll(rows)
  const withoutOwner = chargedToNobody(rows)
  const left = rows.map((row) => ({ row, cost: notCharged(row) })).filter(({ cost }) => cost !== '0')
  return (
    <>
      <p class="of-this">of this</p>
      <TrustBar trust={trust} whole={total} isWide />
      <ul class="shares" data-chargeable={trust.eligible}>
        {TRUST_PARTS.filter((part) => part === 'eligible' || trust[part] !== '0').map((part) => (
          <li key={part}>
            <svg class="square" aria-hidden="true">
              <rect class={TRUST_FILL[part]} width="100%" height="100%" />
            </svg>
            {shareShown(fractionOf(trust[part], total) ?? '0')} {TRUST_WORDS[part]}{' '}
            <span class="muted">USD {usdShown(trust[part])}</span>
          </li>
        ))}
      </ul>
      {left.length > 0 && (
        <p class="muted">
          Not charged:{' '}
          {left.map(({ row, cost }, at) => (
            <Fragment key={`${row.folded} ${row['export_eligibility']}`}>
              {at > 0 && ' · '}
              <Reason row={row} filters={filters} params={params} /> {usdShown(cost)}
            </Fragment>
          ))}
        </p>
      )}
      {withoutOwner !== '0' && (
        <p class="muted">
          USD {usdShown(withoutOwner)} of what can be charged is of services that{' '}
          <a href={linkTo('unattributed', params)}>have no owner</a>.
        </p>
      )}
    </>
  )
}

/** Why calls are not charged, as a link to them. */
function Reason({ row, filters, params }: Pick<TrustedProps, 'filters' | 'params'> & { readonly row: UsageRow }) {
  const reason = row['export_eligibility']
  if (row.folded || typeof reason !== 'string') return <>small groups</>
  const all: readonly Filter[] = [...filters, { field: 'export_eligibility', operator: 'eq', value: reason }]
  return <a href={addressOf('explorer', withFilters(sharedParams(params), all))}>{wordOf(reason)}</a>
}

const Notional = ({ params }: { readonly params: URLSearchParams }) => (
  <a href={linkTo('explorer', params, { 'filter[export_eligibility][eq]': 'notional' })}>nobody is billed for</a>
)

/** What these figures are of, for the tests. */
const asked = ({ from, to, as_of }: ReportScope) => ({ from, to, as_of })

function Change({ scope, zone }: { readonly scope: OverviewFigures['charging']['scope']; readonly zone: string }) {
  const { total_cost_usd: total, compared_with: before } = scope
  if (before === undefined) return null
  const label = spanLabel(Date.parse(before.from), Date.parse(before.to), zone)
  if (before.total_cost_usd === null) {
    return <p class="muted">No figure of {label} to compare with: it has too few people, or no calls.</p>
  }
  const change = formatDifference(parseSum<'USD'>(total), parseSum<'USD'>(before.total_cost_usd))
  const fraction = fractionOf(change, before.total_cost_usd)
  if (fraction === undefined) return <p class="muted">nothing in {label}</p>
  const arrow = change === '0' ? '=' : change.startsWith('-') ? '▼' : '▲'
  return (
    <p title={`USD ${usdShown(before.total_cost_usd)} then`}>
      <span aria-hidden="true">{arrow}</span> {changeShown(fraction)} <span class="muted">on {label}</span>
    </p>
  )
}

const sumOf = (rows: readonly UsageRow[], name: 'energy_wh' | 'energy_class_estimate_wh' | 'carbon_gco2e'): string =>
  formatQuantity(sum(rows.map((row) => parseSum(row[name] ?? '0')) as Quantity<'Wh'>[]))
