import { createHash, randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { isTagField, type TagField } from '../records/dimensions.js'
import { type Place, type ResidencyRegion, refusalOfCrossing } from '../residency/residency.js'
import {
  type ExportGrain,
  foldedBy,
  type StagedSlice,
  type UnitPrices,
} from '../store/queries/exports/export-groups.js'
import { countedMeters } from '../store/queries/exports/export-meters.js'
import { LABELS, type Label, tagColumn } from '../store/queries/exports/export-names.js'
import type { ExportPeople, ExportSelection } from '../store/queries/exports/export-records.js'
import type { ExportSource } from '../store/queries/exports/export-source.js'
import type { FocusRowsQuestion } from '../store/queries/exports/focus-rows.js'
import type { Staged, StagedTotals } from '../store/queries/exports/staged-groups.js'
import { SNAPSHOT_AGE_MS_MAX } from '../store/snapshot.js'
import type { BlobStore } from './blobs/blob-store.js'
import { FILE_RETENTION_MS, type JobWork, type StoredFile, type StoredJob } from './export-job.js'
import { manifestOf } from './export-manifest.js'
import { DAY_MS, type ExportRequest, startOfDay } from './export-request.js'
import { PRODUCTS } from './focus/columns.js'
import type { JobHold } from './job-hold.js'
import { mapInOrder } from './map-in-order.js'
import { countingRows } from './packed-rows.js'
import { dayOf, type PlannedSlice, planSlices } from './slices.js'
import { type PeriodTotals, sumPeriod } from './totals.js'
import { ExportFailed, streamWithStoreErrors, withBlobErrors, withStoreErrors } from './unavailable.js'

/** Slices staged, or parts written, concurrently; a part uses one thread of ClickHouse. */
const AT_ONCE = 2

interface ExportingTenant {
  /** For display. */
  readonly name: string
  readonly residencyRegion: ResidencyRegion
  /** The least number of people in a row. */
  readonly minCohort: number
  /** Declared tags whose values name people. */
  readonly personalTags: readonly TagField[]
}

export interface ExporterDeps {
  readonly source: ExportSource
  readonly blobs: BlobStore
  /** The latest instant up to which the read model is complete. */
  readonly newestComplete: () => Promise<number>
  /** Undefined when unknown. */
  readonly findTenant: (tenantId: string) => ExportingTenant | undefined
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
 * slice. Progress is saved, so that another exporter can resume the job and produce the same file: everything is read
 * as of one instant and in one order.
 *
 * @returns the result of the job; the caller saves it
 * @throws ExportFailed when the job can never succeed, Unavailable when a dependency is down, JobLost when another
 *   exporter has taken over
 */
export async function exportJob(
  hold: JobHold,
  deps: ExporterDeps,
  signal: AbortSignal,
): Promise<NonNullable<StoredJob['result']>> {
  const tenant = residentTenant(hold.job.tenant_id, deps)
  const run = await begin(hold, tenant, deps, signal)
  const stagings = await stage(run)
  const folding = await fold(run, stagings)
  const file = await write(run, folding, tenant.name)
  const createdAtMs = deps.clock()
  const { id: jobId, tenant_id: tenantId, request } = hold.job
  const facts = { jobId, tenantId, tenantName: tenant.name, request, createdAtMs, file }
  const manifest = JSON.stringify(
    manifestOf({
      ...facts,
      asOfMs: run.work.read_as_of_ms,
      k: run.work.k,
      filtersApplied: run.work.filters_applied,
      recordTotals: run.recordTotals,
      totals: folding.totals,
    }),
    null,
    2,
  )
  return {
    file,
    manifest: await store(run, 'manifest.json', 'application/json', [Buffer.from(manifest)]),
    rows: folding.totals.rows,
    filters_applied: run.work.filters_applied,
    expires_at: new Date(createdAtMs + FILE_RETENTION_MS).toISOString(),
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
  readonly people: ExportPeople
  readonly work: JobWork
}

async function begin(
  hold: JobHold,
  { minCohort: k, personalTags }: ExportingTenant,
  deps: ExporterDeps,
  signal: AbortSignal,
): Promise<Run> {
  const { source } = deps
  const { tenant_id: tenantId, request } = hold.job
  const { filters, group_by: groupBy } = request
  const workloads = await deps.workloadsOf(tenantId).catch((cause: unknown) => {
    throw new ExportFailed('cohorts_unknown', { cause })
  })
  const people = { workloads, personalTags }
  const { from, to } = request.period
  const selectionAt = async (asOfMs: number, some: typeof filters): Promise<ExportSelection> => {
    const days = { tenantId, asOfMs, fromMs: startOfDay(from), toMs: startOfDay(to) + DAY_MS, filters: some }
    return { ...days, hasClosed: await withStoreErrors('internal_error', source.hasClosedVersions(days, signal)) }
  }
  // A snapshot that is too old would miss records, so the job starts over with a new one.
  const startedAsOfMs = hold.job.work?.read_as_of_ms ?? Number.NEGATIVE_INFINITY
  if (deps.clock() - startedAsOfMs > SNAPSHOT_AGE_MS_MAX) {
    const asOfMs = await deps.newestComplete()
    const holding = async (): Promise<number> =>
      source.countHoldingFilters(await selectionAt(asOfMs, filters), people, k, signal)
    const applied = filters.length === 0 ? 0 : await withStoreErrors('cohorts_unknown', holding())
    await hold.save({
      work: { read_as_of_ms: asOfMs, k, filters_applied: applied, slices: [], folds: [], parts: [] },
    })
  }
  const work = workOf(hold)
  const selection = await selectionAt(work.read_as_of_ms, filters.slice(0, work.filters_applied))
  const isByDay = groupBy.includes('day')
  const { totals: recordTotals, exportedOf } = await sumPeriod(request.period, isByDay, selection, source, signal)
  return {
    ...deps,
    hold,
    signal,
    request,
    slices: planSlices(request.period, isByDay, exportedOf),
    grain: {
      ...labelsOf(groupBy),
      day: isByDay,
      metering: groupBy.includes('meter') ? await meteringOf(selection, deps, signal) : undefined,
    },
    selection,
    recordTotals,
    people,
    work,
  }
}

/** The labels of a grouping; tags have the columns of their place among the tags. */
function labelsOf(groupBy: ExportRequest['group_by']): Pick<ExportGrain, 'names' | 'tags'> {
  const tags = groupBy.filter(isTagField)
  const names = groupBy
    .map((name) => (isTagField(name) ? tagColumn(tags.indexOf(name)) : name))
    .filter((name): name is Label => name !== 'provider' && LABELS.some((known) => known === name))
  return { names, tags }
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
    const { price, usdPerUnit } = found
    prices.set(price, { price, usdPerUnit, hashes: [...(prices.get(price)?.hashes ?? []), hash] })
  }
  return { meters: countedMeters(kinds), prices: [...prices.values()] }
}

/** Stages the groups of every slice that is not staged yet. */
async function stage({
  hold,
  source,
  slices,
  selection,
  grain,
  people,
  work: { k },
  signal,
}: Run): Promise<readonly string[]> {
  const { id: jobId } = hold.job
  const isThere = async ({ staging, rows }: JobWork['slices'][number]): Promise<boolean> =>
    (await withStoreErrors('internal_error', source.countStaged({ jobId, stagings: [staging] }, signal))) === rows
  const present = await Promise.all(workOf(hold).slices.map(isThere))
  // Staged groups are missing after a restore of ClickHouse or past their TTL: stage them again, with the same result.
  if (present.includes(false)) await hold.save({ work: { ...workOf(hold), slices: [], folds: [] } })

  const stageOne = async ([index, planned]: readonly [number, PlannedSlice], signal: AbortSignal) => {
    const { fromMs, toMs, month, chargeStart, chargeEnd } = planned
    const staging = `${index}.${randomBytes(6).toString('hex')}`
    const slice: StagedSlice = { jobId, staging, month, chargeStart, chargeEnd }
    const days = { ...selection, fromMs, toMs }
    await withStoreErrors('cohorts_unknown', source.stageGroups(days, grain, slice, people, k, signal))
    return {
      staging,
      rows: await withStoreErrors('internal_error', source.countStaged({ jobId, stagings: [staging] }, signal)),
    }
  }
  const left = [...slices.entries()].slice(workOf(hold).slices.length)
  for await (const staged of mapInOrder(left, AT_ONCE, stageOne, signal)) {
    const work = workOf(hold)
    const done = [...work.slices, staged]
    await hold.save({ percent: Math.floor((50 * done.length) / slices.length), work: { ...work, slices: done } })
  }
  return workOf(hold).slices.map(({ staging }) => staging)
}

interface Folding extends Staged {
  readonly totals: StagedTotals
}

/** The slices of each month, in order. */
function byMonth<T>(slices: readonly PlannedSlice[], items: readonly T[]): readonly (readonly T[])[] {
  const months = new Map<string, T[]>()
  for (const [index, item] of items.entries()) {
    const month = slices[index]?.month ?? ''
    months.set(month, [...(months.get(month) ?? []), item])
  }
  return [...months.values()]
}

/**
 * Decides which groups are folded, month by month, and checks the totals of all groups against those of the records.
 */
async function fold(run: Run, stagings: readonly string[]): Promise<Folding> {
  const { hold, source, slices, grain, recordTotals, signal, work } = run
  const { id: jobId } = hold.job
  const present = await Promise.all(
    workOf(hold).folds.map(async ({ fold: name, groups }) => {
      const there = source.countFolded({ jobId, folds: [name] }, signal)
      return (await withStoreErrors('cohorts_unknown', there)) === groups
    }),
  )
  if (present.includes(false)) await hold.save({ work: { ...workOf(hold), folds: [] } })
  for (const ofMonth of byMonth(slices, stagings).slice(workOf(hold).folds.length)) {
    const folds = workOf(hold).folds
    const name = `${folds.length}.${randomBytes(6).toString('hex')}`
    const folding = source.foldGroups({ jobId, stagings: ofMonth }, foldedBy(grain), work.k, name, signal)
    await withStoreErrors('cohorts_unknown', folding)
    const groups = await withStoreErrors('cohorts_unknown', source.countFolded({ jobId, folds: [name] }, signal))
    await hold.save({ work: { ...workOf(hold), folds: [...folds, { fold: name, groups }], parts: [] } })
  }
  const staged = { jobId, stagings, folds: workOf(hold).folds.map(({ fold: name }) => name) }
  const totals = await withStoreErrors('cohorts_unknown', source.sumStaged(staged, signal))
  const { exported } = recordTotals
  if (totals.cost !== exported.cost_usd || Number(totals.invocations) !== exported.count) {
    throw new ExportFailed('totals_differ')
  }
  return { ...staged, totals }
}

async function write(run: Run, folding: Folding, tenantName: string): Promise<StoredFile> {
  const { hold, request } = run
  const { period, columns } = request
  const question = {
    jobId: folding.jobId,
    columns,
    from: period.from,
    to: dayOf(startOfDay(period.to) + DAY_MS),
    constants: {
      tenantId: hold.job.tenant_id,
      tenantName,
      issuer: tenantName,
      products: PRODUCTS,
      tags: run.grain.tags,
      isWidened: run.work.filters_applied < request.filters.length,
    },
  }
  const name = `focus-${period.from}-${period.to}-${hold.job.id}`
  if (request.file_format === 'parquet') {
    const { stagings, folds } = folding
    const rows = streamRows({ ...question, stagings, folds, of: 'all' }, 'parquet', run)
    return store(run, `${name}.parquet`, 'application/vnd.apache.parquet', rows)
  }
  await writeParts(run, folding, question)
  return store(run, `${name}.csv.gz`, 'application/gzip', csvFile(columns, run))
}

type Question = Omit<FocusRowsQuestion, 'of' | 'stagings' | 'folds'>

/**
 * Writes the parts of a CSV file, each a gzip member or empty: the shown rows of each slice, and after each month its
 * folded rows.
 */
async function writeParts(run: Run, { stagings, folds, totals }: Folding, question: Question): Promise<void> {
  const { hold, slices, blobs, signal } = run
  const parts = byMonth(slices, stagings).flatMap((ofMonth, month): Pick<FocusRowsQuestion, 'of' | keyof Staged>[] => {
    const of = { jobId: question.jobId, folds: folds.slice(month, month + 1) }
    return [
      ...ofMonth.map((staging) => ({ ...of, of: 'shown', stagings: [staging] }) as const),
      { ...of, of: 'folded', stagings: ofMonth },
    ]
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
  for await (const part of mapInOrder(left, AT_ONCE, writeOne, signal)) {
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
