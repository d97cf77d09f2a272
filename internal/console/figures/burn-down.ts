import { formatDifference, parseSum, plus, type Quantity, zero } from '../../units/quantity.js'

/** The rest of a budget over its period. Exact decimals, below zero once it is overspent. */
export interface BurnDown {
  /** In order of time, from the ceiling at the start of the period to what remains as of the figures. */
  readonly points: readonly Left[]
  /** What was spent in intervals that have too few people to be shown apart: in the last point only. "0": nothing. */
  readonly together: string
}

interface Left {
  readonly atMs: number
  readonly left: string
}

interface Spent {
  readonly ceiling_usd: string
  readonly spent_usd: string
  readonly from: string
  readonly as_of: string
}

/** The part of a row of `GET /v1/reports/usage` with an interval that this reads. */
interface SpentIn {
  readonly to: string
  readonly folded: boolean
  readonly cost_usd: string
}

/** @param intervals of the same period, filter and instant */
export function burnDown(budget: Spent, intervals: readonly SpentIn[]): BurnDown {
  const ceiling = usd(budget.ceiling_usd)
  const asOfMs = Date.parse(budget.as_of)
  const points: Left[] = [{ atMs: Date.parse(budget.from), left: budget.ceiling_usd }]
  let placed = zero<'USD'>()
  for (const { to, cost_usd: cost } of intervals.filter(({ folded }) => !folded).sort(byTime)) {
    placed = plus(placed, usd(cost))
    points.push({ atMs: Math.min(Date.parse(to), asOfMs), left: formatDifference(ceiling, placed) })
  }
  const spent = usd(budget.spent_usd)
  points.push({ atMs: asOfMs, left: formatDifference(ceiling, spent) })
  return { points, together: placed < spent ? formatDifference(spent, placed) : '0' }
}

const usd = (text: string): Quantity<'USD'> => parseSum<'USD'>(text)
const byTime = (one: SpentIn, other: SpentIn): number => Date.parse(one.to) - Date.parse(other.to)

/** The rest of a ceiling when a share of it is spent; exact. @param percent a whole number */
export function leftAt(ceiling: string, percent: number): string {
  const all: bigint = usd(ceiling)
  const steps = (all * BigInt(percent)) / 100n
  return formatDifference(usd(ceiling), steps as Quantity<'USD'>)
}

/**
 * Where the line reaches a level, so that a mark lies on it. The event of a crossing comes some seconds later, or after a
 * correction that has raised the line again: then the mark is where the line was at that time.
 *
 * @param toldMs undefined: the event is on its way
 */
export function markOn(points: readonly Left[], level: string, toldMs: number | undefined): Mark | undefined {
  const [goal, ends] = [Number(level), points.slice(1)]
  const at = ends.findIndex(({ left }) => Number(left) <= goal)
  const [from, to] = [points[at], ends[at]]
  if (from !== undefined && to !== undefined) {
    const fall = Number(from.left) - Number(to.left)
    const share = fall <= 0 ? 1 : Math.max(0, (Number(from.left) - goal) / fall)
    return { atMs: from.atMs + share * (to.atMs - from.atMs), left: Number(from.left) - share * fall }
  }
  return toldMs === undefined ? undefined : markAt(points, toldMs)
}

/** A place on the line, for a drawing alone: the only floats. */
interface Mark {
  readonly atMs: number
  readonly left: number
}

function markAt(points: readonly Left[], atMs: number): Mark | undefined {
  const [next] = points.filter((point) => point.atMs >= atMs)
  const before = points.findLast((point) => point.atMs < atMs)
  if (next === undefined || before === undefined) {
    const only = next ?? before
    return only && { atMs: only.atMs, left: Number(only.left) }
  }
  const share = (atMs - before.atMs) / (next.atMs - before.atMs)
  return { atMs, left: Number(before.left) + share * (Number(next.left) - Number(before.left)) }
}

/** Thresholds as a person types them, "75, 100": whole percentages. @returns undefined where one is none */
export function thresholdsOf(text: string): readonly number[] | undefined {
  const parts = text
    .split(/[\s,;%]+/)
    .filter((part) => part !== '')
    .map(Number)
  return parts.every(Number.isInteger) ? [...new Set(parts)].sort((one, other) => one - other) : undefined
}
