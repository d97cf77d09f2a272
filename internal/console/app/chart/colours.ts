import { NAMED_MAX } from '../../figures/stack.js'

/** Which colour of the palette a name has: the same on every page of a visit, in the order in which names are met. */
const colours = new Map<string, number>()
const next = new Map<string, number>()

/** @returns 1 to `NAMED_MAX` */
export function colourOf(dimension: string, name: string): number {
  const key = `${dimension} ${name}`
  const known = colours.get(key)
  if (known !== undefined) return known
  const colour = ((next.get(dimension) ?? 0) % NAMED_MAX) + 1
  next.set(dimension, colour)
  colours.set(key, colour)
  return colour
}
