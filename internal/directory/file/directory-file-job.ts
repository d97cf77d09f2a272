import type { TenantIds } from '../../ids/ids.js'
import type { DIRECTORY_KINDS } from '../entries.js'
import { entryId } from '../entry-index.js'
import type { Change, Plan, Refusal } from './plan-directory-file.js'
import type { Place } from './read-directory-file.js'
import { cellOf, statedFields } from './write-directory-file.js'

/** Lines of each kind that a report has; the counts are of all. */
export const REPORTED_MAX = 1_000
/** Removals that need `allow_removals`: above this part of what is there. */
const REMOVED_PART_MAX = 0.1

export interface ReportedChange extends Place {
  readonly kind: (typeof DIRECTORY_KINDS)[number]
  readonly id: string
  readonly name: string
}

export interface Report {
  readonly adds: number
  readonly changes: number
  readonly removals: number
  readonly refusals: number
  readonly unchanged: number
  readonly added: readonly ReportedChange[]
  readonly changed: readonly ReportedChange[]
  readonly removed: readonly ReportedChange[]
  readonly refused: readonly Refusal[]
}

/** An import in the bucket `directory_imports`, under its id. */
export interface ImportJob {
  readonly id: string
  readonly tenant_id: string
  readonly actor: string
  readonly status: 'running' | 'done'
  readonly created_at: string
  /** Renewed while it runs: without, its gateway has died. */
  readonly renewed_at_ms: number
  /** Of the adds, changes and removals. */
  readonly applied: number
  readonly report: Report
}

export function reportOf(plan: Plan, ids: TenantIds): Report {
  const shown = (changes: readonly Change[]): ReportedChange[] =>
    changes.slice(0, REPORTED_MAX).map(({ kind, line, pointer, name }) => {
      return { kind, line, pointer, id: entryId(kind, name, ids), name }
    })
  return {
    adds: plan.adds.length,
    changes: plan.changes.length,
    removals: plan.removals.length,
    refusals: plan.refusals.length,
    unchanged: plan.unchanged,
    added: shown(plan.adds),
    changed: shown(plan.changes),
    removed: shown(plan.removals),
    refused: plan.refusals.slice(0, REPORTED_MAX),
  }
}

/** A changed entry with what of it differs. Only dry runs have it: jobs are stored, and there may be many. */
export interface ShownChange extends ReportedChange {
  readonly fields: readonly FieldChange[]
}
export interface FieldChange {
  readonly field: string
  /** As in a CSV file; empty: not stated. */
  readonly before: string
  readonly after: string
}

export const dryRunOf = (plan: Plan, ids: TenantIds) => {
  const report = reportOf(plan, ids)
  const changed = report.changed.map((change, at): ShownChange => ({ ...change, fields: fieldsOf(plan.changes[at]) }))
  return { dry_run: true as const, ...report, changed, needs_allow_removals: isLargeRemoval(plan) }
}

function fieldsOf(change: Change | undefined): readonly FieldChange[] {
  if (change?.before === undefined || change.after === undefined) return []
  const [was, is] = [change.before, change.after].map((entry) => statedFields(change.kind, entry))
  return Object.keys({ ...was, ...is })
    .map((field) => ({ field, before: cellOf(was?.[field]), after: cellOf(is?.[field]) }))
    .filter(({ before, after }) => before !== after)
}

/** More removals than a directory changes by in a day are more likely a file that lacks something. */
export const isLargeRemoval = ({ removals, there }: Pick<Plan, 'removals' | 'there'>): boolean =>
  removals.length > there * REMOVED_PART_MAX

/** With what could not be made. */
export const withConflicts = (report: Report, conflicts: readonly Refusal[]): Report => ({
  ...report,
  refusals: report.refusals + conflicts.length,
  refused: [...report.refused, ...conflicts].slice(0, REPORTED_MAX),
})
