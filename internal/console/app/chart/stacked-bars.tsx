import { useState } from 'preact/hooks'
import { type Interval, intervalLabel, tickLabel } from '../../figures/period.js'
import { NAMED_MAX, type Series, type Stack } from '../../figures/stack.js'
import { useWidth } from '../parts/use-width.js'

/**
 * Stacked bars over time, as SVG of our own: a chart library is fifty times as large and draws neither our fills nor a
 * table behind the chart. Lengths in pixels are the only floats; every number that is written comes from exact
 * decimals.
 */

interface BarsProps {
  readonly stack: Stack
  readonly interval: Interval
  readonly zone: string
  readonly dimension: string
  readonly nameOf: (series: Series) => string
  /** An amount with its unit. */
  readonly write: (amount: string) => string
  /** Amounts on the axis, short. */
  readonly writeTick: (amount: number) => string
  /** What the chart shows, for those who do not see it. */
  readonly label: string
}

const HEIGHT = 220
const [LEFT, BOTTOM, TOP] = [64, 22, 8]
const TICKS = 4

export function StackedBars({ stack, interval, zone, dimension, nameOf, write, writeTick, label }: BarsProps) {
  const { frame, width } = useWidth()
  const [chosen, setChosen] = useState<number | undefined>()
  const { bars, series } = stack
  const highest = Math.max(...bars.map(({ total }) => Number(total)), 0)
  const step = tickStep(highest / TICKS)
  const top = Math.max(step, Math.ceil(highest / step) * step)
  const plot = HEIGHT - BOTTOM - TOP
  const y = (amount: number): number => TOP + plot - (amount / top) * plot
  const slot = (width - LEFT) / Math.max(1, bars.length)
  const gap = slot > 6 ? Math.min(slot * 0.2, 12) : 0.5
  const every = Math.ceil(bars.length / Math.max(2, Math.floor((width - LEFT) / 80)))
  const move = (event: KeyboardEvent): void => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (event.key === 'Escape') setChosen(undefined)
    if (by === 0) return
    event.preventDefault()
    setChosen((before) => Math.min(bars.length - 1, Math.max(0, (before ?? (by > 0 ? -1 : bars.length)) + by)))
  }
  const shown = chosen === undefined ? undefined : bars[chosen]
  const names = new Map(series.map((each) => [each.key, nameOf(each)]))
  const words = shown && [
    `${intervalLabel(shown.fromMs, interval, zone)}: ${write(shown.total)}`,
    ...series.flatMap((each, at) => {
      const part = shown.parts[at] ?? '0'
      return part === '0' ? [] : [`${names.get(each.key)} ${write(part)}`]
    }),
  ]

  return (
    <figure class="chart">
      <div ref={frame} class="plot">
        <svg
          width={width}
          height={HEIGHT}
          role="img"
          aria-label={`${label} The table below has the same figures.`}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys go through its bars.
          tabIndex={0}
          onKeyDown={move}
          onBlur={() => setChosen(undefined)}
          onPointerLeave={() => setChosen(undefined)}
        >
          {Array.from({ length: Math.round(top / step) + 1 }, (_, at) => at * step).map((tick) => (
            <g key={tick}>
              <line class="grid" x1={LEFT} x2={width} y1={y(tick)} y2={y(tick)} />
              <text class="tick" x={LEFT - 8} y={y(tick) + 4} text-anchor="end">
                {writeTick(tick)}
              </text>
            </g>
          ))}
          {bars.map((bar, at) => {
            let base = 0
            return (
              <g key={bar.fromMs} onPointerEnter={() => setChosen(at)}>
                <rect
                  class={at === chosen ? 'slot chosen' : 'slot'}
                  x={LEFT + at * slot}
                  y={TOP}
                  width={slot}
                  height={plot}
                />
                {series.map((each, which) => {
                  const amount = Number(bar.parts[which] ?? 0)
                  const [from, to] = [y(base), y(base + amount)]
                  base += amount
                  return amount <= 0 ? null : (
                    <rect
                      key={each.key}
                      class={fillOf(each, dimension)}
                      x={LEFT + at * slot + gap / 2}
                      y={to}
                      width={Math.max(0.5, slot - gap)}
                      height={Math.max(0.5, from - to)}
                    />
                  )
                })}
                {at % every === 0 && (
                  <text class="tick" x={LEFT + at * slot + slot / 2} y={HEIGHT - 6} text-anchor="middle">
                    {tickLabel(bar.fromMs, interval, zone)}
                  </text>
                )}
              </g>
            )
          })}
        </svg>
        <div class="reading" aria-live="polite">
          {words?.map((line, at) => (
            <span key={line} class={at === 0 ? 'strong' : ''}>
              {line}
            </span>
          ))}
        </div>
      </div>
      <figcaption class="legend">
        {series.map((each) => (
          <span key={each.key}>
            <svg width="10" height="10" aria-hidden="true">
              <rect class={fillOf(each, dimension)} width="10" height="10" />
            </svg>
            {names.get(each.key)}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

const BAND_FILL: Readonly<Record<string, string>> = {
  chargeback_ready: 'trust-ready',
  provisional: 'trust-provisional',
  estimated: 'trust-estimated',
}

/** Names have colours, confidence has its four fills, and nobody is empty wherever they appear. */
function fillOf({ kind, key }: Series, dimension: string): string {
  if (kind === 'nobody') return 'trust-nobody'
  if (kind === 'rest') return 'c-rest'
  return (dimension === 'confidence_band' ? BAND_FILL[key] : undefined) ?? `c${colourOf(dimension, key)}`
}

/** Which colour of the palette a name has: the same on every page of a visit, in the order in which names are met. */
const colours = new Map<string, number>()
const next = new Map<string, number>()

/** @returns 1 to `NAMED_MAX` */
function colourOf(dimension: string, name: string): number {
  const key = `${dimension} ${name}`
  const known = colours.get(key)
  if (known !== undefined) return known
  const colour = ((next.get(dimension) ?? 0) % NAMED_MAX) + 1
  next.set(dimension, colour)
  colours.set(key, colour)
  return colour
}

/** 1, 2 or 5 times a power of ten. */
function tickStep(least: number): number {
  if (least <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(least))
  return ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10) * power
}
