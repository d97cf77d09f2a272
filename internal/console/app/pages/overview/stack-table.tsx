import { intervalLabel } from '../../../figures/period.js'
import { decimalShown, decimalsOf } from '../../../figures/shown.js'
import type { Series, Stack } from '../../../figures/stack.js'
import type { Measure } from '../../../figures/usage.js'
import { DownloadCsv } from '../../parts/download-csv.js'
import { Scroll } from '../../parts/scroll.js'
import type { OverviewFigures } from './load.js'

interface StackTableProps {
  readonly stack: Stack
  readonly figures: Pick<OverviewFigures, 'period' | 'zone' | 'by' | 'areCellsCut'>
  readonly measure: Measure
  readonly nameOf: (series: Series) => string
  readonly unit: string
}

/** The figures of a chart, to be read and to be taken along. */
export function StackTable({ stack, figures, measure, nameOf, unit }: StackTableProps) {
  const { period, zone, by } = figures
  const notKnown = `among the small groups${figures.areCellsCut ? ' or the others' : ''}, if there is anything`
  const decimals = measure === 'calls' ? 0 : decimalsOf(stack.bars.map(({ total }) => total))
  const isPartKnown = stack.bars.every(({ parts }) => !parts.includes(undefined))
  return (
    <details class="behind">
      <summary>Table of this chart</summary>
      <DownloadCsv
        name={`${measure}-by-${by}-over-time`}
        head={['from', ...stack.series.map(nameOf), `total_${unit}`]}
        rows={() => [
          ...stack.bars
            .filter(({ isHidden }) => !isHidden)
            .map(({ fromMs, parts, total }) => [
              new Date(fromMs).toISOString(),
              ...parts.map((part) => part ?? null),
              total,
            ]),
          ...(stack.together === '0' ? [] : [['shown together', ...stack.series.map(() => null), stack.together]]),
        ]}
      />
      <Scroll label="Table of the chart">
        <table class="figures">
          <thead>
            <tr>
              <th scope="col">from</th>
              {stack.series.map((each) => (
                <th key={each.key} scope="col" class="number">
                  {nameOf(each)}
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
                {bar.isHidden ? (
                  <td class="muted" colSpan={stack.series.length + 1}>
                    no calls, or those of too few people
                  </td>
                ) : (
                  <>
                    {bar.parts.map((part, at) => (
                      <td key={stack.series[at]?.key} class="number">
                        {part === undefined ? <span title={notKnown}>–</span> : decimalShown(part, decimals)}
                      </td>
                    ))}
                    <td class="number">{decimalShown(bar.total, decimals)}</td>
                  </>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {!isPartKnown && <p class="muted">–: {notKnown}.</p>}
    </details>
  )
}
