import { type Change, decodeChange, encodeChange } from '../../internal/attribution/changes/change.js'
import { applyChanges } from '../../internal/attribution/changes/ledger.js'
import type { Version } from '../../internal/store/queries/records/versions.js'
import type { AttributionRow } from '../../internal/store/tables/attributions.js'
import { idOf, NOW_MS } from './invocations.js'

export const hexOf = (number: number): string => Buffer.from(idOf(number)).toString('hex')
export const idOfRow = ({ id }: AttributionRow): string => Buffer.from(id).toString('hex')

/** Records and their versions, as the read model has them after batches of changes. */
export class Records {
  versions: Version[]
  private batches = 0

  constructor(rows: readonly AttributionRow[]) {
    this.versions = rows.map((row) => ({ row, closed: undefined }))
  }

  apply(...changes: readonly Change[]) {
    const known = this.versions
    const historyOf = (_: string, id: string) =>
      known.filter(({ row }) => idOfRow(row) === id).sort((one, other) => one.row.validFromMs - other.row.validFromMs)
    const entries = applyChanges(
      changes.map((change) => decodeChange(encodeChange(change))),
      historyOf,
      NOW_MS + ++this.batches,
    )
    this.versions = [...known, ...entries.rows.map((row) => ({ row, closed: undefined }))].map((version) => {
      const { row } = version
      const closing = entries.closed.find(
        (entry) => idOfRow(entry.version) === idOfRow(row) && entry.version.validFromMs === row.validFromMs,
      )
      if (closing === undefined) return version
      const { closedAtMs, change, changeId, actor } = closing
      return { row, closed: { atMs: closedAtMs, change, changeId, actor } }
    })
    return entries
  }

  get current(): AttributionRow[] {
    return this.versions.filter(({ closed }) => closed === undefined).map(({ row }) => row)
  }

  record(number: number): AttributionRow | undefined {
    return this.current.find((row) => idOfRow(row) === hexOf(number))
  }

  /** A record that is inserted later. */
  insert(row: AttributionRow): void {
    this.versions = [...this.versions, { row, closed: undefined }]
  }
}
