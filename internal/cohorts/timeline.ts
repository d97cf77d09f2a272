/**
 * Where a group's time may be cut. The difference between two periods is a group too: if one ends at ten and the other
 * at eleven, it is who worked in that hour. So each group's time falls into stretches in which five people or more
 * appear, or nobody; a period that cuts one is not told of it. Stretches are found on a fixed grid (UTC months, their
 * days, those's hours, those's quarters), never by what is asked, so that all questions meet the same ones.
 */
import { isSmall, type People, unionOf } from './people.js'

/** Who of a group appears in a part of the grid; parts in which nobody does are left out. */
export interface Slot {
  readonly startMs: number
  readonly endMs: number
  readonly people: People
}

export interface Period {
  readonly fromMs: number
  readonly toMs: number
}

const DAY_MS = 24 * 60 * 60 * 1000
const HOUR_MS = 60 * 60 * 1000
const QUARTER_MS = 15 * 60 * 1000
/** Below the month; the last is what usage is kept by. */
const GRID_MS = [DAY_MS, HOUR_MS, QUARTER_MS] as const

/** The start of the UTC month of an instant. */
export function monthStart(ms: number): number {
  const date = new Date(ms)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
}

/** The start of the next one. */
export function monthEnd(ms: number): number {
  const date = new Date(ms)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
}

/**
 * Whether a period tells of fewer than five people of a group by itself, or together with another one.
 *
 * @param slots of the group, ascending: all of each month that the period touches, no coarser than its ends
 */
export function isCut(slots: readonly Slot[], { fromMs, toMs }: Period): boolean {
  for (const month of byUnit(slots, ({ startMs }) => monthStart(startMs))) {
    const within = month.filter(({ startMs, endMs }) => startMs >= fromMs && endMs <= toMs)
    if (within.length === 0) continue
    if (isSmall(everyone(month)) || !isBetween(month, fromMs, 0) || !isBetween(month, toMs, 0)) return true
  }
  return false
}

/** Whether a group may be parted at an instant. @param slots of the group, ascending: all of the instant's month */
export const isEdge = (slots: readonly Slot[], atMs: number): boolean =>
  isBetween(
    slots.filter(({ startMs }) => monthStart(startMs) === monthStart(atMs)),
    atMs,
    0,
  )

/** Whether an instant lies between two stretches. @param level of the grid by whose units the slots are parted */
function isBetween(slots: readonly Slot[], atMs: number, level: number): boolean {
  const unitMs = GRID_MS[level]
  const first = slots[0]?.startMs ?? atMs
  const last = slots.at(-1)?.endMs ?? atMs
  if (atMs <= first || atMs >= last) return true
  if (unitMs === undefined || isSmall(everyone(slots))) return false
  const units = byUnit(slots, ({ startMs }) => Math.floor(startMs / unitMs))
  for (const stretch of stretchesOf(units)) {
    const [only = [], ...more] = stretch
    const end = stretch.at(-1)?.at(-1)?.endMs ?? atMs
    if (atMs <= (only[0]?.startMs ?? atMs) || atMs >= end) continue
    return more.length === 0 && isBetween(only, atMs, level + 1)
  }
  return true
}

/** Units in order, together until five people appear; what is left over at the end goes with the last. */
function stretchesOf(units: readonly (readonly Slot[])[]): (readonly (readonly Slot[])[])[] {
  const stretches: (readonly Slot[])[][] = []
  let open: (readonly Slot[])[] = []
  for (const unit of units) {
    open.push(unit)
    if (isSmall(everyone(open.flat()))) continue
    stretches.push(open)
    open = []
  }
  const last = stretches.at(-1)
  if (last === undefined) return open.length === 0 ? [] : [open]
  last.push(...open)
  return stretches
}

const everyone = (slots: readonly Slot[]): People => unionOf(slots.map(({ people }) => people))

function byUnit(slots: readonly Slot[], unitOf: (slot: Slot) => number): Slot[][] {
  const units: Slot[][] = []
  let current: number | undefined
  for (const slot of slots) {
    const unit = unitOf(slot)
    if (unit !== current) units.push([])
    units.at(-1)?.push(slot)
    current = unit
  }
  return units
}
