import type { RuleDraft } from '../../directory/mapping/watched-rules.js'
import type { Place } from '../../store/queries/records/slices.js'
import type { BulkOverride } from './bulk-override.js'
import type { Move } from './moves.js'
import type { Tally, Valued } from './revalue.js'

/**
 * A job that re-attributes, revalues or overrides records of a tenant within a time window; stored under its id in the bucket
 * `reattributions`. It is processed in slices, each triggered by a message of CHANGES. This orders it relative to people's
 * decisions, and lets it resume after the last completed slice when a process crashes.
 */
export interface ReattributionJob {
  readonly id: string
  readonly tenant_id: string
  /** Event time range, milliseconds since the epoch; the end is exclusive. */
  readonly from_ms: number
  readonly to_ms: number
  /** The stage B model to use; null: the one that is serving. */
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
   * Only records that a mapping rule decides, now or before, get new versions: one rule, or any. The rules are those of the
   * bucket from a revision on, with a draft in place for a dry run.
   */
  readonly mapping?: { readonly rule?: string; readonly draft?: RuleDraft; readonly revision: number }
  /** The job reads a directory that holds at least this revision of its bucket. */
  readonly directory_revision?: number
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
  /** For a dry run of a re-attribution: the changes by owner; for a job of mapping rules: by service and owner. */
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
