import { type AttributionRow, FIELDS } from '../../records/record-fields.js'
import type { RowBinaryTable } from '../row-binary.js'
import { CODECS, writerOf } from './field-codec.js'
import { PACKED_COLUMNS } from './packed-fields.js'
import { ATTRIBUTION_INDEXES, PART_SETTINGS } from './record-storage.js'
import { REPORT_FLAGS } from './report-flags.js'

export type { AttributionRow }

/** The columns in the order in which rows are written: name and type. */
export const ATTRIBUTION_COLUMNS: readonly (readonly [name: string, type: string])[] = FIELDS.map(({ name, kind }) => [
  name,
  CODECS[kind].type,
])

/** Deduplication tokens kept, over all writers: far more than inserts can be in flight (partitions x stages). */
const DEDUPLICATION_WINDOW = 10_000

/**
 * Partitioned by the month in which a row became valid, not by the event's month: a batch then lands in one atomic
 * part, however old its events are (deploy/decisions/snapshots.md).
 */
export const CREATE_ATTRIBUTIONS = `
CREATE TABLE IF NOT EXISTS attributions (
${ATTRIBUTION_COLUMNS.map(([name, type]) => `  ${name} ${type}`).join(',\n')},
  ${REPORT_FLAGS},
${PACKED_COLUMNS.map((column) => `  ${column},\n`).join('')}${ATTRIBUTION_INDEXES}
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(valid_from)
ORDER BY (tenant_id, event_time, id)
SETTINGS non_replicated_deduplication_window = ${DEDUPLICATION_WINDOW}, ${PART_SETTINGS}`

export const ATTRIBUTIONS: RowBinaryTable<AttributionRow> = {
  name: 'attributions',
  columns: ATTRIBUTION_COLUMNS.map(([name]) => name),
  rowBytes: 2000,
  write: writerOf(FIELDS),
  recordsIn: (rows) => rows,
}
