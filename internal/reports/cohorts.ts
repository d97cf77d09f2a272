import { unionOf } from '../cohorts/people.js'
import { type Cell, type Dimensions, foldRollups, type Rollups } from '../cohorts/rollups.js'
import { isCut, isEdge, monthEnd, monthStart, type Period, type Slot } from '../cohorts/timeline.js'
import { type Grid, REPORT_DIMENSIONS, type UsagePeople } from '../store/queries/usage.js'
import { GRID_MS } from './period.js'

const UNITS_MS = [GRID_MS.hour, GRID_MS.day]

/** What a report's groups are told by: first the interval that they lie in, then `REPORT_DIMENSIONS`. */
export const INTERVAL_DIMENSION = 0
const DIMENSION_COUNT = REPORT_DIMENSIONS.length + 1
const INTERVAL_BIT = 1

/** Whole months, since it is within months that time is parted. */
export const monthsAround = ({ fromMs, toMs }: Period): Period => ({
  fromMs: monthStart(fromMs),
  toMs: monthEnd(toMs - 1),
})

/** The people of a tenant's groups over some months, on a grid that holds all edges that they are asked at. */
export class PeopleByTime {
  private readonly parts: readonly UsagePeople[]
  private readonly gridMs: number
  /** By set of dimensions without the interval, then by labels. */
  private readonly slots = new Map<Dimensions, ReadonlyMap<string, readonly Slot[]>>()

  constructor(parts: readonly UsagePeople[], grid: Grid) {
    this.parts = [...parts].sort((one, other) => one.slotMs - other.slotMs)
    this.gridMs = GRID_MS[grid]
  }

  /**
   * The period, its ends moved outwards to where the tenant's people may be parted in time: to the hour, the day or the
   * month.
   */
  widened({ fromMs, toMs }: Period): Period {
    const slots = this.slotsOf(0, [])
    const isOpen = (ms: number): boolean => isEdge(slots, ms)
    const from = [fromMs, ...UNITS_MS.map((unitMs) => fromMs - (fromMs % unitMs))]
    const to = [toMs, ...UNITS_MS.map((unitMs) => toMs + ((unitMs - (toMs % unitMs)) % unitMs))]
    return { fromMs: from.find(isOpen) ?? monthStart(fromMs), toMs: to.find(isOpen) ?? monthEnd(toMs - 1) }
  }

  /**
   * Which groups of a period may be shown.
   *
   * @param cells of the period, as its sums have them
   * @param buckets its intervals; none: it is one
   */
  rollups(cells: readonly Cell[], period: Period, buckets: ReadonlyMap<string, Period>): Rollups {
    const inhabited = new Map<string, Cell>()
    for (const { values, people } of cells) {
      if (people.length === 0) continue
      const key = values.join('\u0000')
      const known = inhabited.get(key)
      inhabited.set(key, { values, people: unionOf(known === undefined ? [people] : [known.people, people]) })
    }
    return foldRollups([...inhabited.values()], DIMENSION_COUNT, (dimensions, values) => {
      const asked = dimensions & INTERVAL_BIT ? (buckets.get(values[0] ?? '') ?? period) : period
      return isCut(this.slotsOf(dimensions & ~INTERVAL_BIT, values), asked)
    })
  }

  /** @param values by dimension, the interval first */
  private slotsOf(dimensions: Dimensions, values: readonly string[]): readonly Slot[] {
    let groups = this.slots.get(dimensions)
    if (groups === undefined) {
      groups = this.groupsOf(dimensions)
      this.slots.set(dimensions, groups)
    }
    return groups.get(keyOf(dimensions, values)) ?? []
  }

  private groupsOf(dimensions: Dimensions): ReadonlyMap<string, readonly Slot[]> {
    const groups = new Map<string, Slot[]>()
    for (const { slotMs, labels, people } of this.parts) {
      const key = keyOf(dimensions, ['', ...labels])
      const slots = groups.get(key) ?? []
      groups.set(key, slots)
      const last = slots.at(-1)
      const together = last?.startMs === slotMs ? unionOf([last.people, people]) : unionOf([people])
      if (last?.startMs === slotMs) slots.pop()
      slots.push({ startMs: slotMs, endMs: slotMs + this.gridMs, people: together })
    }
    return groups
  }
}

function keyOf(dimensions: Dimensions, values: readonly string[]): string {
  let key = ''
  for (let i = 0; i < values.length; i++) if (dimensions & (1 << i)) key += `${values[i]}\u0000`
  return key
}
