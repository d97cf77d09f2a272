import type { CohortScope } from '../auth/tenant.js'
import { isTagField, type TagField } from '../records/dimensions.js'
import type { Place, ResidencyRegion } from '../residency/residency.js'
import type { ExportGrain, UnitPrices } from '../store/queries/exports/export-groups.js'
import { LABELS, type Label, tagColumn } from '../store/queries/exports/export-names.js'
import type { ExportPeople, ExportSelection } from '../store/queries/exports/export-records.js'
import type { ExportSource } from '../store/queries/exports/export-source.js'
import type { Staged, StagedTotals } from '../store/queries/exports/staged-groups.js'
import { countedMeters } from '../store/queries/prices/meters.js'
import type { CostObjectNames } from '../store/queries/reports/groups.js'
import { SNAPSHOT_AGE_MS_MAX } from '../store/snapshot.js'
import type { BlobStore } from './blobs/blob-store.js'
import type { JobWork, StoredJob } from './export-job.js'
import { DAY_MS, type ExportRequest, startOfDay } from './export-request.js'
import type { JobHold } from './job-hold.js'
import { type PlannedSlice, planSlices } from './slices.js'
import { type PeriodTotals, sumPeriod } from './totals.js'
import { ExportFailed, withStoreErrors } from './unavailable.js'

/** Slices staged, or parts written, concurrently; a part uses one thread of ClickHouse. */
export const AT_ONCE = 2

interface ExportingTenant {
  /** For display. */
  readonly name: string
  readonly residencyRegion: ResidencyRegion
  /** The least number of people in a row. */
  readonly minCohort: number
  /** What the cohort rule folds. Default: every group. */
  readonly cohortScope?: CohortScope
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
  /** The services and owners that the tenant's directory lists. */
  readonly costObjectsOf: (tenantId: string) => CostObjectNames
  /** Unit prices from a record's `cost_details`. */
  readonly unitPricesIn: (costDetails: string) => Omit<UnitPrices, 'hashes'> | undefined
  readonly clock: () => number
}

/** One attempt at a job. */
export interface ExportRun extends ExporterDeps {
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

/** Reads what a job needs, and takes a new snapshot unless its own is still recent. */
export async function beginRun(
  hold: JobHold,
  { minCohort: k, cohortScope = 'all', personalTags }: ExportingTenant,
  deps: ExporterDeps,
  signal: AbortSignal,
): Promise<ExportRun> {
  const { source } = deps
  const { tenant_id: tenantId, request } = hold.job
  const { filters, group_by: groupBy } = request
  const workloads = await deps.workloadsOf(tenantId).catch((cause: unknown) => {
    throw new ExportFailed('cohorts_unknown', { cause })
  })
  const peopleIn = (scope: CohortScope): ExportPeople => ({
    workloads,
    personalTags,
    ...(scope === 'people' && { costObjects: deps.costObjectsOf(tenantId) }),
  })
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
      source.countHoldingFilters(
        await selectionAt(asOfMs, filters),
        peopleIn(cohortScope),
        groupBy.filter((name) => name !== 'day' && name !== 'meter'),
        k,
        signal,
      )
    const applied = filters.length === 0 ? 0 : await withStoreErrors('cohorts_unknown', holding())
    await hold.save({
      work: {
        read_as_of_ms: asOfMs,
        k,
        ...(cohortScope !== 'all' && { cohort_scope: cohortScope }),
        filters_applied: applied,
        slices: [],
        folds: [],
        parts: [],
      },
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
    people: peopleIn(work.cohort_scope ?? 'all'),
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

async function meteringOf(
  selection: ExportSelection,
  { source, unitPricesIn }: ExporterDeps,
  signal: AbortSignal,
): Promise<ExportGrain['metering']> {
  const kinds = await withStoreErrors('internal_error', source.findPricedKinds(selection, ['price_book'], signal))
  const prices = new Map<string, UnitPrices>()
  for (const { details, hash } of kinds) {
    const found = unitPricesIn(details)
    if (found === undefined) continue
    const { price, usdPerUnit } = found
    prices.set(price, { price, usdPerUnit, hashes: [...(prices.get(price)?.hashes ?? []), hash] })
  }
  return { meters: countedMeters(kinds), prices: [...prices.values()] }
}

export function workOf({ job }: JobHold): JobWork {
  if (job.work === null) throw new Error('the job has not started')
  return job.work
}

export interface Folding extends Staged {
  readonly totals: StagedTotals
}

/** The slices of each month, in order. */
export function byMonth<T>(slices: readonly PlannedSlice[], items: readonly T[]): readonly (readonly T[])[] {
  const months = new Map<string, T[]>()
  for (const [index, item] of items.entries()) {
    const month = slices[index]?.month ?? ''
    months.set(month, [...(months.get(month) ?? []), item])
  }
  return [...months.values()]
}

/** Key prefix of a job's blobs. */
export const prefixOf = ({ tenant_id, id }: Pick<StoredJob, 'tenant_id' | 'id'>): string => `${tenant_id}/${id}/`
