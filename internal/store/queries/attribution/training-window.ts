import type { ClickHouseClient } from '@clickhouse/client'
import { asOfSnapshotWithin, OF_ID_AS_OF_SNAPSHOT, snapshotParams } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { IS_OWN, NOBODY_NAMED } from '../records/own-names.js'

/** The records of a tenant that a model is trained on. */
export interface TrainingWindow {
  readonly tenantId: string
  /** By event time, milliseconds since the epoch. */
  readonly fromMs: number
  /** An instant as of which the read model is complete. */
  readonly asOfMs: number
  /** Approximate maximum per kind; beyond it the records are sampled by trace, so that traces stay whole. */
  readonly recordsMax: number
}

/** What of a record a model may use; fields that were not stated are null or empty. */
export type FactsRow = Omit<TrainingRow, 'kind' | 'service' | 'owner'>

/** Outcome of an event, by who decided it. */
export const TRAINING_KINDS = ['resolved', 'unresolved', 'override', 'dispute'] as const
export type TrainingKind = (typeof TRAINING_KINDS)[number]

/** A record as read for training; fields that were not stated are null or empty. */
export interface TrainingRow {
  readonly kind: TrainingKind
  readonly service: string
  readonly owner: string
  readonly event_time_ms: string
  readonly provider: string
  readonly served_model: string
  readonly ingestion_layer: string
  readonly principal: string
  readonly input_tokens: string | null
  readonly output_tokens: string | null
  readonly cached_input_tokens: string | null
  readonly reasoning_tokens: string | null
  readonly latency_ms: string | null
  readonly service_tier: string
  readonly region: string
  /** Hex; zeros when none was stated. */
  readonly identity_hash_hex: string
  readonly trace_id: string
  readonly tags: Readonly<Record<string, string>>
  readonly k8s_namespace: string
  readonly k8s_workload: string
  readonly workload_identity: string
}

/**
 * An override counts as an audit of stage B when the event had reached stage B before; of others, the person's word is
 * a fact like any other. So is an override by filters: nobody has looked at its calls one by one, and they are no fair
 * sample of the rest. A record of which facts tell the owner alone had reached stage B, too. A dispute says who it was not, if stage B had named somebody; else it says nothing.
 */
const KIND = `multiIf(
  output_state = 'disputed' AND stage_origin = 'stage_b', 'dispute',
  output_state = 'disputed' AND stage_origin = 'stage_a', 'none',
  evidence_basis = 'manual_override'
  AND (JSONExtractString(evidence, 'replaced', 'stage_origin') IN ('stage_b', 'stage_c')
    OR JSONExtractString(evidence, 'replaced', 'evidence_basis') = 'owner_resolved')
    AND JSONExtractString(evidence, 'override', 'bulk_override') = '',
    'override',
  stage_origin = 'stage_a' AND evidence_basis != 'owner_resolved', 'resolved',
  'unresolved')`

/** Attributions proven by facts; a service that was only declared proves nothing. */
const IS_PROVEN = "(stage_origin != 'stage_a' OR confidence_band = 'chargeback_ready')"

const SINCE = 'event_time >= fromUnixTimestamp64Milli({from:Int64})'
const WINDOW = `tenant_id = {tenant:String} AND ${SINCE} AND ${asOfSnapshotWithin(SINCE)} AND ${IS_PROVEN}`

/** Sampling unit: the trace, or the event itself if it has none. */
const UNIT = "cityHash64(if(trace_id = '', hex(id), trace_id))"

/** A class is who may be named for others' calls, which no person is; whether facts or somebody's decision says so. */
const OWNER = `if(records.owner IN (SELECT owner FROM ${ATTRIBUTIONS.name} WHERE ${WINDOW} AND ${IS_OWN}),
  '${NOBODY_NAMED}', records.owner)`

const FACTS = `toUnixTimestamp64Milli(event_time) AS event_time_ms, provider, served_model,
  ingestion_layer, principal, input_tokens, output_tokens, cached_input_tokens, reasoning_tokens, latency_ms,
  service_tier, region, lower(hex(identity_hash)) AS identity_hash_hex, trace_id, tags, k8s_namespace, k8s_workload,
  workload_identity`
const COLUMNS = `service, ${OWNER} AS owner, ${FACTS}`

/**
 * The records of a window, in the order of their events' times. Of audits all are given, of the rest a sample: the same
 * window as of the same instant gives the same records.
 */
export async function* trainingRows(store: ClickHouseClient, window: TrainingWindow): AsyncGenerator<TrainingRow> {
  const { tenantId, fromMs, asOfMs, recordsMax } = window
  const params = { ...snapshotParams(tenantId, asOfMs), from: fromMs }
  const counted = await store.query({
    query: `SELECT countIf(kind = 'resolved'), countIf(kind = 'unresolved')
            FROM (SELECT ${KIND} AS kind FROM ${ATTRIBUTIONS.name} WHERE ${WINDOW})`,
    query_params: params,
    format: 'JSONCompactEachRow',
    clickhouse_settings: LIMITS,
  })
  const [[resolved = '0', unresolved = '0'] = []] = await counted.json<[string, string]>()
  const oneIn = (count: string): number => Math.max(1, Math.ceil(Number(count) / recordsMax))

  const found = await store.query({
    query: `SELECT ${KIND} AS kind, ${COLUMNS} FROM ${ATTRIBUTIONS.name} AS records
            WHERE ${WINDOW} AND (
              kind IN ('override', 'dispute')
              OR (kind = 'resolved' AND ${UNIT} % {resolvedOneIn:UInt32} = 0)
              OR (kind = 'unresolved' AND ${UNIT} % {unresolvedOneIn:UInt32} = 0))
            ORDER BY event_time, id`,
    query_params: { ...params, resolvedOneIn: oneIn(resolved), unresolvedOneIn: oneIn(unresolved) },
    format: 'JSONEachRow',
    clickhouse_settings: LIMITS,
  })
  for await (const rows of found.stream<TrainingRow>()) for (const row of rows) yield row.json()
}

/** What a model may use of one record, as of a snapshot. */
export async function factsOfRecord(
  store: ClickHouseClient,
  tenantId: string,
  idHex: string,
  snapshotMs: number,
): Promise<FactsRow | undefined> {
  const found = await store.query({
    query: `SELECT ${FACTS} FROM ${ATTRIBUTIONS.name} WHERE tenant_id = {tenant:String} AND ${OF_ID_AS_OF_SNAPSHOT}
            LIMIT 1`,
    query_params: { ...snapshotParams(tenantId, snapshotMs), id: idHex },
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: 10 },
  })
  return (await found.json<FactsRow>())[0]
}

export interface ResolvedWindow {
  readonly tenantId: string
  /** When the records became valid, milliseconds since the epoch. */
  readonly sinceMs: number
  /** An instant as of which the read model is complete. */
  readonly asOfMs: number
  readonly eventsMax: number
}

const NEWER = 'valid_from > fromUnixTimestamp64Milli({since:Int64})'
const DAY_MS = 24 * 60 * 60 * 1000

/** The newest records that facts have proven since an instant, in the order in which they became valid. */
export async function resolvedRows(store: ClickHouseClient, window: ResolvedWindow): Promise<TrainingRow[]> {
  const { tenantId, sinceMs, asOfMs, eventsMax } = window
  const found = await store.query({
    query: `SELECT * FROM (
              SELECT ${KIND} AS kind, ${COLUMNS}, valid_from, id FROM ${ATTRIBUTIONS.name} AS records
              WHERE ${WINDOW} AND ${NEWER} AND kind = 'resolved'
              ORDER BY valid_from DESC, id DESC LIMIT {most:UInt32})
            ORDER BY valid_from, id`,
    // Events that arrive later than a day after the call say little about current traffic.
    query_params: { ...snapshotParams(tenantId, asOfMs), from: sinceMs - DAY_MS, since: sinceMs, most: eventsMax },
    format: 'JSONEachRow',
    clickhouse_settings: LIMITS,
  })
  return found.json<TrainingRow>()
}

/** Runs long, on one thread, and sorts on disk to leave memory to others. */
const LIMITS = {
  max_execution_time: 600,
  max_threads: 1,
  max_memory_usage: String(1024 ** 3),
  max_bytes_before_external_sort: String(256 * 1024 ** 2),
} as const
