import { createHash } from 'node:crypto'
import type { Records } from '../../broker/records.js'
import type { GroupField } from '../../filters/report-dimensions.js'
import type { Budget } from './budget.js'
import type { Period } from './budget-period.js'

/**
 * Crossed thresholds of some groups of a budget in a period: a value of the bucket `budget_crossings`, under the
 * budget's id, the name of the period, and a part of the groups. Sentinels and gateways watch the bucket, so that
 * neither a check nor an answer reads it.
 */
export interface StoredCrossings {
  readonly key: string
  readonly tenant_id: string
  /** The end of the period, milliseconds since the epoch. */
  readonly to_ms: number
  /** By group: when each threshold was crossed, milliseconds since the epoch. */
  readonly crossed: { readonly [group: string]: Crossed }
}
export interface Crossed {
  readonly [threshold: string]: number
}

/** Parts of a grouped budget's period: a value stays small, and one crossing rewrites few others. */
const PARTS = 64

/** The key of a budget's only group, when it is not grouped. */
export const WHOLE = 'all'

const hexOf = (text: string, digits: number): string => createHash('sha256').update(text).digest('hex').slice(0, digits)
const DIMENSION_DIGITS = 6

/** A group in keys: its dimension and value, hashed, since a key of a bucket cannot hold any text. */
export const groupKey = (per: GroupField, value: string): string => hexOf(per, DIMENSION_DIGITS) + hexOf(value, 24)

const partOf = (group: string): string => {
  if (group === WHOLE) return WHOLE
  const part = Number.parseInt(group.slice(DIMENSION_DIGITS, DIMENSION_DIGITS + 2), 16) % PARTS
  return `${group.slice(0, DIMENSION_DIGITS)}-${part}`
}

/** Key of the value that holds a group. */
const crossingsKey = ({ id }: Pick<Budget, 'id'>, { name }: Pick<Period, 'name'>, group: string): string =>
  `${id}.${name}.${partOf(group)}`

/** Keys of all values of a grouped budget's period. */
export const partsOf = ({ id }: Pick<Budget, 'id'>, per: GroupField, { name }: Pick<Period, 'name'>): string[] =>
  Array.from({ length: PARTS }, (_, part) => `${id}.${name}.${hexOf(per, DIMENSION_DIGITS)}-${part}`)

/** When the thresholds of a group were crossed. @param get from a copy of the bucket */
export const crossedOf = (
  get: (key: string) => StoredCrossings | undefined,
  budget: Pick<Budget, 'id'>,
  period: Pick<Period, 'name'>,
  group: string,
): Crossed => get(crossingsKey(budget, period, group))?.crossed[group] ?? {}

/** A crossing that was emitted. */
export interface Crossing {
  readonly group: string
  readonly threshold: number
  readonly atMs: number
}

/** Keeps crossings of a period. Of a crossing that is already kept, the earlier time stays. */
export async function keepCrossings(
  records: Pick<Records<StoredCrossings>, 'createOnce' | 'change'>,
  tenantId: string,
  budget: Pick<Budget, 'id'>,
  period: Period,
  crossings: readonly Crossing[],
): Promise<void> {
  const byKey = new Map<string, Crossing[]>()
  for (const crossing of crossings) {
    const key = crossingsKey(budget, period, crossing.group)
    byKey.set(key, [...(byKey.get(key) ?? []), crossing])
  }
  for (const [key, ofKey] of byKey) {
    const add = (stored: StoredCrossings): StoredCrossings => withCrossings(stored, ofKey)
    const first = add({ key, tenant_id: tenantId, to_ms: period.toMs, crossed: {} })
    if ((await records.createOnce(key, first)) !== first) await records.change(key, add)
  }
}

function withCrossings(stored: StoredCrossings, crossings: readonly Crossing[]): StoredCrossings {
  const crossed: Record<string, Crossed> = { ...stored.crossed }
  for (const { group, threshold, atMs } of crossings) {
    const before = crossed[group] ?? {}
    crossed[group] = { ...before, [threshold]: Math.min(before[threshold] ?? atMs, atMs) }
  }
  return { ...stored, crossed }
}
