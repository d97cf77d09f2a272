import { parseInstant } from '../units/instant.js'

/**
 * A change of a service from an instant on. Names find a service at all times; only their meaning is dated,
 * so that a program that still states the old name, or states the new one early, needs no change on the day.
 */
export interface ServiceChange {
  /** RFC 3339 in UTC; by the time of the call. */
  readonly from: string
  readonly owner?: string
  /** Its name since then. */
  readonly name?: string
  /** The service that it is part of since then. */
  readonly merged_into?: string
  /** When the change was stated: calls from before may have been attributed without it. */
  readonly stated_at?: string
}

/** What records show of a service. */
export interface NamedService {
  readonly name: string
  readonly owner: string
}

/** A stretch of time without a change. */
export interface ServicePeriod {
  readonly fromMs: number
  readonly service: NamedService
  readonly mergedInto: string | undefined
}

/** The service after each of its changes, the latest first. @param changes in any order */
export function periodsOf(before: NamedService, changes: readonly ServiceChange[]): readonly ServicePeriod[] {
  let { name, owner } = before
  const periods: ServicePeriod[] = []
  for (const change of byTime(changes)) {
    name = change.name ?? name
    owner = change.owner ?? owner
    periods.unshift({ fromMs: instantOf(change), service: { name, owner }, mergedInto: change.merged_into })
  }
  return periods
}

/** @returns undefined before the first change */
export const periodAt = (periods: readonly ServicePeriod[], atMs: number): ServicePeriod | undefined =>
  periods.find(({ fromMs }) => fromMs <= atMs)

/** The names that changes give a service. */
export const namesIn = (changes: readonly ServiceChange[]): readonly string[] =>
  changes.flatMap(({ name }) => (name === undefined ? [] : [name]))

/** Changes in order, with the time at which each was first stated. */
export const stated = (
  changes: readonly ServiceChange[],
  before: readonly ServiceChange[],
  nowMs: number,
): readonly ServiceChange[] =>
  byTime(changes).map((change) => {
    const known = before.find((one) => isSame(one, change))
    return { ...change, stated_at: known?.stated_at ?? new Date(nowMs).toISOString() }
  })

/** The calls that may have been attributed without a change: those from before it was stated. */
export function backdated(change: ServiceChange): { readonly from: string; readonly to: string } | undefined {
  const { from, stated_at: to } = change
  return to !== undefined && instantOf(change) < (parseInstant(to) ?? 0) ? { from, to } : undefined
}

const byTime = (changes: readonly ServiceChange[]): readonly ServiceChange[] =>
  changes.toSorted((one, other) => instantOf(one) - instantOf(other))

const isSame = (one: ServiceChange, other: ServiceChange): boolean =>
  instantOf(one) === instantOf(other) &&
  one.owner === other.owner &&
  one.name === other.name &&
  one.merged_into === other.merged_into

/** Checked when the change was stated. */
export const instantOf = ({ from }: Pick<ServiceChange, 'from'>): number => parseInstant(from) ?? 0
