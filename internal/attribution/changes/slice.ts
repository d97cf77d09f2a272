import type { Records } from '../../broker/records.js'
import { identitiesIn, type RuleDraft } from '../../directory/mapping/mapping-policy.js'
import type { Selection } from '../../store/queries/records/selected-records.js'
import type { Place, Slice } from '../../store/queries/records/slices.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { Change, ClosedRow } from '../../store/tables/closed.js'
import { comparableName } from '../../text/comparable-name.js'
import type { ConventionDraft } from '../../valuation/conventions/watched-conventions.js'
import type { Announce } from '../records/record-event.js'
import type { RowDeps } from '../records/row.js'
import { type Answer, type EntryDraft, sidesOf } from './answer.js'
import { type BulkOverride, overriddenRows, restoredRows } from './bulk-override.js'
import { movesOf, plusMoves } from './moves.js'
import { differing, ofMapping, type Reattributed, type ReattributionStages, reattribute } from './reattribute.js'
import type { ReattributionJob, SliceMessage } from './reattribution-job.js'
import { NO_TALLY, plusTally, revalue, tallyOf } from './revalue.js'

/** What is tried out in place of what the tenant has. */
export interface Drafts {
  readonly rule?: RuleDraft | undefined
  readonly entry?: EntryDraft | undefined
}

export interface SliceDeps {
  readonly jobs: Records<ReattributionJob>
  readonly placeBehind: (tenantId: string, after: Place, beforeMs: number, count: number) => Promise<Place | undefined>
  readonly undecidedRows: (slice: Slice, beforeMs: number) => Promise<readonly AttributionRow[]>
  readonly tracePeers: (slice: Slice, beforeMs: number) => Promise<readonly AttributionRow[]>
  /** Of a bulk override, and of its undo: the same by what a selection has, or what a job has closed. */
  readonly selectedPlace: (
    selection: Selection,
    after: Place,
    beforeMs: number,
    count: number,
  ) => Promise<Place | undefined>
  readonly selectedRows: (selection: Selection, slice: Slice, beforeMs: number) => Promise<readonly AttributionRow[]>
  readonly placeClosedBy: (
    tenantId: string,
    jobId: string,
    after: Place,
    beforeMs: number,
    count: number,
  ) => Promise<Place | undefined>
  readonly rowsClosedBy: (slice: Slice, jobId: string, beforeMs: number) => Promise<readonly AttributionRow[]>
  readonly versionsClosedBy: (slice: Slice, jobId: string) => Promise<readonly AttributionRow[]>
  readonly rowsValidFrom: (slice: Slice, validFromMs: number) => Promise<readonly AttributionRow[]>
  readonly stages: (rowOf: Parameters<ReattributionStages>[0], drafts: Drafts) => ReturnType<ReattributionStages>
  /** With the current price books, prices and tables. */
  readonly consumptionOf: RowDeps['consumptionOf']
  /** The same, with a usage convention that is tried out. */
  readonly consumptionWith: (draft: ConventionDraft, tenantId: string) => RowDeps['consumptionOf']
  /** Resolves when the copy of the directory holds a revision. @throws MirrorBehind */
  readonly directoryReached: (revision: number) => Promise<void>
  /** The same of the copy that holds entries of a kind. */
  readonly entriesReached: (answer: Answer) => Promise<void>
  /** The same of the mapping rules. */
  readonly rulesReached: (revision: number) => Promise<void>
  /** The same of the tenants' own prices. */
  readonly pricesReached: (revision: number) => Promise<void>
  /** The same of the usage conventions. */
  readonly conventionsReached: (revision: number) => Promise<void>
  /** The identities that the tenant's directory and its mapping rules name. */
  readonly identityNames: (tenantId: string) => Iterable<string>
  /** The hash of an identity as stored in rows, hex. */
  readonly hashOf: (tenantId: string, identity: string) => string
  readonly publishSlice: (tenantId: string, message: SliceMessage) => Promise<unknown>
  /** Both are idempotent by token. */
  readonly insert: (rows: readonly AttributionRow[], token: string) => Promise<void>
  readonly close: (rows: readonly ClosedRow[], token: string) => Promise<void>
  readonly announce: Announce
}

/**
 * Large enough to keep the cost of inserts per record low, small enough that a person's decision waits at most a
 * second.
 */
const SLICE_RECORDS = 10_000

/** A slice that is ready to be applied. */
export interface PreparedSlice {
  /** Its end, stored in the plan; null when the job is finished or cancelled. */
  readonly until: Place | null
  /** Records in it. */
  readonly size: number
  applyEffects(token: string): Promise<void>
}

/**
 * Prepares one slice of a job.
 *
 * @param atMs the batch's instant
 * @param plannedUntil the value of `until` when the slice was planned
 */
export async function prepareSlice(
  message: SliceMessage,
  atMs: number,
  plannedUntil: Place | null | undefined,
  deps: SliceDeps,
): Promise<PreparedSlice> {
  const job = await deps.jobs.read(message.jobId)
  // A redelivered message.
  if (job === undefined || job.next !== message.slice) return NOTHING_TO_DO
  // A planned slice may have taken effect in part, so it is completed even if the job is cancelled in the meantime.
  const isCancelled = job.status !== 'running'
  if (isCancelled && (plannedUntil === undefined || plannedUntil === null)) return NOTHING_TO_DO
  const until = plannedUntil === undefined ? ((await endOfSlice(job, deps)) ?? null) : plannedUntil
  if (until === null) {
    return { until, size: 0, applyEffects: () => advance(job, { status: 'done' }, deps) }
  }
  const slice = { tenantId: job.tenant_id, after: job.after, until }
  const before = await rowsBefore(job, slice, atMs, deps)
  // Rows inserted by an earlier attempt are kept: the directory or the model may have changed since.
  const alreadyInserted =
    plannedUntil === undefined ? [] : versionsOf(idsOf(before), await deps.rowsValidFrom(slice, atMs))
  if (job.directory_revision !== undefined) await deps.directoryReached(job.directory_revision)
  if (job.answer !== undefined) await deps.entriesReached(job.answer)
  if (job.prices_revision !== undefined) await deps.pricesReached(job.prices_revision)
  if (job.mapping !== undefined) await deps.rulesReached(job.mapping.revision)
  if (job.conventions !== undefined) await deps.conventionsReached(job.conventions.revision)
  const result =
    alreadyInserted.length > 0
      ? { changed: alreadyInserted, unnamed: 0 }
      : await recalculate(job, before, slice, atMs, deps)
  const tally = job.valued && plusTally(job.tally ?? NO_TALLY, tallyOf(before, result.changed, job.valued))
  const byService = job.mapping !== undefined || job.answer !== undefined || job.by_service === true
  const isCounted = byService || (job.dry_run === true && job.valued === undefined)
  const moves = isCounted ? plusMoves(job.moves ?? [], movesOf(before, result.changed, { byService })) : undefined
  const closed = closedBy(result.changed, before, job, atMs)
  return {
    until,
    size: SLICE_RECORDS,
    async applyEffects(token) {
      if (job.dry_run !== true) {
        await deps.insert(result.changed, token)
        await deps.close(closed, token)
        await deps.announce(result.changed)
      }
      // Before the job advances: if the process crashes in between, the next attempt publishes it again, and it is
      // applied once.
      if (!isCancelled) await deps.publishSlice(job.tenant_id, { jobId: job.id, slice: job.next + 1 })
      const { seen, changed, unnamed } = job
      await advance(
        job,
        {
          next: job.next + 1,
          after: until,
          seen: seen + before.length,
          changed: changed + result.changed.length,
          unnamed: unnamed + result.unnamed,
          ...(tally && { tally }),
          ...(moves && { moves }),
        },
        deps,
      )
    },
  }
}

const NOTHING_TO_DO: PreparedSlice = { until: null, size: 0, applyEffects: async () => undefined }

/** Where the next slice of a job ends; undefined behind the last record. */
function endOfSlice(job: ReattributionJob, deps: SliceDeps): Promise<Place | undefined> {
  const { tenant_id: tenantId, after, to_ms: toMs, undoes } = job
  if (job.override !== undefined) return deps.selectedPlace(selectionOf(job, job.override), after, toMs, SLICE_RECORDS)
  if (undoes !== undefined) return deps.placeClosedBy(tenantId, undoes, after, toMs, SLICE_RECORDS)
  return deps.placeBehind(tenantId, after, toMs, SLICE_RECORDS)
}

/** The versions of a slice that a job may replace, as they were valid just before an instant. */
function rowsBefore(
  job: ReattributionJob,
  slice: Slice,
  atMs: number,
  deps: SliceDeps,
): Promise<readonly AttributionRow[]> {
  if (job.override !== undefined) return deps.selectedRows(selectionOf(job, job.override), slice, atMs)
  if (job.undoes !== undefined) return deps.rowsClosedBy(slice, job.undoes, atMs)
  return deps.undecidedRows(slice, atMs)
}

const selectionOf = ({ tenant_id: tenantId }: ReattributionJob, { conditions, snapshot_ms }: BulkOverride) => ({
  tenantId,
  conditions,
  snapshotMs: snapshot_ms,
})

/**
 * Gives the records of a slice what the job is to give them, or re-attributes or revalues them with current knowledge.
 */
async function recalculate(
  job: ReattributionJob,
  before: readonly AttributionRow[],
  slice: Slice,
  atMs: number,
  deps: SliceDeps,
): Promise<Reattributed> {
  const { override, undoes, actor } = job
  if (override !== undefined) return { changed: overriddenRows(before, override, job, atMs), unnamed: 0 }
  if (undoes !== undefined) {
    const replaced = await deps.versionsClosedBy(slice, undoes)
    return { changed: restoredRows(before, replaced, undoes, actor, atMs), unnamed: 0 }
  }
  if (job.valued !== undefined) {
    const draft = job.conventions?.draft
    const consumptionOf = draft === undefined ? deps.consumptionOf : deps.consumptionWith(draft, job.tenant_id)
    return { changed: revalue(before, job.valued, consumptionOf, atMs), unnamed: 0 }
  }
  const peers = await deps.tracePeers(slice, atMs)
  const nameOf = namesByHash(job, deps)
  const attributed = (drafts: Drafts): Promise<Reattributed> =>
    reattribute(before, peers, {
      stages: (rowOf) => deps.stages(rowOf, drafts),
      nameOf,
      basisOf: (stage) => (stage === 'b' && job.model !== null ? basisOfModel(job.tenant_id, job.model) : undefined),
      validFromMs: atMs,
    })
  if (job.answer !== undefined) {
    const { wanted, others } = sidesOf(job.answer, job.dry_run === true)
    const found = await attributed({ entry: wanted })
    if (found.changed.length === 0) return { changed: [], unnamed: 0 }
    const without: Reattributed[] = []
    for (const entry of others) without.push(await attributed({ entry }))
    return differing(found, without)
  }
  const result = await attributed({ rule: job.mapping?.draft })
  // All are attributed again, since they are evidence for each other.
  if (job.mapping !== undefined) return ofMapping(job.mapping.rule, before, result)
  return job.service === undefined ? result : { ...result, changed: ofService(job.service, before, result.changed) }
}

/** The new versions of records that were attributed to a service. */
function ofService(
  service: string,
  before: readonly AttributionRow[],
  changed: readonly AttributionRow[],
): readonly AttributionRow[] {
  const sought = comparableName(service)
  return versionsOf(idsOf(before.filter((row) => comparableName(row.service) === sought)), changed)
}

/** In the format of the inference stage's plan. */
const basisOfModel = (tenantId: string, model: string): string =>
  JSON.stringify({ [tenantId]: { state: 'none', model } })

async function advance(job: ReattributionJob, progress: Partial<ReattributionJob>, { jobs }: SliceDeps): Promise<void> {
  await jobs.change(job.id, (now) => (now.next === job.next ? { ...now, ...progress } : undefined))
}

function closedBy(
  changed: readonly AttributionRow[],
  before: readonly AttributionRow[],
  job: ReattributionJob,
  atMs: number,
): ClosedRow[] {
  const change = changeOf(job)
  return versionsOf(idsOf(changed), before).map((version) => {
    return { version, closedAtMs: atMs, change, changeId: job.id, actor: job.actor }
  })
}

function changeOf({ override, undoes, valued }: ReattributionJob): Change {
  if (override !== undefined) return 'override'
  if (undoes !== undefined) return 'undo_override'
  return valued === undefined ? 'reattribution' : 'revaluation'
}

/** The rows that are versions of certain records; rows of other records from the same millisecond are filtered out. */
const versionsOf = (ids: ReadonlySet<string>, rows: readonly AttributionRow[]): AttributionRow[] =>
  rows.filter(({ id }) => ids.has(hexOf(id)))

const idsOf = (rows: readonly AttributionRow[]): ReadonlySet<string> => new Set(rows.map(({ id }) => hexOf(id)))

/** Lookup in the tenant's directory and rules, built on first use. */
function namesByHash(
  { tenant_id: tenantId, mapping }: ReattributionJob,
  { identityNames, hashOf }: SliceDeps,
): (hash: string) => string | undefined {
  const ofDraft = mapping?.draft?.rule === undefined ? [] : identitiesIn([mapping.draft.rule])
  let names: Map<string, string> | undefined
  return (hash) => {
    names ??= new Map([...identityNames(tenantId), ...ofDraft].map((name) => [hashOf(tenantId, name), name]))
    return names.get(hash)
  }
}

const hexOf = (id: Uint8Array): string => Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')
