import { createHash, randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type Place, type ResidencyRegion, refusalOfCrossing } from '../residency/residency.js'
import type { ExportGrain, StagedSlice, UnitPrices } from '../store/queries/exports/export-groups.js'
import { countedMeters } from '../store/queries/exports/export-meters.js'
import type { ExportSelection } from '../store/queries/exports/export-records.js'
import type { ExportSource } from '../store/queries/exports/export-source.js'
import type { FocusRowsQuestion } from '../store/queries/exports/focus-rows.js'
import type { Staged, StagedTotals } from '../store/queries/exports/staged-groups.js'
import { SNAPSHOT_AGE_MS_MAX } from '../store/snapshot.js'
import { ahead } from './ahead.js'
import type { BlobStore } from './blobs/blob-store.js'
import { foldedBeside } from './folding.js'
import { FILES_KEPT_MS, type JobWork, type StoredFile, type StoredJob } from './job.js'
import type { JobHold } from './job-hold.js'
import { manifestOf } from './manifest.js'
import { countingRows } from './packed-rows.js'
import { PRODUCTS } from './products.js'
import { DAY_MS, type ExportRequest, startOfDay } from './request.js'
import { dayOf, type PlannedSlice, planSlices } from './slices.js'
import { type PeriodTotals, sumPeriod } from './totals.js'
import { ExportFailed, streamWithStoreErrors, withBlobErrors, withStoreErrors } from './unavailable.js'

/** Slices staged, or parts written, concurrently; a part uses one thread of ClickHouse. */
const AT_ONCE = 2

export interface ExporterDeps {
  readonly source: ExportSource
  readonly blobs: BlobStore
  /** The latest instant up to which the read model is complete. */
  readonly newestComplete: () => Promise<number>
  /** The tenant's display name and data residency; undefined when unknown. */
  readonly findTenant: (
    tenantId: string,
  ) => { readonly name: string; readonly residencyRegion: ResidencyRegion } | undefined
  /** Where files are processed and stored, for the residency check. */
  readonly places: readonly Place[]
  /** Hashes of the tenant's identities that are not people, hex. @throws when they cannot be determined */
  readonly workloadsOf: (tenantId: string) => Promise<readonly string[]>
  /** Unit prices from a record's `cost_details`. */
  readonly unitPricesIn: (costDetails: string) => Omit<UnitPrices, 'hashes'> | undefined
  readonly clock: () => number
}

/**
 * Writes the files of a job: groups are formed and staged in ClickHouse, then streamed into the blob store, slice by
 * slice. Progress is saved, so that another exporter can resume the job and produce the same file: everything is read as
 * of one instant and in one order.
 *
 * @returns the result of the job; the caller saves it
 * @throws ExportFailed when the job can never succeed, Unavailable when a dependency is down, JobLost when another exporter has taken over
 */
export async function exportJob(
  hold: JobHold,
  deps: ExporterDeps,
  signal: AbortSignal,
): Promise<NonNullable<StoredJob['result']>> {
  const tenant = residentTenant(hold.job.tenant_id, deps)
  const run = await begin(hold, deps, signal)
  const stagings = await stage(run)
  const folding = await fold(run, stagings)
  const file = await write(run, folding, tenant.name)
  const createdAtMs = deps.clock()
  const { id: jobId, tenant_id: tenantId, request } = hold.job
  const facts = { jobId, tenantId, tenantName: tenant.name, request, asOfMs: run.work.snapshot_ms, createdAtMs, file }
  const manifest = JSON.stringify(
    manifestOf({ ...facts, recordTotals: run.recordTotals, totals: folding.totals }),
    null,
    2,
  )
  return {
    file,
    manifest: await store(run, 'manifest.json', 'application/json', [Buffer.from(manifest)]),
    rows: folding.totals.rows,
    expires_at: new Date(createdAtMs + FILES_KEPT_MS).toISOString(),
  }
}

/** Fails closed: no data is moved before its residency has been checked. */
function residentTenant(tenantId: string, { findTenant, places }: ExporterDeps) {
  const tenant = findTenant(tenantId)
  if (tenant === undefined) throw new ExportFailed('residency_unknown')
  if (refusalOfCrossing(tenant.residencyRegion, places) !== undefined) throw new ExportFailed('residency_blocked')
  return tenant
}

/** One attempt at a job. */
interface Run extends ExporterDeps {
  readonly hold: JobHold
  readonly signal: AbortSignal
  readonly request: ExportRequest
  readonly slices: readonly PlannedSlice[]
  readonly grain: ExportGrain
  readonly selection: ExportSelection
  readonly recordTotals: PeriodTotals
  readonly workloads: readonly string[]
  readonly work: JobWork
}

async function begin(hold: JobHold, deps: ExporterDeps, signal: AbortSignal): Promise<Run> {
  const { source } = deps
  const { tenant_id: tenantId, request } = hold.job
  // A snapshot that is too old would miss records, so the job starts over with a new one.
  const startedAsOfMs = hold.job.work?.snapshot_ms ?? Number.NEGATIVE_INFINITY
  if (deps.clock() - startedAsOfMs > SNAPSHOT_AGE_MS_MAX) {
    await hold.save({ work: { snapshot_ms: await deps.newestComplete(), slices: [], parts: [] } })
  }
  const work = workOf(hold)
  const { from, to } = request.period
  const days = { tenantId, asOfMs: work.snapshot_ms, fromMs: startOfDay(from), toMs: startOfDay(to) + DAY_MS }
  const hasClosed = await withStoreErrors('internal_error', source.hasClosedVersions(days, signal))
  const selection = { ...days, hasClosed }
  const isBy = (grouping: ExportRequest['group_by'][number]): boolean => request.group_by.includes(grouping)
  const { totals: recordTotals, exportedOf } = await sumPeriod(request.period, isBy('day'), selection, source, signal)
  return {
    ...deps,
    hold,
    signal,
    request,
    slices: planSlices(request.period, isBy('day'), exportedOf),
    grain: {
      owner: isBy('owner'),
      service: isBy('service'),
      servedModel: isBy('served_model'),
      day: isBy('day'),
      metering: isBy('meter') ? await meteringOf(selection, deps, signal) : undefined,
    },
    selection,
    recordTotals,
    workloads: await deps.workloadsOf(tenantId).catch((cause: unknown) => {
      throw new ExportFailed('cohorts_unknown', { cause })
    }),
    work,
  }
}

function workOf({ job }: JobHold): JobWork {
  if (job.work === null) throw new Error('the job has not started')
  return job.work
}

async function meteringOf(
  selection: ExportSelection,
  { source, unitPricesIn }: ExporterDeps,
  signal: AbortSignal,
): Promise<ExportGrain['metering']> {
  const kinds = await withStoreErrors('internal_error', source.findPricedKinds(selection, signal))
  const prices = new Map<string, UnitPrices>()
  for (const { details, hash } of kinds) {
    const found = unitPricesIn(details)
    if (found === undefined) continue
    const { price, usdPerToken } = found
    prices.set(price, { price, usdPerToken, hashes: [...(prices.get(price)?.hashes ?? []), hash] })
  }
  return { meters: countedMeters(kinds), prices: [...prices.values()] }
}

/** Stages the groups of every slice that is not staged yet. */
async function stage({ hold, source, slices, selection, grain, workloads, signal }: Run): Promise<readonly string[]> {
  const { id: jobId } = hold.job
  const isThere = async ({ staging, rows }: JobWork['slices'][number]): Promise<boolean> =>
    (await withStoreErrors('internal_error', source.countStaged({ jobId, stagings: [staging] }, signal))) === rows
  const kept = await Promise.all(workOf(hold).slices.map(isThere))
  // Staged groups are missing after a restore of ClickHouse or past their TTL: stage them again, with the same result.
  if (kept.includes(false)) await hold.save({ work: { ...workOf(hold), slices: [] } })

  const stageOne = async ([index, planned]: readonly [number, PlannedSlice], signal: AbortSignal) => {
    const { fromMs, toMs, month, chargeStart, chargeEnd } = planned
    const staging = `${index}.${randomBytes(6).toString('hex')}`
    const slice: StagedSlice = { jobId, staging, month, chargeStart, chargeEnd }
    const days = { ...selection, fromMs, toMs }
    await withStoreErrors('cohorts_unknown', source.stageGroups(days, grain, slice, workloads, signal))
    return {
      staging,
      rows: await withStoreErrors('internal_error', source.countStaged({ jobId, stagings: [staging] }, signal)),
    }
  }
  const left = [...slices.entries()].slice(workOf(hold).slices.length)
  for await (const staged of ahead(left, AT_ONCE, stageOne, signal)) {
    const work = workOf(hold)
    const done = [...work.slices, staged]
    await hold.save({ percent: Math.floor((50 * done.length) / slices.length), work: { ...work, slices: done } })
  }
  return workOf(hold).slices.map(({ staging }) => staging)
}

interface Folding extends Staged {
  /** Keys of groups folded in addition to the small ones. */
  readonly folded: readonly string[]
  readonly totals: StagedTotals
}

/** Decides which groups are folded, and checks the totals of all groups against those of the records. */
async function fold({ hold, source, recordTotals, signal }: Run, stagings: readonly string[]): Promise<Folding> {
  const staged = { jobId: hold.job.id, stagings }
  const roots = await withStoreErrors('cohorts_unknown', source.findRoots(staged, signal))
  const folded = roots.map(foldedBeside).filter((key) => key !== undefined)
  const totals = await withStoreErrors('cohorts_unknown', source.sumStaged(staged, folded, signal))
  const { exported } = recordTotals
  if (totals.cost !== exported.cost_usd || Number(totals.invocations) !== exported.count) {
    throw new ExportFailed('totals_differ')
  }
  return { ...staged, folded, totals }
}

async function write(run: Run, folding: Folding, tenantName: string): Promise<StoredFile> {
  const { hold, request } = run
  const { period, columns } = request
  const question = {
    jobId: folding.jobId,
    folded: folding.folded,
    columns,
    from: period.from,
    to: dayOf(startOfDay(period.to) + DAY_MS),
    constants: { tenantId: hold.job.tenant_id, tenantName, issuer: tenantName, products: PRODUCTS },
  }
  const name = `focus-${period.from}-${period.to}-${hold.job.id}`
  if (request.file_format === 'parquet') {
    const rows = streamRows({ ...question, stagings: folding.stagings, of: 'all' }, 'parquet', run)
    return store(run, `${name}.parquet`, 'application/vnd.apache.parquet', rows)
  }
  await writeParts(run, folding, question)
  return store(run, `${name}.csv.gz`, 'application/gzip', csvFile(columns, run))
}

type Question = Omit<FocusRowsQuestion, 'of' | 'stagings'>

/** Writes the parts of a CSV file, each a gzip member or empty: the shown rows of each slice, and after each month its folded row. */
async function writeParts(run: Run, { stagings, totals }: Folding, question: Question): Promise<void> {
  const { hold, slices, blobs, signal } = run
  const parts = slices.flatMap(({ month }, index): Pick<FocusRowsQuestion, 'of' | 'stagings'>[] => {
    const shown = { of: 'shown', stagings: stagings.slice(index, index + 1) } as const
    if (slices[index + 1]?.month === month) return [shown]
    return [shown, { of: 'folded', stagings: stagings.filter((_, other) => slices[other]?.month === month) }]
  })
  const isThere = async ({ key }: JobWork['parts'][number]) => (await withBlobErrors(blobs.size(key))) !== undefined
  if ((await Promise.all(workOf(hold).parts.map(isThere))).includes(false)) {
    await hold.save({ work: { ...workOf(hold), parts: [] } })
  }
  const writeOne = async ([index, part]: readonly [number, (typeof parts)[number]], signal: AbortSignal) => {
    signal.throwIfAborted()
    const key = `${prefixOf(hold.job)}parts/${String(index).padStart(5, '0')}`
    const counted = { rows: 0 }
    const packed = streamRows({ ...question, ...part }, 'csv', { ...run, signal })
    await withBlobErrors(blobs.write(key, countingRows(packed, counted)))
    return { key, rows: counted.rows }
  }
  const left = [...parts.entries()].slice(workOf(hold).parts.length)
  for await (const part of ahead(left, AT_ONCE, writeOne, signal)) {
    const work = workOf(hold)
    const done = [...work.parts, part]
    await hold.save({ percent: 50 + Math.floor((45 * done.length) / parts.length), work: { ...work, parts: done } })
  }
  const written = workOf(hold).parts.reduce((total, { rows }) => total + rows, 0)
  if (written !== totals.rows) throw new ExportFailed('totals_differ')
}

async function* csvFile(columns: readonly string[], { hold, blobs }: Run): AsyncGenerator<Uint8Array> {
  yield gzipSync(`${columns.join(',')}\r\n`)
  for (const { key } of workOf(hold).parts) yield* blobs.read(key)
}

async function* streamRows(
  question: FocusRowsQuestion,
  format: 'csv' | 'parquet',
  { source, signal }: Run,
): AsyncGenerator<Uint8Array> {
  const rows = await withStoreErrors('internal_error', source.streamRows(question, format, signal))
  for await (const some of streamWithStoreErrors('internal_error', rows)) {
    signal.throwIfAborted()
    yield some
  }
}

/** Key prefix of a job's blobs. */
export const prefixOf = ({ tenant_id, id }: Pick<StoredJob, 'tenant_id' | 'id'>): string => `${tenant_id}/${id}/`

/** Writes a file of the job and computes its SHA-256 digest. */
async function store(
  { hold, blobs }: Run,
  name: string,
  mediaType: string,
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<StoredFile> {
  const key = `${prefixOf(hold.job)}${name}`
  const digest = createHash('sha256')
  const digested = async function* () {
    for await (const part of parts) {
      digest.update(part)
      yield part
    }
  }
  const bytes = await withBlobErrors(blobs.write(key, digested()))
  return { key, name, media_type: mediaType, bytes, sha256: digest.digest('hex') }
}
