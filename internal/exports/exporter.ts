import { randomBytes } from 'node:crypto'
import { refusalOfCrossing } from '../residency/residency.js'
import { foldedBy, type StagedSlice } from '../store/queries/exports/export-groups.js'
import { storeFile, writeFile } from './export-files.js'
import { FILE_RETENTION_MS, type JobWork, type StoredJob } from './export-job.js'
import { manifestOf } from './export-manifest.js'
import { AT_ONCE, beginRun, byMonth, type ExporterDeps, type ExportRun, type Folding, workOf } from './export-run.js'
import type { JobHold } from './job-hold.js'
import { mapInOrder } from './map-in-order.js'
import type { PlannedSlice } from './slices.js'
import { ExportFailed, withStoreErrors } from './unavailable.js'

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
  const run = await beginRun(hold, tenant, deps, signal)
  const stagings = await stage(run)
  const folding = await fold(run, stagings)
  const file = await writeFile(run, folding, tenant.name)
  const createdAtMs = deps.clock()
  const { id: jobId, tenant_id: tenantId, request } = hold.job
  const facts = { jobId, tenantId, tenantName: tenant.name, request, createdAtMs, file }
  const manifest = JSON.stringify(
    manifestOf({
      ...facts,
      asOfMs: run.work.read_as_of_ms,
      k: run.work.k,
      cohortScope: run.work.cohort_scope ?? 'all',
      filtersApplied: run.work.filters_applied,
      recordTotals: run.recordTotals,
      totals: folding.totals,
    }),
    null,
    2,
  )
  return {
    file,
    manifest: await storeFile(run, 'manifest.json', 'application/json', [Buffer.from(manifest)]),
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
}: ExportRun): Promise<readonly string[]> {
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

/**
 * Decides which groups are folded, month by month, and checks the totals of all groups against those of the records.
 */
async function fold(run: ExportRun, stagings: readonly string[]): Promise<Folding> {
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
