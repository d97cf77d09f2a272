import { type AttributionRow, FIELDS } from '../../records/record-fields.js'
import type { RowBinaryTable } from '../sink.js'
import { CODECS, writerOf } from './field-codec.js'

export type { AttributionRow }

/** The columns in the order in which rows are written: name and type. */
export const ATTRIBUTION_COLUMNS: readonly (readonly [name: string, type: string])[] = FIELDS.map(({ name, kind }) => [
  name,
  CODECS[kind].type,
])

/** Deduplication tokens kept, over all writers: far more than inserts can be in flight (partitions x stages). */
const DEDUPLICATION_WINDOW = 10_000

/** A lookup of one record reads a whole granule: a quarter of ClickHouse's default size makes it cheaper. */
export const GRANULE_ROWS = 2_048

/**
 * Partitioned by the month in which a row became valid, not by the event's month: a batch then lands in one atomic part,
 * however old its events are (deploy/decisions/snapshots.md).
 */
export const CREATE_ATTRIBUTIONS = `
CREATE TABLE IF NOT EXISTS attributions (
${ATTRIBUTION_COLUMNS.map(([name, type]) => `  ${name} ${type}`).join(',\n')},
  INDEX id_filter id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(valid_from)
ORDER BY (tenant_id, event_time, id)
SETTINGS non_replicated_deduplication_window = ${DEDUPLICATION_WINDOW}, index_granularity = ${GRANULE_ROWS}`

export const ADD_ATTRIBUTION_INFERENCE =
  'ALTER TABLE attributions ADD COLUMN IF NOT EXISTS inference String AFTER footprint_details'

export const ADD_ATTRIBUTION_CONFIDENCE =
  'ALTER TABLE attributions ADD COLUMN IF NOT EXISTS attribution_confidence Decimal(5, 4) DEFAULT 0.95 AFTER confidence'

export const ADD_SENT_BY_GATEWAY =
  'ALTER TABLE attributions ADD COLUMN IF NOT EXISTS sent_by_gateway Bool AFTER principal'

/** Counts that prices depend on: cache writes by lifetime, image tokens, billed tool calls. */
export const ADD_PRICED_COUNTS = `ALTER TABLE attributions ${[
  ['cache_write_5m_tokens', 'cache_write_ttl_seconds'],
  ['cache_write_1h_tokens', 'cache_write_5m_tokens'],
  ['image_input_tokens', 'audio_output_tokens'],
  ['image_output_tokens', 'image_input_tokens'],
  ['web_search_calls', 'image_output_tokens'],
  ['file_search_calls', 'web_search_calls'],
  ['code_execution_calls', 'file_search_calls'],
]
  .map(([name, after]) => `ADD COLUMN IF NOT EXISTS ${name} ${CODECS.count.type} AFTER ${after}`)
  .join(', ')}`

/** Ids of a call at its provider and in its trace, and the intake that its event came through. */
export const ADD_CALL_IDS = `ALTER TABLE attributions ${[
  ['intake', CODECS.label.type, 'identity_hash'],
  ['span_id', CODECS.text.type, 'trace_id'],
  ['response_id', CODECS.text.type, 'span_id'],
]
  .map(([name, type, after]) => `ADD COLUMN IF NOT EXISTS ${name} ${type} AFTER ${after}`)
  .join(', ')}`

export const ADD_SEEN_BY = `ALTER TABLE attributions ADD COLUMN IF NOT EXISTS seen_by ${CODECS.text.type} AFTER response_id`

export const ATTRIBUTIONS: RowBinaryTable<AttributionRow> = {
  name: 'attributions',
  columns: ATTRIBUTION_COLUMNS.map(([name]) => name),
  rowBytes: 1500,
  write: writerOf(FIELDS),
  recordsIn: (rows) => rows,
}
