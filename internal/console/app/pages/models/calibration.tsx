import { countShown, shareOf } from '../../../figures/shown.js'
import { Scroll } from '../../parts/scroll.js'
import type { Bin } from './model.js'

/** How often the model was right, by how sure it was. On the line, it was right as often as it said. */

const SIZE = 240
const [LEFT, BOTTOM, TOP, RIGHT] = [44, 28, 10, 10]
/** The largest circle is whole at each corner. */
const INSET = 10
const FLOOR = 0.8
const TICKS = [0, 0.5, 1]

export function Calibration({ bins }: { readonly bins: readonly Bin[] }) {
  const x = (share: number): number => LEFT + INSET + share * (SIZE - LEFT - RIGHT - 2 * INSET)
  const y = (share: number): number => SIZE - BOTTOM - INSET - share * (SIZE - BOTTOM - TOP - 2 * INSET)
  const most = Math.max(1, ...bins.map(({ n }) => n))
  return (
    <figure class="chart">
      <svg
        width={SIZE}
        height={SIZE}
        role="img"
        aria-label="Calibration: how often the model was right, by how sure it was. The table has the same figures."
      >
        {TICKS.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={x(0)} x2={x(1)} y1={y(tick)} y2={y(tick)} />
            <text class="tick" x={LEFT - 6} y={y(tick) + 4} text-anchor="end">
              {tick * 100} %
            </text>
            <text class="tick" x={x(tick)} y={SIZE - 10} text-anchor="middle">
              {tick * 100} %
            </text>
          </g>
        ))}
        <line class="pace" x1={x(0)} y1={y(0)} x2={x(1)} y2={y(1)} />
        <line class="scale-floor" x1={x(FLOOR)} x2={x(FLOOR)} y1={y(0)} y2={y(1)} />
        {bins.map(({ from, n, mean_probability: sure, accuracy }) => (
          <circle key={from} class="bin" cx={x(sure)} cy={y(accuracy)} r={3 + 7 * Math.sqrt(n / most)} />
        ))}
      </svg>
      <figcaption class="muted">
        Up: how often it was right. To the right: how sure it was. Thick: the floor of 0.80.
      </figcaption>
      <Scroll label="Table of the calibration">
        <table class="figures small">
          <thead>
            <tr>
              <th scope="col">said</th>
              <th scope="col" class="number">
                calls
              </th>
              <th scope="col" class="number">
                sure on average
              </th>
              <th scope="col" class="number">
                right
              </th>
            </tr>
          </thead>
          <tbody>
            {bins.map(({ from, to, n, mean_probability: sure, accuracy }) => (
              <tr key={from}>
                <th scope="row">
                  {shareOf(from, 0)} – {shareOf(to, 0)}
                </th>
                <td class="number">{countShown(Math.round(n))}</td>
                <td class="number">{shareOf(sure)}</td>
                <td class="number">{shareOf(accuracy)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </figure>
  )
}
