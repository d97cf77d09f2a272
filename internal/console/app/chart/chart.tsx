import { useMemo } from 'preact/hooks'
import { labelPx, labelsThatFit, type Slots, slotPx, ticksOf } from '../../figures/axis.js'
import { marksByInterval } from '../../figures/mark-places.js'
import type { Mark } from '../../figures/marks.js'
import { type Interval, intervalLabel, tickLabel } from '../../figures/period.js'
import { type Form, rangeOf } from '../../figures/plot.js'
import type { Bar, Series, Stack } from '../../figures/stack.js'
import { useWidth } from '../parts/use-width.js'
import { fillsOf } from './fills.js'
import { MARK_WORDS, Signs } from './mark-signs.js'
import { Lines, Stacked } from './parts.js'
import { type Pick, usePick } from './pick.js'

/**
 * Amounts over time, as SVG of our own: a chart library is fifty times as large and draws neither our fills nor a
 * table behind the chart. Lengths in pixels are the only floats; every number that is written comes from exact
 * decimals.
 */

interface ChartProps {
  readonly stack: Stack
  readonly form: Form
  readonly interval: Interval
  readonly zone: string
  readonly dimension: string
  readonly marks: readonly Mark[]
  readonly nameOf: (series: Series) => string
  /** What is read of one bar, or of several: the sum, then their parts. */
  readonly read: (bars: readonly Bar[]) => readonly string[]
  /** Amounts on the axis, short; their unit stands above it. */
  readonly writeTick: (amount: number) => string
  readonly unit: string
  /** What the chart shows, for those who do not see it. */
  readonly label: string
  /** Goes to some intervals; undefined where the person may not. @param series that was clicked, if any */
  readonly open: ((fromMs: number, toMs: number, series: Series | undefined) => void) | undefined
}

const HEIGHT = 236
const [TOP, BOTTOM] = [24, 22]

export function Chart(props: ChartProps) {
  const { stack, form, interval, zone, dimension, marks, nameOf, read, writeTick, unit, label, open } = props
  const { frame, width } = useWidth()
  const { bars, series } = stack
  const ticks = ticksOf(...rangeOf(stack, form))
  const [lowest, highest] = [ticks[0] ?? 0, ticks.at(-1) ?? 1]
  const plot = HEIGHT - BOTTOM - TOP
  const y = (amount: number): number => TOP + ((highest - amount) / (highest - lowest)) * plot
  const texts = ticks.map(writeTick)
  const slots: Slots = { count: bars.length, leftPx: Math.max(...texts.map(labelPx)) + 10, widthPx: width }
  const happened = marksByInterval(
    marks,
    bars.map(({ fromMs }) => fromMs),
    bars.at(-1)?.toMs ?? 0,
  )
  const openPick =
    open &&
    (({ first, last }: Pick, key: string | undefined): void => {
      const [from, to] = [bars[first], bars[last]]
      if (from === undefined || to === undefined) return
      open(
        from.fromMs,
        to.toMs,
        series.find((each) => each.key === key),
      )
    })
  const { pick, handlers } = usePick(slots, openPick)
  const fillOf = useMemo(() => fillsOf(series, dimension), [series, dimension])
  // What does not change while the pointer moves.
  const drawn = useMemo(() => {
    const Parts = form === 'lines' ? Lines : Stacked
    const labels = bars.map(({ fromMs }) => tickLabel(fromMs, interval, zone))
    return (
      <>
        {ticks.map((tick, at) => (
          <g key={tick}>
            <line class={tick === 0 ? 'axis' : 'grid'} x1={slots.leftPx} x2={width} y1={y(tick)} y2={y(tick)} />
            <text class="tick" x={slots.leftPx - 8} y={y(tick) + 4} text-anchor="end">
              {texts[at]}
            </text>
          </g>
        ))}
        <text class="tick" x="0" y="10">
          {unit}
        </text>
        <Parts stack={stack} form={form} slots={slots} y={y} fillOf={fillOf} />
        {labelsThatFit(labels, slots).map(({ at, xPx }) => (
          <text key={at} class="tick" x={xPx} y={HEIGHT - 6} text-anchor="middle">
            {labels[at]}
          </text>
        ))}
        <Signs marks={happened} slots={slots} yPx={8} bottomPx={HEIGHT - BOTTOM} />
      </>
    )
  }, [stack, form, width, zone, marks, fillOf])
  const picked = pick === undefined ? [] : bars.slice(pick.first, pick.last + 1)

  return (
    <figure class="chart">
      <div ref={frame} class="plot">
        <svg
          width={width}
          height={HEIGHT}
          class={open === undefined ? undefined : 'opens-bars'}
          role="application"
          aria-roledescription="chart"
          aria-label={`${label} The table below has the same figures. ${open === undefined ? '' : KEYS}`}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys go through its bars.
          tabIndex={0}
          {...handlers}
        >
          <defs>
            <pattern id="folded" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">
              <rect class="hatch-paper" width="5" height="5" />
              <rect class="folded-ink" width="2" height="5" />
            </pattern>
          </defs>
          {pick !== undefined && (
            <rect
              class="slot chosen"
              x={slots.leftPx + pick.first * slotPx(slots)}
              y={TOP}
              width={picked.length * slotPx(slots)}
              height={plot}
            />
          )}
          {drawn}
        </svg>
        <div class="reading" aria-live="polite">
          {picked.length === 0 && open !== undefined && <span class="muted hint">{HINT}</span>}
          {picked.length > 0 &&
            [
              ...[intervalsLabel(picked, interval, zone), ...read(picked)],
              ...picked.flatMap((_, at) => happened.get((pick?.first ?? 0) + at) ?? []).map(markText),
            ].map((line, at) => (
              <span key={line} class={at < 2 ? 'strong' : ''}>
                {line}
              </span>
            ))}
        </div>
      </div>
      <figcaption class="legend">
        {series.map((each) => (
          <span key={each.key}>
            <svg width="10" height="10" aria-hidden="true">
              <rect class={fillOf(each)} width="10" height="10" />
            </svg>
            {nameOf(each)}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

const KEYS = 'The arrow keys choose a bar, with Shift several; Enter goes there.'
const HINT = matchMedia('(pointer: coarse)').matches
  ? 'A tap on a bar reads it, another one goes there.'
  : 'Click a bar to go there, or draw over several.'

const markText = ({ kind, text }: Mark): string => `${MARK_WORDS[kind]}: ${text}`

function intervalsLabel(bars: readonly Bar[], interval: Interval, zone: string): string {
  const labelOf = (bar: Bar | undefined): string => intervalLabel(bar?.fromMs ?? 0, interval, zone)
  return bars.length === 1 ? labelOf(bars[0]) : `${labelOf(bars[0])} – ${labelOf(bars.at(-1))}`
}
