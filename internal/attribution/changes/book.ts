import type { Version } from '../../store/queries/records/versions.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { ClosedRow, Change as ClosingChange } from '../../store/tables/closed.js'
import type { MatchedBy } from '../sightings/seen-by.js'
import type { Change, Promised } from './change.js'
import { isDisputed, isOverridden } from './decided.js'

/** The effects of changes on the read model: new versions and closed versions. */
export interface LedgerEntries {
  readonly rows: readonly AttributionRow[]
  readonly closed: readonly ClosedRow[]
  /** The changes that took effect, each with its new version. */
  readonly applied: readonly {
    readonly change: Change
    readonly row: AttributionRow
    /** The record that this one has taken in by it. */
    readonly absorbed?: { readonly id: string; readonly matchedBy: MatchedBy }
  }[]
  /** Decisions that were refused after their request had been answered with 202. */
  readonly broken: readonly (Change & { readonly decision: Promised })[]
}

/** All versions of a record before a batch, oldest first; empty if the record does not exist. */
export type VersionsOf = (tenantId: string, recordId: string) => readonly Version[]

/** The versions of records as they are while a batch is applied, and the entries that it makes. */
export class Book implements LedgerEntries {
  readonly rows: AttributionRow[] = []
  readonly closed: ClosedRow[] = []
  readonly applied: LedgerEntries['applied'][number][] = []
  readonly broken: LedgerEntries['broken'][number][] = []
  private readonly histories = new Map<string, Version[]>()
  private readonly versionsOf: VersionsOf
  private readonly atMs: number

  constructor(versionsOf: VersionsOf, atMs: number) {
    this.versionsOf = versionsOf
    this.atMs = atMs
  }

  history(tenantId: string, recordId: string): readonly Version[] {
    return this.historyOf(tenantId, recordId)
  }

  isApplied({ tenantId, recordId, id }: Change): boolean {
    return this.historyOf(tenantId, recordId).some(({ closed: closure }) => closure?.changeId === id)
  }

  /**
   * When versions that replace these can become valid: two changes of one record in one batch get distinct instants.
   */
  instantAfter(...rows: readonly AttributionRow[]): number {
    return Math.max(this.atMs, ...rows.map(({ validFromMs }) => validFromMs + 1))
  }

  /** Closes a record's valid version. @param changeId names the change in the history */
  close(tenantId: string, recordId: string, atMs: number, change: ClosingChange, by: Closer): void {
    const history = this.historyOf(tenantId, recordId)
    const at = history.findLastIndex(({ closed: closure }) => closure === undefined)
    const row = history[at]?.row
    if (row === undefined) return
    this.closed.push({ version: row, closedAtMs: atMs, change, ...by })
    history[at] = { row, closed: { atMs, change, ...by } }
  }

  /** Adds a valid version of a record that has none. */
  open(recordId: string, row: AttributionRow): void {
    this.rows.push(row)
    this.historyOf(row.tenantId, recordId).push({ row, closed: undefined })
  }

  /** Replaces a record's valid version. */
  replace(recordId: string, row: AttributionRow, change: ClosingChange, by: Closer): void {
    this.close(row.tenantId, recordId, row.validFromMs, change, by)
    this.open(recordId, row)
  }

  private historyOf(tenantId: string, recordId: string): Version[] {
    const key = `${tenantId} ${recordId}`
    const known = this.histories.get(key)
    if (known !== undefined) return known
    const history = [...this.versionsOf(tenantId, recordId)]
    this.histories.set(key, history)
    return history
  }
}

interface Closer {
  readonly changeId: string
  readonly actor: string
}

/** The valid version; undefined if the record does not exist, or is merged into another one. */
export const currentOf = (history: readonly Version[]): AttributionRow | undefined =>
  history.findLast(({ closed: closure }) => closure === undefined)?.row

/** The latest version without decisions of people. */
export const baseOf = (history: readonly Version[]): AttributionRow | undefined =>
  history.findLast(({ row }) => !isOverridden(row) && !isDisputed(row))?.row
