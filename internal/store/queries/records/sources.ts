import type { ClickHouseClient } from '@clickhouse/client'
import { idHex } from '../../../ids/ids.js'
import type { Position } from '../../../invocations/invocation-group.js'
import { readUint64, streamFixedRows } from '../../fixed-rows.js'
import { idPortions } from '../../id-portions.js'
import { storedRows } from '../../stored-rows.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { CLOSED_HISTORY } from '../../tables/closed.js'

/** The event that a record came from, and its position in stage A's log. */
export interface RecordSource {
  /** 16 bytes. */
  readonly id: Uint8Array
  readonly validFromMs: number
  readonly logId: number
  readonly position: Position
}

/** A partition of stage A, and how many there are. */
export interface ConfiguredPartition {
  readonly partition: number
  readonly partitions: number
}

const COLUMNS = 'id, valid_from, source_log, source_sequence, source_index'
const ROW_BYTES = 16 + 8 + 4 + 8 + 4

/**
 * Events whose calls other records count, and whose own records compaction has removed: these events are still known,
 * but not their positions.
 *
 * @param which a condition over `id` and `valid_from`
 */
const merged = (columns: string, which: string): string => `SELECT ${columns} FROM ${CLOSED_HISTORY}
  WHERE change = 'merge' AND endsWith(change_id, lower(hex(id))) AND ${which}`
const NO_POSITION = 'id, valid_from, toUInt32(0), toUInt64(0), toUInt32(0)'
const SINCE = 'valid_from >= fromUnixTimestamp64Milli({since:Int64})'
/** As `partitionOf` in `ids/event-partition.ts`. */
const OF_PARTITION = 'reinterpretAsUInt16(reverse(substring(id, 15, 2))) % {partitions:UInt16} = {partition:UInt16}'
const OF_IDS = 'id IN (SELECT CAST(unhex(arrayJoin({ids:Array(String)})) AS FixedString(16)))'

function readSource(bytes: Buffer, at: number): RecordSource {
  return {
    id: bytes.subarray(at, at + 16),
    validFromMs: readUint64(bytes, at + 16),
    logId: bytes.readUInt32LE(at + 24),
    position: { sequence: readUint64(bytes, at + 28), index: bytes.readUInt32LE(at + 36) },
  }
}

/** Streams the sources of a partition's records that became valid since an instant, the oldest first. */
export function recordSourcesSince(
  store: ClickHouseClient,
  { partition, partitions }: ConfiguredPartition,
  sinceMs: number,
): AsyncGenerator<RecordSource> {
  const query = `SELECT * FROM (SELECT ${COLUMNS} FROM ${ATTRIBUTIONS.name} WHERE ${OF_PARTITION} AND ${SINCE}
    UNION ALL ${merged(NO_POSITION, `${OF_PARTITION} AND ${SINCE}`)}) ORDER BY valid_from`
  return streamFixedRows(store, query, { partition, partitions, since: sinceMs }, ROW_BYTES, readSource)
}

/**
 * The sources of the events with these ids that have records, of any partition: the earliest version of each.
 */
export async function recordSourcesOf(
  store: ClickHouseClient,
  ids: readonly Uint8Array[],
  sinceMs: number,
): Promise<RecordSource[]> {
  const sources: RecordSource[] = []
  for (const portion of idPortions(ids)) {
    const query = `SELECT * FROM (SELECT ${COLUMNS} FROM ${ATTRIBUTIONS.name} WHERE ${OF_IDS} AND ${SINCE}
      UNION ALL ${merged(NO_POSITION, `${OF_IDS} AND ${SINCE}`)}) ORDER BY valid_from LIMIT 1 BY id`
    const params = { ids: portion.map(idHex), since: sinceMs }
    for await (const source of streamFixedRows(store, query, params, ROW_BYTES, readSource)) sources.push(source)
  }
  return sources
}

/** Which of the ids have a record, as lower-case hex. */
export async function recordedIds(store: ClickHouseClient, ids: readonly Uint8Array[]): Promise<ReadonlySet<string>> {
  const recorded = new Set<string>()
  for (const portion of idPortions(ids)) {
    const query = `SELECT DISTINCT lower(hex(id)) AS id_hex FROM (
      SELECT id FROM ${ATTRIBUTIONS.name} WHERE ${OF_IDS} UNION ALL ${merged('id', OF_IDS)})`
    const found = await storedRows<{ id_hex: string }>(store, query, { ids: portion.map(idHex) })
    for (const { id_hex } of found) recorded.add(id_hex)
  }
  return recorded
}
