import type { Anomaly } from 'attribution-service/sdk/api'
import { linkTo } from '../../../figures/address.js'
import { callsOfHour, timesExpected } from '../../../figures/anomaly.js'
import { decimalShown, decimalsOf } from '../../../figures/shown.js'
import { fieldShown } from '../../../figures/words.js'
import { setParams } from '../../address/address.js'
import { shownPeriod } from '../../address/period.js'
import { useList } from '../../api/use-list.js'
import { useNames } from '../../api/use-names.js'
import { Instant } from '../../parts/instant.js'
import { ListSection } from '../../parts/list-section.js'
import { Party } from '../../parts/name.js'
import { hasScope } from '../../session/session.js'
import type { PageProps } from '../page-props.js'

const PATH = '/api/v1/anomalies'
const HEAD = ['service', '#cost USD', '#expected USD', '#of the expected', 'hour', 'owner', 'provider', 'noticed', '']
const FILTERS = ['service', 'owner', 'provider'] as const

/** Hours in which a service cost far more than it usually does. */
export function Page({ params, zone }: PageProps) {
  const period = shownPeriod(params, zone)
  const filters = Object.fromEntries(FILTERS.map((name) => [name, params.get(name) ?? '']).filter(([, value]) => value))
  const list = useList<Anomaly>(PATH, {
    from: new Date(period.fromMs).toISOString(),
    to: new Date(period.toMs).toISOString(),
    ...filters,
  })
  const decimals = decimalsOf(list.rows.flatMap((row) => [row.observed_usd, row.expected_usd]))
  return (
    <ListSection
      title="Anomalies"
      what="the anomalies"
      about={`${period.label}: hours that cost far more than the same hour of earlier weeks. Webhooks get each once.`}
      actions={FILTERS.map((name) => <Choice key={name} name={name} value={params.get(name) ?? ''} />)}
      list={list}
      head={HEAD}
      empty={`None in ${period.label}${Object.keys(filters).length > 0 ? ' that matches' : ''}. They are kept for 90 days.`}
      row={(anomaly) => (
        <tr key={anomaly.id}>
          <th scope="row">
            <Party>{anomaly.scope.service}</Party>
          </th>
          <td class="number">{decimalShown(anomaly.observed_usd, decimals)}</td>
          <td class="number">{decimalShown(anomaly.expected_usd, decimals)}</td>
          <td class="number">
            <span title={`${anomaly.score.toFixed(1)} robust standard deviations above the usual`}>
              {timesExpected(anomaly)}
            </span>
          </td>
          <td>
            <Instant ms={Date.parse(anomaly.window.from)} zone={zone} />
          </td>
          <td>
            <Party>{anomaly.scope.owner}</Party>
          </td>
          <td>{anomaly.scope.provider}</td>
          <td>
            <Instant ms={Date.parse(anomaly.detected_at)} zone={zone} />
            {anomaly.observed_until < anomaly.window.to && <span class="muted"> while the hour ran</span>}
          </td>
          <td>
            {hasScope('read:attribution') && (
              <a href={linkTo('explorer', params, callsOfHour(anomaly, zone))}>Its calls</a>
            )}
          </td>
        </tr>
      )}
    />
  )
}

/** A name to narrow the list down to. */
function Choice({ name, value }: { readonly name: string; readonly value: string }) {
  const names = useNames(name)
  return (
    <label>
      <span class="hidden">{fieldShown(name)}</span>
      <select data-filter value={value} onChange={({ currentTarget }) => setParams({ [name]: currentTarget.value })}>
        <option value="">every {fieldShown(name)}</option>
        {[...new Set([...(value === '' ? [] : [value]), ...names])].map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </label>
  )
}
