import type { Bar, Stack } from './stack.js'

/** Where the parts of a chart lie, in amounts of its axis. Pixels come from these: floats, which are never written. */

export const FORMS = ['bars', 'lines', 'share'] as const
export type Form = (typeof FORMS)[number]

export const formOf = (text: string | null): Form => FORMS.find((form) => form === text) ?? 'bars'

/** From where to where a part reaches; undefined for one that is nothing, or not known. */
type Span = readonly [from: number, to: number] | undefined

/** The parts of a bar: those above zero upon each other, and those below it hang from it. */
export function spansOf({ parts }: Bar, form: Form): readonly Span[] {
  const amounts = parts.map((part) => Number(part ?? 0))
  const whole = form === 'share' ? amounts.reduce((sum, amount) => sum + Math.max(0, amount), 0) : 1
  let [above, below] = [0, 0]
  return amounts.map((amount): Span => {
    if (amount === 0 || whole === 0) return undefined
    const from = amount > 0 ? above : below
    const to = from + amount / whole
    if (amount > 0) above = to
    else below = to
    return [from, to]
  })
}

/** The lowest and highest amount that a form of the chart has to show. Zero is always among them. */
export function rangeOf({ bars }: Stack, form: Form): readonly [lowest: number, highest: number] {
  const amounts =
    form === 'lines'
      ? bars.flatMap(({ parts }) => parts.map((part) => Number(part ?? 0)))
      : bars.flatMap((bar) => spansOf(bar, form).map((span) => span?.[1] ?? 0))
  return amounts.reduce<readonly [number, number]>(
    ([lowest, highest], amount) => [Math.min(lowest, amount), Math.max(highest, amount)],
    [0, form === 'share' ? 1 : 0],
  )
}

/** The runs of bars in which a series is known: a line breaks where its amount may be in the small groups. */
export function runsOf({ bars }: Stack, series: number): readonly (readonly { at: number; amount: number }[])[] {
  const runs: { at: number; amount: number }[][] = []
  bars.forEach(({ parts, isHidden }, at) => {
    const part = isHidden ? undefined : parts[series]
    if (part === undefined) return
    const last = runs.at(-1)
    const point = { at, amount: Number(part) }
    if (last?.at(-1)?.at === at - 1) last.push(point)
    else runs.push([point])
  })
  return runs
}
