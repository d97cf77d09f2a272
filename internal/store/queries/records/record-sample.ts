import type { ClickHouseClient } from '@clickhouse/client'
import { LRUCache } from 'lru-cache'
import { containing } from '../../../filters/contains.js'
import { FILTER_FIELDS, type FieldName, type FilterField } from '../../../filters/filter-fields.js'
import type { Condition } from '../../../filters/parse.js'
import { Limiter } from '../../../process/limiter.js'
import { isTagField, keyOfTagField, NOT_DECLARED, pairStart } from '../../../records/dimensions.js'
import { providerName } from '../../../records/provider-names.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { CLOSED } from '../../tables/closed.js'
import { columnOf } from '../../tables/sorted-copies.js'

/**
 * Some thousands of a tenant's records, from its whole history. They tell how many records a filter finds, and how far
 * apart these are in a sort order. Numbers are rounded, and closed versions are included.
 */
export interface RecordSample {
  /** How many records of the tenant each record of the sample represents. */
  readonly rowsOfEach: number
  /** Estimated number of closed versions of the tenant. */
  readonly closedRows: number
  /** In the order of `materialized_at`. */
  readonly records: readonly SampledRecord[]
}

/** The fields of a record: numbers and times as numbers, ids as hex. */
export type SampledRecord = Readonly<Record<FieldName, string | number>> & { readonly dimensions: readonly string[] }

/** A tenant's sample comes from at most this many places of the table, with this many neighbours at each. */
const PLACES = 192
export const NEIGHBOURS = 16
/** The most places to ask for, when the tenant has only a part of the table. */
const PLACES_ASKED_MAX = 4_096
/** Fewer records prove nothing, and pages of a tenant with so few records are fast anyway. */
const RECORDS_MIN = 500
/** Rows from one neighbour to the next: within one granule, but beyond calls of the same trace. */
const STEP = 120

/** No page waits for a sample. */
const READ_LIMITS = {
  max_execution_time: 30,
  max_threads: 1,
  max_memory_usage: '400000000',
  os_threads_nice_value_query: 10,
  use_index_for_in_with_subqueries_max_values: String(PLACES_ASKED_MAX * NEIGHBOURS),
} as const

/** @returns undefined when the tenant has too few records for a sample */
export async function sampleRecords(
  store: ClickHouseClient,
  tenantId: string,
  signal: AbortSignal,
): Promise<RecordSample | undefined> {
  const ask = async <T>(query: string, params: Record<string, unknown>): Promise<T[]> => {
    const result = await store.query({
      query,
      query_params: params,
      format: 'JSONEachRow',
      clickhouse_settings: READ_LIMITS,
      abort_signal: signal,
    })
    return result.json<T>()
  }
  const rowsIn = async (table: string): Promise<number> => {
    const query = `EXPLAIN ESTIMATE SELECT 1 FROM ${table} WHERE tenant_id = {tenant:String}`
    const estimated = await ask<{ rows: string }>(query, { tenant: tenantId })
    return estimated.reduce((sum, { rows }) => sum + Number(rows), 0)
  }
  const ofTenant = await rowsIn(ATTRIBUTIONS.name)
  if (ofTenant < RECORDS_MIN * STEP) return undefined
  const counted = await ask<{ rows: string }>(`SELECT count() AS rows FROM ${ATTRIBUTIONS.name}`, {})
  const rows = Number(counted[0]?.rows ?? 0)

  // Rows are numbered through all parts; places that lie in other tenants' rows are not read.
  const places = Math.min(PLACES_ASKED_MAX, Math.ceil((PLACES * rows) / ofTenant))
  const found = await ask<SampledRow>(
    `SELECT ${COLUMNS} FROM ${ATTRIBUTIONS.name} WHERE tenant_id = {tenant:String}
       AND (_part_starting_offset + _part_offset) IN (
         SELECT number * {distance:UInt64} + arrayJoin(range({neighbours:UInt64})) * ${STEP}
         FROM numbers({places:UInt64}))`,
    { tenant: tenantId, distance: Math.floor(rows / places), neighbours: NEIGHBOURS, places },
  )
  if (found.length < RECORDS_MIN) return undefined
  const texts = new Map<string, string>()
  const records = found.map((row) => sampled(row, texts))
  records.sort((one, other) => Number(one.materialized_at) - Number(other.materialized_at))
  return { rowsOfEach: ofTenant / found.length, closedRows: await rowsIn(CLOSED.name), records }
}

type SampledRow = Readonly<Record<`${string}_sampled`, string>> & { readonly dimensions: readonly string[] }

const NAMES = (Object.keys(FILTER_FIELDS) as FieldName[]).filter((name) => name !== 'invocation_id')
const isNumber = (field: FieldName): boolean =>
  ['amount', 'confidence', 'instant'].includes(FILTER_FIELDS[field].type.kind)

const COLUMNS = NAMES.map((name) => {
  const column = columnOf(name)
  if (name === 'id') return `lower(hex(id)) AS ${name}_sampled`
  if (FILTER_FIELDS[name].type.kind === 'instant') return `toUnixTimestamp64Milli(${column}) AS ${name}_sampled`
  return `${column} AS ${name}_sampled`
})
  .concat('dimensions')
  .join(', ')

/** Equal texts share one string, so that a sample is small. */
function sampled(row: SampledRow, texts: Map<string, string>): SampledRecord {
  const shared = (text: string): string => {
    const known = texts.get(text)
    if (known === undefined) texts.set(text, text)
    return known ?? text
  }
  const of = (name: FieldName): string | number => {
    const text = row[`${name}_sampled`] ?? ''
    return isNumber(name) ? Number(text) : shared(text)
  }
  const known: Record<string, unknown> = Object.fromEntries(NAMES.map((name) => [name, of(name)]))
  return { ...known, invocation_id: known['id'], dimensions: row.dimensions.map(shared) } as unknown as SampledRecord
}

/** A value as samples hold it. @param value as conditions and cursors carry it */
export const sampledValue = (field: FilterField, value: string): string | number =>
  !isTagField(field) && isNumber(field) ? Number(value) : value

/** The value of a field of a sampled record. */
export function valueIn(record: SampledRecord, field: FilterField): string | number {
  if (!isTagField(field)) return record[field]
  const start = pairStart(keyOfTagField(field))
  return record.dimensions.find((pair) => pair.startsWith(start))?.slice(start.length) ?? NOT_DECLARED
}

/** Whether a record meets a condition, apart from the rounding of numbers. */
export function roughly({ field, operator, values }: Condition): (record: SampledRecord) => boolean {
  const [first = ''] = values
  // Any spelling of a provider finds its records.
  const named = (value: string | number) => (field === 'provider' ? providerName(String(value)) : value)
  const operands = new Set(values.map((value) => named(sampledValue(field, value))))
  const other = named(sampledValue(field, first))
  switch (operator) {
    case 'eq':
    case 'in':
      return (record) => operands.has(named(valueIn(record, field)))
    case 'ne':
      return (record) => named(valueIn(record, field)) !== other
    case 'gt':
      return (record) => valueIn(record, field) > other
    case 'gte':
      return (record) => valueIn(record, field) >= other
    case 'lt':
      return (record) => valueIn(record, field) < other
    case 'lte':
      return (record) => valueIn(record, field) <= other
    case 'contains': {
      const isContained = containing(first)
      return (record) => isContained(String(valueIn(record, field)))
    }
  }
}

/**
 * Samples of the tenants that read pages, kept by each process: made at a tenant's first page, and renewed now and
 * then.
 */
export interface RecordSamples {
  /** @returns the newest one; undefined while there is none, or when the tenant has too few records */
  of(tenantId: string): RecordSample | undefined
  /** Ends the one being made. */
  close(): void
}

/** Which values are common or rare changes slowly. */
const NEW_AFTER_MS = 10 * 60 * 1000
/** A sample takes about 1 MB. */
const TENANTS_MAX = 32

interface Kept {
  sample: RecordSample | undefined
  readonly askedAtMs: number
}

/** @param load makes one; what it throws counts as having none until it is time for the next */
export function keepRecordSamples(
  load: (tenantId: string, signal: AbortSignal) => Promise<RecordSample | undefined>,
  clock: () => number = Date.now,
): RecordSamples {
  const tenants = new LRUCache<string, Kept>({ max: TENANTS_MAX })
  const closing = new AbortController()
  // One at a time, since no request waits for them.
  const loading = new Limiter(1)

  const renew = (tenantId: string, before: RecordSample | undefined): Kept => {
    const kept: Kept = { sample: before, askedAtMs: clock() }
    loading
      .run(async () => (closing.signal.aborted ? undefined : load(tenantId, closing.signal)))
      .then((sample) => {
        kept.sample = sample ?? before
      })
      // Pages are found without it.
      .catch(() => undefined)
    tenants.set(tenantId, kept)
    return kept
  }

  return {
    of(tenantId) {
      const known = tenants.get(tenantId)
      const isOld = known === undefined || clock() - known.askedAtMs > NEW_AFTER_MS
      return (isOld ? renew(tenantId, known?.sample) : known).sample
    },
    close: () => closing.abort(),
  }
}
