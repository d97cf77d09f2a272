import { type Slots, slotPx } from '../../figures/axis.js'
import type { Mark } from '../../figures/marks.js'

/** Marks of what happened: signs above the bars. */

export const MARK_WORDS: Readonly<Record<Mark['kind'], string>> = {
  annotation: 'note',
  anomaly: 'anomaly',
  budget: 'budget',
  'price book': 'price book',
}

/** Each kind has a form of its own, within 8 by 8 pixels around its middle. */
const SIGNS: Readonly<Record<Mark['kind'], string>> = {
  annotation: 'M-4,-4H4L0,4Z',
  anomaly: 'M0,-5L5,0L0,5L-5,0Z',
  budget: 'M-4,0A4,4 0 1 0 4,0A4,4 0 1 0 -4,0Z',
  'price book': 'M-4,-4H4V4H-4Z',
}
const KINDS = Object.keys(SIGNS) as Mark['kind'][]
const SIGN_PX = 11

interface SignsProps {
  /** By interval. */
  readonly marks: ReadonlyMap<number, readonly Mark[]>
  readonly slots: Slots
  readonly yPx: number
  readonly bottomPx: number
}

export const Signs = ({ marks, slots, yPx, bottomPx }: SignsProps) => (
  <>
    {[...marks].map(([at, of]) => {
      const x = slots.leftPx + (at + 0.5) * slotPx(slots)
      const kinds = KINDS.filter((kind) => of.some((mark) => mark.kind === kind))
      return (
        <g key={at} class="mark">
          <line x1={x} x2={x} y1={yPx + 6} y2={bottomPx} />
          {kinds.map((kind, which) => (
            <path
              key={kind}
              class={`sign ${kind.replace(' ', '-')}`}
              d={SIGNS[kind]}
              transform={`translate(${x + (which - (kinds.length - 1) / 2) * SIGN_PX},${yPx})`}
            />
          ))}
        </g>
      )
    })}
  </>
)
