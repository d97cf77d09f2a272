/** Export jobs on a real broker and a real store, run by an exporter in this process. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { KV } from '@nats-io/kv'
import { toRow, type Verdict } from '../../internal/attribution/records/row.js'
import { DEFAULT_SETTINGS } from '../../internal/auth/tenant.js'
import type { Settlement } from '../../internal/broker/work-queue.js'
import type { NewEvent } from '../../internal/events/event.js'
import { directoryBlobs } from '../../internal/exports/blobs/directory.js'
import type { Manifest } from '../../internal/exports/export-contract.js'
import { newJob, type StoredJob } from '../../internal/exports/export-job.js'
import { type ExportBody, readRequest } from '../../internal/exports/export-request.js'
import { type WorkerDeps, workOnJob } from '../../internal/exports/export-worker.js'
import type { Invocation } from '../../internal/invocations/invocation.js'
import { exportSource } from '../../internal/store/queries/exports/export-source.js'
import { insertRows } from '../../internal/store/sink.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../internal/store/tables/attributions.js'
import { createLog } from '../../internal/telemetry/log.js'
import { formatQuantity, sum } from '../../internal/units/quantity.js'
import { consumptionRules } from '../../internal/valuation/consumption.js'
import { loadPriceBook } from '../../internal/valuation/cost/price-book.js'
import { unitPricesIn } from '../../internal/valuation/cost/unit-prices.js'
import { EXPORT_PLACES, JOBS } from '../../streams/buckets.js'
import { exportsSubject } from '../../streams/exports.js'
import { type Database, openDatabase } from './database.js'
import { type FocusRow, parseCsv } from './focus-rules.js'
import { admitted, idOf } from './invocations.js'
import { type LogBroker, launchLogBroker } from './planned-logs.js'
import { VERDICT } from './rows.js'
import { atEnd } from './run/at-end.js'
import { ROW_DEPS } from './stages.js'

export interface ExportBench {
  readonly store: Database
  readonly broker: LogBroker
  readonly jobs: KV
  readonly deps: WorkerDeps
  readonly folder: string
  /** Published events, in order. */
  readonly events: readonly NewEvent[]
  insert(rows: readonly AttributionRow[]): Promise<void>
  /** Stores a job in the bucket, as the route does. */
  order(tenantId: string, body?: Partial<ExportBody>, stated?: Partial<StoredJob>): Promise<StoredJob>
  /** Delivers the message of a job to an exporter once. */
  work(job: StoredJob, deps?: Partial<WorkerDeps>, signal?: AbortSignal): Promise<Settlement>
  read(job: StoredJob): Promise<StoredJob>
  /** Orders a job, runs it, and reads its files. */
  exported(tenantId: string, body?: Partial<ExportBody>, deps?: Partial<WorkerDeps>): Promise<Exported>
  bytesOf(job: StoredJob, which: 'file' | 'manifest'): Promise<Buffer>
}

export interface Exported {
  readonly job: StoredJob
  readonly header: readonly string[]
  readonly rows: readonly FocusRow[]
  readonly manifest: Manifest
}

/** The tag keys of every tenant. */
export const DECLARED = [{ key: 'Project' }, { key: 'cost "centre"' }, { key: 'owner' }]

/** Ends with the test file. */
export async function launchExports(): Promise<ExportBench> {
  const store = await openDatabase()
  const broker = await launchLogBroker()
  const jobs = await broker.bucket(JOBS)
  const folder = mkdtempSync(join(tmpdir(), 'attribution-exports-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  const events: NewEvent[] = []
  const deps: WorkerDeps = {
    jobs,
    slots: await broker.bucket(EXPORT_PLACES),
    perTenant: 2,
    wake: async () => undefined,
    source: exportSource(store.client),
    blobs: directoryBlobs(folder, null),
    newestComplete: async () => Date.now(),
    findTenant: () => ({ name: 'Acme, "Inc."', residencyRegion: null, minCohort: 5, personalTags: [] }),
    places: [],
    workloadsOf: async () => [],
    costObjectsOf: () => ({ services: [], owners: [] }),
    unitPricesIn,
    publishEvent: async (event) => void events.push(event),
    clock: Date.now,
    log: createLog('test', 'silent'),
  }
  let tokens = 0
  let made = 0

  const bench: ExportBench = {
    store,
    broker,
    jobs,
    deps,
    folder,
    events,
    insert: (rows) => insertRows(store.client, ATTRIBUTIONS, rows, `rows ${++tokens}`),

    async order(tenantId, body = {}, stated = {}) {
      const read = readRequest(
        { format: 'focus', period: { from: '2026-10-01', to: '2026-10-31' }, ...body },
        Date.now(),
        DECLARED,
      )
      if (!read.ok) throw new Error(JSON.stringify(read.errors))
      const job: StoredJob = {
        ...newJob(`job_${++made}`, tenantId, 'key_one', read.request, Date.now()),
        ...stated,
      }
      await jobs.create(job.id, JSON.stringify(job))
      return job
    },

    work: ({ id, tenant_id }, other = {}, signal = new AbortController().signal) =>
      workOnJob({ subject: exportsSubject(tenant_id, id), working: () => undefined }, { ...deps, ...other }, signal),

    async read({ id }) {
      const entry = await jobs.get(id)
      if (entry === null) throw new Error('the job does not exist')
      return entry.json<StoredJob>()
    },

    async exported(tenantId, body = {}, other = {}) {
      const ordered = await bench.order(tenantId, body)
      await bench.work(ordered, other)
      const job = await bench.read(ordered)
      if (job.status !== 'succeeded') throw new Error(`the job ${job.status}: ${job.failure}`)
      const manifest = JSON.parse(String(await bench.bytesOf(job, 'manifest'))) as Manifest
      if (job.request.file_format === 'parquet') return { job, header: [], rows: [], manifest }
      return { job, ...parseCsv(String(gunzipSync(await bench.bytesOf(job, 'file')))), manifest }
    },

    async bytesOf({ result }, which) {
      const parts: Uint8Array[] = []
      for await (const part of deps.blobs.read(result?.[which].key ?? '')) parts.push(part)
      return Buffer.concat(parts)
    },
  }
  return bench
}

type Stated = Partial<Verdict> & { readonly invocation?: Partial<Invocation> }

const book = loadPriceBook()
const consumptionOf = consumptionRules(
  () => book,
  () => undefined,
  () => DEFAULT_SETTINGS,
)
let tenants = 0
/** A tenant that no other test uses. */
export const newTenant = (): string => `tnt_${++tenants}`

/** USD. */
export const costOf = (rows: readonly AttributionRow[]): string =>
  formatQuantity(sum(rows.map(({ costUsd }) => costUsd)))

let records = 0

/** An eligible record of October 2026, priced by the price book, with the members that the test states. */
export function record(
  tenantId: string,
  { invocation = {}, ...stated }: Stated = {},
  changed: Partial<AttributionRow> = {},
): AttributionRow {
  const event = admitted({
    tenantId,
    id: idOf(++records),
    invocation: { eventTimeMs: Date.UTC(2026, 9, 15, 12), ...invocation },
  })
  const place = { partition: 0, validFromMs: Date.UTC(2026, 10, 1) }
  return { ...toRow(event, { ...VERDICT, ...stated }, place, { ...ROW_DEPS, consumptionOf }), ...changed }
}

/** The same call by this number of people. */
export const byPeople = (tenantId: string, count: number, stated: Stated = {}, names = 'person'): AttributionRow[] =>
  Array.from({ length: count }, (_, person) =>
    record(tenantId, { ...stated, invocation: { attributedIdentity: `${names}-${person}`, ...stated.invocation } }),
  )
