import { type Slots, slotPx } from '../../figures/axis.js'
import { type Form, runsOf, spansOf } from '../../figures/plot.js'
import type { Series, Stack } from '../../figures/stack.js'

/** The parts of a chart in its form: stacked, or as lines. */

interface PartsProps {
  readonly stack: Stack
  readonly form: Form
  readonly slots: Slots
  /** Where an amount is. */
  readonly y: (amount: number) => number
  readonly fillOf: (series: Series) => string
}

const HIDDEN_PX = 6

export function Stacked({ stack: { bars, series }, form, slots, y, fillOf }: PartsProps) {
  const slot = slotPx(slots)
  const gap = slot > 6 ? Math.min(slot * 0.2, 12) : 0.5
  const placed = (at: number) => ({ x: slots.leftPx + at * slot + gap / 2, width: Math.max(0.5, slot - gap) })
  return (
    <>
      {bars.map((bar, at) => (
        <g key={bar.fromMs}>
          {bar.isHidden && <rect class="folded" {...placed(at)} y={y(0) - HIDDEN_PX} height={HIDDEN_PX} />}
          {spansOf(bar, form).map((span, which) => {
            const each = series[which]
            if (span === undefined || each === undefined) return null
            const [top, bottom] = [y(Math.max(...span)), y(Math.min(...span))]
            return (
              <rect
                key={each.key}
                class={fillOf(each)}
                data-series={each.key}
                {...placed(at)}
                y={top}
                height={Math.max(0.5, bottom - top)}
              />
            )
          })}
        </g>
      ))}
    </>
  )
}

export function Lines({ stack, slots, y, fillOf }: PartsProps) {
  const slot = slotPx(slots)
  const x = (at: number): number => slots.leftPx + (at + 0.5) * slot
  return (
    <>
      {stack.series.flatMap((series, which) =>
        runsOf(stack, which).map((run) => (
          <polyline
            key={`${series.key} ${run[0]?.at}`}
            class={`line ${fillOf(series)}`}
            data-series={series.key}
            // A line of no length still has its round ends.
            points={(run.length === 1 ? [...run, ...run] : run)
              .map(({ at, amount }) => `${x(at)},${y(amount)}`)
              .join(' ')}
          />
        )),
      )}
    </>
  )
}
