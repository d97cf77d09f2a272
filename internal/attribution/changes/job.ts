import type { Place } from '../../store/queries/records/slices.js'
import type { Tally, Valued } from './value-again.js'

/**
 * A job that attributes a window of a tenant's records again, or values them anew; the value of its id in the bucket `reattributions`. It is
 * worked off in slices, each of which is a message of CHANGES: so it meets people's decisions in one order, and goes on
 * behind the last slice whoever dies.
 */
export interface ReattributionJob {
  readonly id: string
  readonly tenant_id: string
  /** Of events, milliseconds since the epoch: from, and before. */
  readonly from_ms: number
  readonly to_ms: number
  /** The stage B model that answers, whatever serves now; null: what serves now. */
  readonly model: string | null
  /** Which records it values anew; absent of one that attributes them again. */
  readonly valued?: Valued
  /** Counts what it would change, and changes nothing. */
  readonly dry_run?: true
  /** Who has asked for it. */
  readonly actor: string
  readonly created_at: string
  readonly status: 'running' | 'done' | 'cancelled'
  /** Number of the slice that comes next, from 0, and where it begins. */
  readonly next: number
  readonly after: Place
  /** Records that were looked at; that got a new version; that stay since a name is not kept. */
  readonly seen: number
  readonly changed: number
  readonly unnamed: number
  /** What the new versions of one that values have changed. */
  readonly tally?: Tally
}

/** What a message of CHANGES says of a job. */
export interface SliceMessage {
  readonly jobId: string
  readonly slice: number
}

export const sliceMessageId = ({ jobId, slice }: SliceMessage): string => `${PREFIX}${jobId}.${slice}`
export const isSliceMessage = (messageId: string): boolean => messageId.startsWith(PREFIX)

const PREFIX = 'reattribution.'

export const encodeSlice = (message: SliceMessage): Uint8Array => Buffer.from(JSON.stringify(message))

/** @throws Error when the bytes have not that form */
export function decodeSlice(data: Uint8Array): SliceMessage {
  const { jobId, slice } = JSON.parse(Buffer.from(data).toString('utf8')) as SliceMessage
  if (typeof jobId !== 'string' || !Number.isSafeInteger(slice)) throw new Error('this names no slice of a job')
  return { jobId, slice }
}
