import { type BurnDown, leftAt, markOn } from '../../../figures/burn-down.js'
import { reachedOf } from '../../../figures/crossings.js'
import { timeShown } from '../../../figures/period.js'
import { decimalShown, decimalsOf, usdShown } from '../../../figures/shown.js'
import { Scroll } from '../../parts/scroll.js'
import { useWidth } from '../../parts/use-width.js'
import type { Budget, Current } from './budget.js'

/**
 * The rest of a budget over its period: the line falls from the ceiling, and is dashed where it is a forecast. Lengths
 * in pixels are the only floats.
 */

const HEIGHT = 220
const LABEL_HEIGHT = 14
const [LEFT, RIGHT, TOP, BOTTOM] = [72, 48, 12, 24]

interface ChartProps {
  readonly budget: Budget
  readonly current: Current
  readonly figures: BurnDown
  readonly zone: string
}

export function BurnDownChart({ budget, current, figures, zone }: ChartProps) {
  const { frame, width } = useWidth()
  const [fromMs, toMs] = [Date.parse(current.from), Date.parse(current.to)]
  const end = current.forecast_usd === null ? undefined : leftAfter(budget.ceiling_usd, current.forecast_usd)
  const ceiling = Number(budget.ceiling_usd)
  const crossings = current.crossings ?? []
  const levels = crossings.map(({ threshold }) => Number(leftAt(budget.ceiling_usd, threshold)))
  const lefts = figures.points.map(({ left }) => Number(left))
  const lowest = Math.min(0, ...lefts, ...(end === undefined ? [] : [end]), ...levels.filter((left) => left > -ceiling))
  const x = (ms: number): number => LEFT + ((ms - fromMs) / (toMs - fromMs)) * (width - LEFT - RIGHT)
  const y = (left: number): number => TOP + ((ceiling - left) / (ceiling - lowest)) * (HEIGHT - TOP - BOTTOM)
  const last = figures.points.at(-1)
  // The highest threshold has its label; of those above it, the ones that do not overlap.
  const isApart = (which: number): boolean =>
    crossings
      .slice(which + 1)
      .every((_, later) => y(levels[which + 1 + later] ?? 0) - y(levels[which] ?? 0) >= LABEL_HEIGHT)
  return (
    <figure class="chart">
      <div ref={frame} class="plot">
        <svg width={width} height={HEIGHT} role="img" aria-label={inWords(budget, current, last?.left ?? '', zone)}>
          {[ceiling, 0].map((left) => (
            <g key={left}>
              <line class={left === 0 ? 'axis' : 'grid'} x1={LEFT} x2={width - RIGHT} y1={y(left)} y2={y(left)} />
              <text class="tick" x={LEFT - 8} y={y(left) + 4} text-anchor="end">
                {left === 0 ? '0' : usdShown(budget.ceiling_usd)}
              </text>
            </g>
          ))}
          <line class="pace" x1={x(fromMs)} y1={y(ceiling)} x2={x(toMs)} y2={y(0)} />
          {crossings.map(({ threshold }, which) => {
            const level = levels[which] ?? 0
            return level < lowest ? null : (
              <g key={threshold}>
                <line class="level" x1={LEFT} x2={width - RIGHT} y1={y(level)} y2={y(level)} />
                {isApart(which) && (
                  <text class="tick" x={width - RIGHT + 6} y={y(level) + 4}>
                    {threshold} %
                  </text>
                )}
              </g>
            )
          })}
          <polyline
            class="left"
            points={figures.points.map(({ atMs, left }) => `${x(atMs)},${y(Number(left))}`).join(' ')}
          />
          {reachedOf(crossings, current.percent).map(({ threshold, at }) => {
            const toldMs = at === null ? undefined : Date.parse(at)
            const mark = markOn(figures.points, leftAt(budget.ceiling_usd, threshold), toldMs)
            return (
              mark && (
                <circle key={threshold} class="crossing" cx={x(mark.atMs)} cy={y(mark.left)} r="5">
                  <title>{threshold} %</title>
                </circle>
              )
            )
          })}
          {last !== undefined && end !== undefined && (
            <line class="forecast" x1={x(last.atMs)} y1={y(Number(last.left))} x2={x(toMs)} y2={y(end)} />
          )}
          <text class="tick" x={LEFT} y={HEIGHT - 6}>
            {timeShown(fromMs, zone)}
          </text>
          <text class="tick" x={width - RIGHT} y={HEIGHT - 6} text-anchor="end">
            {timeShown(toMs, zone)}
          </text>
        </svg>
      </div>
      <figcaption class="muted">
        USD left. Thin: an even pace. Dashed: the forecast, if calls go on as they did so far. Marks: thresholds that
        were crossed.
      </figcaption>
    </figure>
  )
}

const leftAfter = (ceiling: string, spent: string): number => Number(ceiling) - Number(spent)

function inWords({ ceiling_usd: ceiling }: Budget, current: Current, left: string, zone: string): string {
  const crossed = (current.crossings ?? []).flatMap(({ threshold, crossed_at: at }) =>
    at === null ? [] : [`${threshold} % crossed ${timeShown(Date.parse(at), zone)}`],
  )
  const forecast = current.forecast_usd === null ? [] : [`forecast USD ${usdShown(current.forecast_usd)}`]
  return [`USD ${usdShown(left)} left of ${usdShown(ceiling)}`, ...forecast, ...crossed].join('; ')
}

/** The same figures, to be read. */
export function BurnDownTable({ figures, zone }: Pick<ChartProps, 'figures' | 'zone'>) {
  const decimals = decimalsOf(figures.points.map(({ left }) => left))
  return (
    <details class="behind">
      <summary>Table of this chart</summary>
      <Scroll label="Table of the chart">
        <table class="figures small">
          <thead>
            <tr>
              <th scope="col">until</th>
              <th scope="col" class="number">
                left USD
              </th>
            </tr>
          </thead>
          <tbody>
            {figures.points.map(({ atMs, left }, at) => (
              <tr key={`${atMs} ${at === 0 ? 'start' : left}`}>
                <th scope="row">{timeShown(atMs, zone)}</th>
                <td class="number">{decimalShown(left, decimals)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </details>
  )
}
