/** Where amounts, times and their labels stand in a chart of a given width. */

const TICKS = 4

/** The amounts at which an axis has a line: 1, 2 or 5 times a power of ten apart, zero among them, around all. */
export function ticksOf(lowest: number, highest: number): readonly number[] {
  const step = stepOf((highest - lowest) / TICKS)
  const [first, last] = [outward(-lowest / step), outward(highest / step)]
  return Array.from({ length: Math.max(first + last, 1) + 1 }, (_, at) => (at - first) * step)
}

/** Sums of floats may be a little more than what they are the sum of. */
const outward = (steps: number): number => Math.max(0, Math.ceil(steps - 1e-9))

function stepOf(least: number): number {
  if (least <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(least))
  return ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10) * power
}

/** At most as wide as a label is in the type of the axes. */
export const labelPx = (text: string): number => text.length * 7.2

/** The slots of a chart: each interval is as wide as any other. */
export interface Slots {
  readonly count: number
  readonly leftPx: number
  readonly widthPx: number
}

export const slotPx = ({ count, leftPx, widthPx }: Slots): number => (widthPx - leftPx) / Math.max(1, count)

/** Which slot is at a place; the first or last one beside them. */
export const slotAt = (slots: Slots, xPx: number): number =>
  Math.min(slots.count - 1, Math.max(0, Math.floor((xPx - slots.leftPx) / slotPx(slots))))

/** Which interval an instant is in. @param startsMs in order @returns undefined outside of them */
export function intervalAt(startsMs: readonly number[], toMs: number, atMs: number): number | undefined {
  const at = startsMs.findLastIndex((fromMs) => fromMs <= atMs)
  return at < 0 || atMs >= toMs ? undefined : at
}

interface PlacedLabel {
  readonly at: number
  /** Of its middle. */
  readonly xPx: number
}

const BETWEEN_PX = 10

/**
 * Which labels below the slots have room, evenly apart, and where: none overlaps another, and none is cut.
 *
 * @param texts one for each slot
 */
export function labelsThatFit(texts: readonly string[], slots: Slots): readonly PlacedLabel[] {
  const widest = Math.max(0, ...texts.map(labelPx))
  const every = Math.max(1, Math.ceil((widest + BETWEEN_PX) / slotPx(slots)))
  const placed: PlacedLabel[] = []
  let freeFromPx = 0
  texts.forEach((text, at) => {
    const half = labelPx(text) / 2
    const middle = slots.leftPx + (at + 0.5) * slotPx(slots)
    const xPx = Math.max(half, Math.min(middle, slots.widthPx - half))
    if (at % every !== 0 || xPx - half < freeFromPx) return
    placed.push({ at, xPx })
    freeFromPx = xPx + half + BETWEEN_PX / 2
  })
  return placed
}
