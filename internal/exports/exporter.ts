import { createHash, randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type Place, type ResidencyRegion, refusalOfCrossing } from '../residency/residency.js'
import type { ExportGrain, Slice, Staged, StagedTotals, UnitPrices } from '../store/queries/exports/export-groups.js'
import { countedMeters } from '../store/queries/exports/export-meters.js'
import type { ExportSelection } from '../store/queries/exports/export-records.js'
import type { ExportSource } from '../store/queries/exports/export-source.js'
import type { FocusRowsQuestion } from '../store/queries/exports/focus-rows.js'
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
import { type Reckoning, reckonMonths } from './totals.js'
import { asking, askingAll, ExportFailed, storing } from './unavailable.js'

/** Slices that are staged, or parts that are written, side by side; a part takes one thread of the read model. */
const AT_ONCE = 2

export interface ExporterDeps {
  readonly source: ExportSource
  readonly blobs: BlobStore
  /** The newest instant as of which the read model is complete. */
  readonly newestComplete: () => Promise<number>
  /** What stands of a tenant in its files, and where its data must stay; undefined when it is not known. */
  readonly findTenant: (
    tenantId: string,
  ) => { readonly name: string; readonly residencyRegion: ResidencyRegion } | undefined
  /** What files pass and where they lie. */
  readonly places: readonly Place[]
  /** Hashes of the identities of a tenant that are no people, hex. @throws when that cannot be told */
  readonly workloadsOf: (tenantId: string) => Promise<readonly string[]>
  /** Prices in a record's `cost_details`. */
  readonly unitPricesIn: (costDetails: string) => Omit<UnitPrices, 'hashes'> | undefined
  readonly clock: () => number
}

/**
 * Makes the files of a job: groups are formed in the read model and staged there, then streamed into the blob store,
 * slice by slice. What is done is written down, so that whoever takes the job over goes on from there, and comes to the
 * same file: everything is read as of one instant, and in one order.
 *
 * @returns what the job has then; the caller ends it
 * @throws ExportFailed when nobody can make it, Unavailable when something is away, JobLost when another has it
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
  const { reckoning } = run
  const manifest = JSON.stringify(manifestOf({ ...facts, reckoning, totals: folding.totals }), null, 2)
  return {
    file,
    manifest: await store(run, 'manifest.json', 'application/json', [Buffer.from(manifest)]),
    rows: folding.totals.rows,
    expires_at: new Date(createdAtMs + FILES_KEPT_MS).toISOString(),
  }
}

/** Fails closed: data goes nowhere before it is known that it may. */
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
  readonly reckoning: Reckoning
  readonly workloads: readonly string[]
  readonly work: JobWork
}

async function begin(hold: JobHold, deps: ExporterDeps, signal: AbortSignal): Promise<Run> {
  const { source } = deps
  const { tenant_id: tenantId, request } = hold.job
  // As of too long ago, records would be missing: whoever comes so late begins anew.
  const begunAsOfMs = hold.job.work?.snapshot_ms ?? Number.NEGATIVE_INFINITY
  if (deps.clock() - begunAsOfMs > SNAPSHOT_AGE_MS_MAX) {
    await hold.save({ work: { snapshot_ms: await deps.newestComplete(), slices: [], parts: [] } })
  }
  const work = workOf(hold)
  const { from, to } = request.period
  const days = { tenantId, asOfMs: work.snapshot_ms, fromMs: startOfDay(from), toMs: startOfDay(to) + DAY_MS }
  const hasClosed = await asking('internal_error', source.hasClosedVersions(days, signal))
  const selection = { ...days, hasClosed }
  const isBy = (grouping: ExportRequest['group_by'][number]): boolean => request.group_by.includes(grouping)
  const { reckoning, exportedOf } = await reckonMonths(request.period, isBy('day'), selection, source, signal)
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
    reckoning,
    workloads: await deps.workloadsOf(tenantId).catch((cause: unknown) => {
      throw new ExportFailed('cohorts_unknown', { cause })
    }),
    work,
  }
}

function workOf({ job }: JobHold): JobWork {
  if (job.work === null) throw new Error('the job has not begun')
  return job.work
}

async function meteringOf(
  selection: ExportSelection,
  { source, unitPricesIn }: ExporterDeps,
  signal: AbortSignal,
): Promise<ExportGrain['metering']> {
  const kinds = await asking('internal_error', source.findPricedKinds(selection, signal))
  const prices = new Map<string, UnitPrices>()
  for (const { details, hash } of kinds) {
    const found = unitPricesIn(details)
    if (found === undefined) continue
    const { price, usdPerToken } = found
    prices.set(price, { price, usdPerToken, hashes: [...(prices.get(price)?.hashes ?? []), hash] })
  }
  return { meters: countedMeters(kinds), prices: [...prices.values()] }
}

/** Forms the groups of every slice that is not staged yet. */
async function stage({ hold, source, slices, selection, grain, workloads, signal }: Run): Promise<readonly string[]> {
  const { id: jobId } = hold.job
  const isThere = async ({ staging, rows }: JobWork['slices'][number]): Promise<boolean> =>
    (await asking('internal_error', source.countStaged({ jobId, stagings: [staging] }, signal))) === rows
  const kept = await Promise.all(workOf(hold).slices.map(isThere))
  // A read model that was restored, or has let groups go by their age: they are formed anew, and come to the same.
  if (kept.includes(false)) await hold.save({ work: { ...workOf(hold), slices: [] } })

  const stageOne = async ([index, planned]: readonly [number, PlannedSlice], signal: AbortSignal) => {
    const { fromMs, toMs, month, chargeStart, chargeEnd } = planned
    const staging = `${index}.${randomBytes(6).toString('hex')}`
    const slice: Slice = { jobId, staging, month, chargeStart, chargeEnd }
    const days = { ...selection, fromMs, toMs }
    await asking('cohorts_unknown', source.stageGroups(days, grain, slice, workloads, signal))
    return { staging, rows: await asking('internal_error', source.countStaged({ jobId, stagings: [staging] }, signal)) }
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
  /** Keys of groups that are folded beside small ones. */
  readonly folded: readonly string[]
  readonly totals: StagedTotals
}

/** Decides what is folded, and holds the sum of all groups against that of the records. */
async function fold({ hold, source, reckoning, signal }: Run, stagings: readonly string[]): Promise<Folding> {
  const staged = { jobId: hold.job.id, stagings }
  const roots = await asking('cohorts_unknown', source.findRoots(staged, signal))
  const folded = roots.map(foldedBeside).filter((key) => key !== undefined)
  const totals = await asking('cohorts_unknown', source.sumStaged(staged, folded, signal))
  const { exported } = reckoning
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

/** The parts of a CSV file, each a gzip member or empty: of each slice what is shown, after each month what is folded. */
async function writeParts(run: Run, { stagings, totals }: Folding, question: Question): Promise<void> {
  const { hold, slices, blobs, signal } = run
  const parts = slices.flatMap(({ month }, index): Pick<FocusRowsQuestion, 'of' | 'stagings'>[] => {
    const shown = { of: 'shown', stagings: stagings.slice(index, index + 1) } as const
    if (slices[index + 1]?.month === month) return [shown]
    return [shown, { of: 'folded', stagings: stagings.filter((_, other) => slices[other]?.month === month) }]
  })
  const isThere = async ({ key }: JobWork['parts'][number]) => (await storing(blobs.size(key))) !== undefined
  if ((await Promise.all(workOf(hold).parts.map(isThere))).includes(false)) {
    await hold.save({ work: { ...workOf(hold), parts: [] } })
  }
  const writeOne = async ([index, part]: readonly [number, (typeof parts)[number]], signal: AbortSignal) => {
    signal.throwIfAborted()
    const key = `${prefixOf(hold.job)}parts/${String(index).padStart(5, '0')}`
    const counted = { rows: 0 }
    const packed = streamRows({ ...question, ...part }, 'csv', { ...run, signal })
    await storing(blobs.write(key, countingRows(packed, counted)))
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
  const rows = await asking('internal_error', source.streamRows(question, format, signal))
  for await (const some of askingAll('internal_error', rows)) {
    signal.throwIfAborted()
    yield some
  }
}

/** Where everything of a job lies in the blob store. */
export const prefixOf = ({ tenant_id, id }: Pick<StoredJob, 'tenant_id' | 'id'>): string => `${tenant_id}/${id}/`

/** Writes a file of the job, and takes its digest on the way. */
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
  const bytes = await storing(blobs.write(key, digested()))
  return { key, name, media_type: mediaType, bytes, sha256: digest.digest('hex') }
}
