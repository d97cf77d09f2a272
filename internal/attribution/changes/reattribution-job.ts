import { setTimeout as sleep } from 'node:timers/promises'
import type { Records } from '../../broker/records.js'
import type { Watermark } from '../../broker/watermark.js'
import type { RuleDraft } from '../../directory/mapping/mapping-policy.js'
import { type Place, placeBefore } from '../../store/queries/records/slices.js'
import type { ConventionDraft } from '../../valuation/conventions/watched-conventions.js'
import type { Answer } from './answer.js'
import type { BulkOverride } from './bulk-override.js'
import type { Move } from './moves.js'
import { NO_TALLY, type Tally, type Valued } from './revalue.js'

/**
 * A job that re-attributes, revalues or overrides records of a tenant within a time window; stored under its id in the
 * bucket `reattributions`. It is processed in slices, each triggered by a message of CHANGES. This orders it relative
 * to people's decisions, and lets it resume after the last completed slice when a process crashes.
 */
export interface ReattributionJob {
  readonly id: string
  readonly tenant_id: string
  /** Event time range, milliseconds since the epoch; the end is exclusive. */
  readonly from_ms: number
  readonly to_ms: number
  /** The model for the inference stage; null: the one that is serving. */
  readonly model: string | null
  /** The records to revalue; absent for a job that re-attributes. */
  readonly valued?: Valued
  /** For a bulk override: what it selects and sets. */
  readonly override?: BulkOverride
  /** For the undo of a bulk override: the id of that job. */
  readonly undoes?: string
  /** The change that started the job, of a job that only one request may start. */
  readonly started_by?: string
  /** Only records that were attributed to this service get new versions; absent: all. */
  readonly service?: string
  /**
   * Only records that a mapping rule decides, now or before, get new versions: one rule, or any. The rules are those of
   * the bucket from a revision on, with a draft in place for a dry run.
   */
  readonly mapping?: { readonly rule?: string; readonly draft?: RuleDraft; readonly revision: number }
  /** Moves are counted by service and owner, as those of jobs of mapping rules and of answers. */
  readonly by_service?: true
  /** Only records that a change of an entry moves get new versions. */
  readonly answer?: Answer
  /** Of a job that undoes an answer: the id of the job that it undoes; of an answer: of the job that has undone it. */
  readonly undoes_answer?: string
  readonly undone_by?: string
  /**
   * Of a job that values ambiguous usage again: the conventions are those of the bucket from a revision on, with a
   * draft
   * in place for a dry run.
   */
  readonly conventions?: { readonly draft?: ConventionDraft; readonly revision: number }
  /** The job reads a directory that holds at least this revision of its bucket. */
  readonly directory_revision?: number
  /** The same of the tenants' own prices. */
  readonly prices_revision?: number
  /** Counts what would change without changing anything. */
  readonly dry_run?: true
  /** Who requested the job. */
  readonly actor: string
  readonly created_at: string
  readonly status: 'running' | 'done' | 'cancelled'
  /** Number of the next slice, from 0, and its start. */
  readonly next: number
  readonly after: Place
  /** Records processed; records with a new version; records unchanged because an identity's name is not stored. */
  readonly seen: number
  readonly changed: number
  readonly unnamed: number
  /** For a revaluation: the changes that the new versions made. */
  readonly tally?: Tally
  /** For a dry run of a re-attribution: the changes by owner; for a job of mapping rules or an answer: by service and owner. */
  readonly moves?: readonly Move[]
}

/** The message of CHANGES that triggers a slice of a job. */
export interface SliceMessage {
  readonly jobId: string
  readonly slice: number
}

export const sliceMessageId = ({ jobId, slice }: SliceMessage): string => `${PREFIX}${jobId}.${slice}`
export const isSliceMessage = (messageId: string): boolean => messageId.startsWith(PREFIX)

const PREFIX = 'reattribution.'

export const encodeSlice = (message: SliceMessage): Uint8Array => Buffer.from(JSON.stringify(message))

/** @throws Error when the bytes are not a valid slice message */
export function decodeSlice(data: Uint8Array): SliceMessage {
  const { jobId, slice } = JSON.parse(Buffer.from(data).toString('utf8')) as SliceMessage
  if (typeof jobId !== 'string' || !Number.isSafeInteger(slice)) throw new Error('not a valid slice message')
  return { jobId, slice }
}

/** The initial state of a job. */
export const newJob = (
  requested: Pick<
    ReattributionJob,
    | 'id'
    | 'tenant_id'
    | 'from_ms'
    | 'to_ms'
    | 'model'
    | 'valued'
    | 'override'
    | 'undoes'
    | 'started_by'
    | 'dry_run'
    | 'service'
    | 'mapping'
    | 'answer'
    | 'by_service'
    | 'undoes_answer'
    | 'conventions'
    | 'directory_revision'
    | 'prices_revision'
    | 'actor'
  >,
  nowMs: number,
): ReattributionJob => ({
  ...requested,
  created_at: new Date(nowMs).toISOString(),
  status: 'running',
  next: 0,
  after: placeBefore(requested.from_ms),
  seen: 0,
  changed: 0,
  unnamed: 0,
  ...(requested.valued && { tally: NO_TALLY }),
})

/** What a route needs to start a job. */
export interface JobDeps {
  readonly jobs: Pick<Records<ReattributionJob>, 'createOnce' | 'read'>
  /** Starts a job, or resumes it. Safe to repeat. */
  readonly publishSlice: (tenantId: string, slice: SliceMessage) => Promise<unknown>
  readonly clock: () => number
}

/** Safe to repeat: a job that exists is resumed. */
export async function startJob(
  requested: Parameters<typeof newJob>[0],
  { jobs, publishSlice, clock }: JobDeps,
): Promise<ReattributionJob> {
  const job = await jobs.createOnce(requested.id, newJob(requested, clock()))
  await publishSlice(job.tenant_id, { jobId: job.id, slice: 0 })
  return job
}

/** Time to wait for a job before answering 202; one with few records is done by then. */
const DONE_MS_MAX = 3_000
const POLL_EVERY_MS = 50

/** Waits for a job for some seconds; then the next read of this gateway shows what it has done. */
export async function untilEnded(
  started: ReattributionJob,
  { jobs, watermark }: { readonly jobs: Pick<JobDeps['jobs'], 'read'>; readonly watermark: Pick<Watermark, 'renewed'> },
): Promise<ReattributionJob> {
  let job = started
  for (const until = performance.now() + DONE_MS_MAX; job.status === 'running' && performance.now() < until; ) {
    await sleep(POLL_EVERY_MS)
    job = (await jobs.read(started.id)) ?? job
  }
  await watermark.renewed()
  return job
}
