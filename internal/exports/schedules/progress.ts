import type { DeliveryFailure } from '../../records/delivery-failures.js'
import { type Cadence, dueAt, maintainedPeriods, type Period, readPeriod } from './periods.js'
import { placeOf, type Schedule } from './schedule.js'

/** The progress of a schedule, and what is due next. Pure: the runner has the clock and the effects. */

/**
 * A schedule's progress as stored under its id in the bucket `export_progress`. One exporter at a time holds the claim;
 * every write is compare-and-set.
 */
export interface StoredProgress {
  readonly id: string
  readonly tenant_id: string
  /** Another exporter may take it over after `until_ms`. */
  readonly claim: { readonly by: string; readonly until_ms: number } | null
  /** The newest manifest, to which the next one in the same place refers. */
  readonly head: {
    readonly sequence: number
    readonly key: string
    readonly sha256: string
    readonly place: string
  } | null
  /** By name of the period. */
  readonly delivered: Readonly<Record<string, Delivered>>
  readonly pending: Readonly<Record<string, Pending>>
  /** The manifest that is being written: nothing else is delivered before it, so that the chain has one order. */
  readonly writing: Writing | null
  /** When the delivered periods were last searched for changed records. */
  readonly checked_at_ms: number
  /** Id of the last run request that was started. */
  readonly answered: string | null
}

export interface Delivered {
  /** 1, 2, … */
  readonly revision: number
  readonly file_sha256: string
  /** The file contains the records as of this instant. */
  readonly as_of_ms: number
  readonly delivered_at_ms: number
  readonly manifest_key: string
  /** Whether records of the period have changed since. */
  readonly is_changed: boolean
}

export interface Pending {
  readonly revision: number
  /** Number of the export job, from 1: a failed job is followed by another. */
  readonly job: number
  readonly failures: number
  readonly failure: DeliveryFailure | null
  readonly due_at_ms: number
  readonly next_at_ms: number
  /** Whether `export.schedule.late` was emitted. */
  readonly is_late: boolean
}

export interface Writing {
  readonly period: string
  readonly job_id: string
  /** Where its files are (`placeOf`). */
  readonly place: string
  readonly key: string
  /** The exact text: a repeat writes the same bytes. */
  readonly text: string
  readonly sha256: string
  readonly sequence: number
  readonly delivered: Omit<Delivered, 'delivered_at_ms'>
}

export const initialProgress = ({ id, tenant_id }: Pick<Schedule, 'id' | 'tenant_id'>): StoredProgress => ({
  id,
  tenant_id,
  claim: null,
  head: null,
  delivered: {},
  pending: {},
  writing: null,
  checked_at_ms: 0,
  answered: null,
})

const HOUR_MS = 3_600_000
/** A period that is not delivered this long after it was due is late. */
export const LATE_AFTER_MS = 12 * HOUR_MS
/** A period is corrected at most this often. */
export const CORRECTION_EVERY_MS = 24 * HOUR_MS
/**
 * More often than replaced versions of records are removed (`SNAPSHOT_AGE_MS_MAX`): a change that is never seen is
 * never corrected.
 */
const CHECK_EVERY_MS = 4 * HOUR_MS

export type Step =
  | { readonly kind: 'wait' }
  /** Too old to be delivered. */
  | { readonly kind: 'give_up'; readonly period: string; readonly pending: Pending }
  | { readonly kind: 'late'; readonly period: Period; readonly pending: Pending }
  /** The destination has changed: the files of the manifest that is being written are elsewhere. */
  | { readonly kind: 'move' }
  | { readonly kind: 'finish'; readonly writing: Writing; readonly pending: Pending }
  | { readonly kind: 'open'; readonly period: Period; readonly dueAtMs: number; readonly request: string | null }
  | { readonly kind: 'deliver'; readonly period: Period; readonly pending: Pending }
  | { readonly kind: 'check'; readonly periods: readonly Period[] }

const WAIT: Step = { kind: 'wait' }

/** The next step of a schedule. */
export function nextStep(schedule: Schedule, progress: StoredProgress, nowMs: number): Step {
  if (schedule.status === 'paused') return WAIT
  const { cadence, run } = schedule
  const { pending, delivered, writing } = progress
  const maintained = maintainedPeriods(cadence, nowMs)
  const waiting = pendingOf(cadence, pending)

  for (const { period, state } of waiting) {
    const isLate = state.revision === 1 && !state.is_late && nowMs >= state.due_at_ms + LATE_AFTER_MS
    if (isLate) return { kind: 'late', period, pending: state }
  }
  const requested = run === null || run.id === progress.answered ? undefined : readPeriod(cadence, run.period)
  if (run !== null && requested !== undefined) {
    return { kind: 'open', period: requested, dueAtMs: Date.parse(run.requested_at), request: run.id }
  }
  const isMaintained = (name: string): boolean => maintained.some((period) => period.name === name)
  const old = waiting.find(({ period }) => !isMaintained(period.name) && period.name !== writing?.period)
  if (old !== undefined) return { kind: 'give_up', period: old.period.name, pending: old.state }
  const createdAtMs = Date.parse(schedule.created_at)
  for (const period of maintained) {
    if (pending[period.name] !== undefined) continue
    const before = delivered[period.name]
    const dueAtMs = before === undefined ? dueAt(period) : before.delivered_at_ms + CORRECTION_EVERY_MS
    const isWanted = before === undefined ? period.toMs > createdAtMs : before.is_changed
    if (isWanted && dueAtMs <= nowMs) return { kind: 'open', period, dueAtMs, request: null }
  }
  if (writing !== null && writing.place !== placeOf(schedule.destination)) return { kind: 'move' }
  if (writing !== null) {
    const state = pending[writing.period]
    if (state === undefined) throw new Error('the manifest that is written belongs to no pending period')
    return state.next_at_ms <= nowMs ? { kind: 'finish', writing, pending: state } : WAIT
  }
  const ready = waiting.find(({ state }) => state.next_at_ms <= nowMs)
  if (ready !== undefined) return { kind: 'deliver', period: ready.period, pending: ready.state }

  const unchanged = maintained.filter(({ name }) => delivered[name]?.is_changed === false)
  const isCheckDue = nowMs - progress.checked_at_ms >= CHECK_EVERY_MS
  return unchanged.length > 0 && isCheckDue ? { kind: 'check', periods: unchanged } : WAIT
}

/** Oldest first. */
function pendingOf(cadence: Cadence, pending: StoredProgress['pending']) {
  const all = Object.entries(pending).map(([name, state]) => {
    const period = readPeriod(cadence, name)
    if (period === undefined) throw new Error('a pending period has no valid name')
    return { period, state }
  })
  return all.sort((one, other) => one.period.fromMs - other.period.fromMs)
}

/** The period is to be delivered now; one that is pending already is tried again at once. */
export function opened(
  progress: StoredProgress,
  { period, dueAtMs, request }: Extract<Step, { kind: 'open' }>,
  nowMs: number,
): StoredProgress {
  const before = progress.pending[period.name]
  const state: Pending =
    before === undefined
      ? {
          revision: (progress.delivered[period.name]?.revision ?? 0) + 1,
          job: 1,
          failures: 0,
          failure: null,
          due_at_ms: dueAtMs,
          next_at_ms: nowMs,
          is_late: false,
        }
      : { ...before, next_at_ms: nowMs }
  return {
    ...progress,
    pending: { ...progress.pending, [period.name]: state },
    answered: request ?? progress.answered,
  }
}

const [MINUTE_MS, RETRY_MS_MAX] = [60_000, HOUR_MS]

/**
 * The period after a failed attempt: tried again later, with full jitter over 1, 2, 4, … minutes, at most an hour.
 *
 * @param random from 0 to 1
 */
export function failed(
  progress: StoredProgress,
  name: string,
  failure: DeliveryFailure,
  nowMs: number,
  random: number,
): StoredProgress {
  const state = progress.pending[name]
  if (state === undefined) return progress
  const maximum = Math.min(RETRY_MS_MAX, MINUTE_MS * 2 ** Math.min(state.failures, 6))
  const next: Pending = {
    ...state,
    failure,
    failures: state.failures + 1,
    // The files of a job that failed or expired never come: the next attempt needs another job.
    job: state.job + (failure === 'export_failed' ? 1 : 0),
    next_at_ms: nowMs + Math.max(1_000, Math.round(random * maximum)),
  }
  return { ...progress, pending: { ...progress.pending, [name]: next } }
}

/** The manifest is in the bucket. Periods that the schedule no longer maintains are removed. */
export function finished(progress: StoredProgress, cadence: Cadence, nowMs: number): StoredProgress {
  const { writing } = progress
  if (writing === null) return progress
  const { key, sha256, sequence, period, place } = writing
  const maintained = new Set(maintainedPeriods(cadence, nowMs).map(({ name }) => name))
  const delivered = { ...progress.delivered, [period]: { ...writing.delivered, delivered_at_ms: nowMs } }
  return {
    ...progress,
    head: { sequence, key, sha256, place },
    delivered: Object.fromEntries(
      Object.entries(delivered).filter(([name]) => maintained.has(name) || name === period),
    ),
    pending: withoutPeriod(progress.pending, period),
    writing: null,
  }
}

/** A correction whose file equals the delivered one is no revision. */
export function unchanged(progress: StoredProgress, name: string, asOfMs: number): StoredProgress {
  const before = progress.delivered[name]
  return {
    ...progress,
    delivered:
      before === undefined
        ? progress.delivered
        : { ...progress.delivered, [name]: { ...before, as_of_ms: asOfMs, is_changed: false } },
    pending: withoutPeriod(progress.pending, name),
  }
}

export const withoutPeriod = <T>(all: Readonly<Record<string, T>>, name: string): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(all).filter(([each]) => each !== name))

/** @param changedAt by day (YYYY-MM-DD), the newest change of its records, milliseconds since the epoch */
export function checked(
  progress: StoredProgress,
  periods: readonly Period[],
  changedAt: ReadonlyMap<string, number>,
  nowMs: number,
): StoredProgress {
  const isChanged = ({ from, to }: Period, asOfMs: number): boolean =>
    [...changedAt].some(([day, atMs]) => day >= from && day <= to && atMs > asOfMs)
  const changed = periods.flatMap((period): [string, Delivered][] => {
    const before = progress.delivered[period.name]
    return before !== undefined && isChanged(period, before.as_of_ms)
      ? [[period.name, { ...before, is_changed: true }]]
      : []
  })
  return {
    ...progress,
    checked_at_ms: nowMs,
    delivered: { ...progress.delivered, ...Object.fromEntries(changed) },
  }
}
