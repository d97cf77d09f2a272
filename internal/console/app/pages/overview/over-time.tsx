import { intervalLabel, intervalsOf } from '../../../figures/period.js'
import { countShown, decimalShown, decimalsOf, measureShown, usdShown } from '../../../figures/shown.js'
import { NOBODY, type Series, type Stack, stackOf } from '../../../figures/stack.js'
import { isNobodys, type Measure } from '../../../figures/usage.js'
import { StackedBars } from '../../chart/stacked-bars.js'
import { DownloadCsv } from '../../parts/download-csv.js'
import { Scroll } from '../../parts/scroll.js'
import { DIMENSIONS, labelShown } from './dimensions.js'
import type { OverviewFigures } from './load.js'

interface OverTimeProps {
  readonly figures: OverviewFigures
  readonly measure: Measure
}

const MEASURED: Readonly<Record<Measure, { readonly title: string; readonly unit: string }>> = {
  cost_usd: { title: 'Cost', unit: 'USD' },
  energy_wh: { title: 'Energy', unit: 'Wh' },
  carbon_gco2e: { title: 'Carbon', unit: 'gCO₂e' },
  calls: { title: 'Calls', unit: 'calls' },
}

const writers: Readonly<Record<Measure, (amount: string) => string>> = {
  cost_usd: (amount) => `USD ${usdShown(amount)}`,
  energy_wh: (amount) => measureShown(amount, 'energy'),
  carbon_gco2e: (amount) => measureShown(amount, 'carbon'),
  calls: (amount) => `${countShown(Number(amount))} calls`,
}

/** The chart, its table and its CSV: one stack of exact figures. */
export function OverTime({ figures, measure }: OverTimeProps) {
  const { period, zone, by } = figures
  const order = figures.labels.rows.filter((row) => !row.folded && !isNobodys(row, by)).map((row) => String(row[by]))
  const stack = stackOf(figures.intervals.rows, figures.cells, intervalsOf(period, zone), by, order, measure)
  const { title, unit } = MEASURED[measure]
  const dimension = DIMENSIONS[by] ?? by
  const step = period.interval === '15m' ? '15 minutes' : period.interval
  const nameOf = ({ kind, key }: Series): string =>
    kind === 'named' ? labelShown(by, key) : kind === 'nobody' ? 'nobody' : 'other'
  if (figures.intervals.rows.length === 0) return <p class="state muted">No calls in {period.label}.</p>
  return (
    <section aria-label={`${title} over time`} data-chart-total={stack.total}>
      <StackedBars
        stack={stack}
        interval={period.interval}
        zone={zone}
        dimension={by}
        nameOf={nameOf}
        write={writers[measure]}
        writeTick={(amount) => tickShown(amount, measure)}
        label={`${title} per ${step} by ${dimension}, ${period.label}.`}
      />
      {stack.together !== '0' && (
        <p class="notice">
          {writers[measure](stack.together)} were made in times with fewer than five people each. They are in the
          totals, and in no bar.
        </p>
      )}
      <details class="behind">
        <summary>Table of this chart</summary>
        <DownloadCsv
          name={`${measure}-by-${by}-over-time`}
          head={['from', ...stack.series.map(nameOf), `total_${unit}`]}
          rows={() => [
            ...stack.bars.map(({ fromMs, parts, total }) => [new Date(fromMs).toISOString(), ...parts, total]),
            ...(stack.together === '0' ? [] : [['shown together', ...stack.series.map(() => ''), stack.together]]),
          ]}
        />
        <StackTable
          stack={stack}
          period={period}
          zone={zone}
          nameOf={nameOf}
          unit={unit}
          isCount={measure === 'calls'}
        />
      </details>
    </section>
  )
}

function tickShown(amount: number, measure: Measure): string {
  const text = amount.toFixed(9).replace(/\.?0+$/, '')
  if (measure === 'calls') return countShown(amount)
  if (measure === 'cost_usd') return `USD ${amount >= 1 ? decimalShown(text, 0) : text}`
  return measureShown(text, measure === 'energy_wh' ? 'energy' : 'carbon')
}

interface StackTableProps extends Pick<OverviewFigures, 'period' | 'zone'> {
  readonly stack: Stack
  readonly nameOf: (series: Series) => string
  readonly unit: string
  readonly isCount: boolean
}

function StackTable({ stack, period, zone, nameOf, unit, isCount }: StackTableProps) {
  const decimals = isCount ? 0 : decimalsOf(stack.bars.map(({ total }) => total))
  return (
    <Scroll label="Table of the chart">
      <table class="figures">
        <thead>
          <tr>
            <th scope="col">from</th>
            {stack.series.map((each) => (
              <th key={each.key} scope="col" class="number">
                {each.key === NOBODY ? 'nobody' : nameOf(each)}
              </th>
            ))}
            <th scope="col" class="number">
              total {unit}
            </th>
          </tr>
        </thead>
        <tbody>
          {stack.bars.map((bar) => (
            <tr key={bar.fromMs}>
              <th scope="row">{intervalLabel(bar.fromMs, period.interval, zone)}</th>
              {bar.parts.map((part, at) => (
                <td key={stack.series[at]?.key} class="number">
                  {decimalShown(part, decimals)}
                </td>
              ))}
              <td class="number">{decimalShown(bar.total, decimals)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}
