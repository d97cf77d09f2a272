import {
  type Effects,
  effectsOf,
  isAllPrice,
  lessSide,
  type Side,
  sumOfEffects,
  sumOfSides,
  volumeOfAll,
} from './effects.js'

/**
 * The difference of two periods as the sum of its parts: the groups that moved most, up and down, all other groups, and
 * what cannot be shown by group. Pure.
 *
 * Every figure is a sum of rows of a report of one of the periods, so that the cohort rule of reports holds for it: what
 * is folded in either period is in `small` with all that it is folded with, as one.
 */

/** A group that has a row of its own in each period in which it has calls. */
export interface Cell<T> {
  readonly row: T
  readonly before: Side
  readonly now: Side
}

export interface Part {
  readonly before: Side
  readonly now: Side
  readonly effects: Effects
}

export interface Mover<T> extends Part {
  readonly row: T
}

export interface Decomposition<T> {
  readonly whole: Part & { readonly mix: bigint }
  /** The largest first. */
  readonly increases: readonly Mover<T>[]
  readonly decreases: readonly Mover<T>[]
  readonly others: Part & { readonly groups: number }
  /** What is folded in one of the periods, and groups that were not read; undefined if there is nothing. */
  readonly rest: Part | undefined
}

/** @param cells the groups that move most @param moversMax of each direction */
export function decompose<T>(
  whole: { readonly before: Side; readonly now: Side },
  cells: readonly Cell<T>[],
  moversMax: number,
): Decomposition<T> {
  const movers = cells
    .map((cell) => ({ ...cell, effects: effectsOf(cell.before, cell.now) }))
    .sort((one, other) => sign(changeOf(other) - changeOf(one)))
  const increases = movers.filter((each) => changeOf(each) > 0n).slice(0, moversMax)
  const decreases = movers
    .filter((each) => changeOf(each) < 0n)
    .slice(-moversMax)
    .reverse()
  const named = new Set<Part>([...increases, ...decreases])
  const unnamed = movers.filter((each) => !named.has(each))
  const known = partOf(movers)
  const left = { before: lessSide(whole.before, known.before), now: lessSide(whole.now, known.now) }
  const rest =
    isNothing(left.before) && isNothing(left.now) ? undefined : { ...left, effects: effectsOf(left.before, left.now) }
  const parts: readonly Part[] = rest === undefined ? movers : [...movers, rest]
  const effects = sumOfEffects(parts.map((part) => part.effects))
  const counted = partOf(parts.filter((part) => !isAllPrice(part.before, part.now)))
  const volume = volumeOfAll(counted.before, counted.now, effects.volume)
  return {
    whole: { ...whole, effects: { ...effects, volume }, mix: effects.volume - volume },
    increases,
    decreases,
    others: { ...partOf(unnamed), groups: unnamed.length },
    rest,
  }
}

export const changeOf = ({ before, now }: Pick<Part, 'before' | 'now'>): bigint => now.cost - before.cost

const partOf = (parts: readonly Part[]): Part => ({
  before: sumOfSides(parts.map(({ before }) => before)),
  now: sumOfSides(parts.map(({ now }) => now)),
  effects: sumOfEffects(parts.map(({ effects }) => effects)),
})

const isNothing = ({ cost, calls }: Side): boolean => cost === 0n && calls === 0n
const sign = (steps: bigint): number => (steps === 0n ? 0 : steps < 0n ? -1 : 1)
