import type { ReportScope } from 'attribution-service/sdk/api'
import { formatDifference, formatQuantity, parseSum, type Quantity, sum } from '../../../../units/quantity.js'
import { linkTo } from '../../../figures/address.js'
import { spanLabel } from '../../../figures/period.js'
import {
  callsShown,
  changeShown,
  countShort,
  countShown,
  measureShown,
  shareShown,
  usdShown,
} from '../../../figures/shown.js'
import { fractionOf, percentOf, TRUST_PARTS, trustOfAll } from '../../../figures/trust.js'
import type { UsageRow } from '../../../figures/usage.js'
import { Ago, Instant } from '../../parts/instant.js'
import { TRUST_WORDS, TrustBar } from '../../parts/trust-bar.js'
import type { OverviewFigures } from './load.js'

interface TotalsProps {
  readonly figures: OverviewFigures
  /** Undefined where it is not known. */
  readonly newestAtMs: number | undefined
}

/** The totals of the period, and how far the money can be trusted. */
export function Totals({ figures, newestAtMs }: TotalsProps) {
  const { bands, asOfMs, period, zone, by, stated, filters } = figures
  const { rows, scope } = bands
  const total = scope.total_cost_usd
  const trust = trustOfAll(rows)
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
        <p class="of-this">of this</p>
        <TrustBar trust={trust} whole={total} isWide />
        <ul class="shares">
          {TRUST_PARTS.map((part) => (
            <li key={part} title={`USD ${usdShown(trust[part])}`}>
              {shareShown(fractionOf(trust[part], total) ?? '0')} {TRUST_WORDS[part]}
            </li>
          ))}
        </ul>
        {unpriced > 0 && (
          <p class="notice">
            {callsShown(unpriced)} {unpriced === 1 ? 'has' : 'have'} no price: their cost is not in the total.{' '}
            <a href={linkTo('unattributed', params)}>Which models?</a>
          </p>
        )}
      </div>
    </section>
  )
}

const Notional = ({ params }: { readonly params: URLSearchParams }) => (
  <a href={linkTo('explorer', params, { 'filter[export_eligibility][eq]': 'notional' })}>nobody is billed for</a>
)

/** What these figures are of, for the tests. */
const asked = ({ from, to, as_of }: ReportScope) => ({ from, to, as_of })

function Change({ scope, zone }: { readonly scope: OverviewFigures['bands']['scope']; readonly zone: string }) {
  const { total_cost_usd: total, compared_with: before } = scope
  if (before === undefined) return null
  const label = spanLabel(Date.parse(before.from), Date.parse(before.to), zone)
  if (before.total_cost_usd === null) {
    return <p class="muted">No figure of {label} to compare with: it has too few people, or no calls.</p>
  }
  if (parseSum(before.total_cost_usd) === 0n) return <p class="muted">nothing in {label}</p>
  const change = formatDifference(parseSum<'USD'>(total), parseSum<'USD'>(before.total_cost_usd))
  const percent = percentOf(change, before.total_cost_usd)
  const arrow = change === '0' ? '=' : change.startsWith('-') ? '▼' : '▲'
  return (
    <p title={`USD ${usdShown(before.total_cost_usd)} in the same length of time before`}>
      <span aria-hidden="true">{arrow}</span> {changeShown(percent)} <span class="muted">on {label}</span>
    </p>
  )
}

const sumOf = (rows: readonly UsageRow[], name: 'energy_wh' | 'energy_class_estimate_wh' | 'carbon_gco2e'): string =>
  formatQuantity(sum(rows.map((row) => parseSum(row[name] ?? '0')) as Quantity<'Wh'>[]))
