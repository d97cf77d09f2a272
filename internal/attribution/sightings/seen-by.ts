import { idHex } from '../../ids/ids.js'
import type { AttributionRow } from '../../store/tables/attributions.js'

/** The column `seen_by` of a record: JSON of this form, or '' for a record of one event that nobody has taken apart. */
export interface SeenBy {
  /** The other events that showed the call; their own records are closed. */
  readonly also: readonly Sighting[]
  /** Hex ids of records that a person has taken apart from this one: they are never merged again. */
  readonly apart: readonly string[]
  /** Hex ids of records that may show the same call, which nothing proves: both are counted. */
  readonly perhaps?: readonly string[]
}

/** An event that showed a call which another record counts. */
export interface Sighting {
  /** Hex of the 16 bytes of its record. */
  readonly id: string
  readonly event_id: string
  readonly intake: string
  readonly principal: string
  readonly ingestion_layer: string
  /** Absent where the sender has one observer. */
  readonly instrumentation?: string
  readonly event_time_ms: number
  readonly matched_by: MatchedBy
  /** Whether tokens, cost and footprint of the record are this event's. */
  readonly usage: boolean
}

/**
 * What two events of one call have in common, the strongest first: the same span; the provider's id of its answer; one
 * is the span directly around the other; the id of the request; or, where they share no id, the same model and counts
 * at the same time, seen by two instrumentations of one process.
 */
export const MATCHED_BY = ['trace_and_span', 'response_id', 'parent_span', 'request_id', 'equal_counts'] as const
export type MatchedBy = (typeof MATCHED_BY)[number]

const NOTHING: SeenBy = { also: [], apart: [] }

export const seenByOf = ({ seenBy }: Pick<AttributionRow, 'seenBy'>): SeenBy =>
  seenBy === '' ? NOTHING : (JSON.parse(seenBy) as SeenBy)

export function seenByText({ also, apart, perhaps = [] }: SeenBy): string {
  if (perhaps.length > 0) return JSON.stringify({ also, apart, perhaps } satisfies SeenBy)
  return also.length === 0 && apart.length === 0 ? '' : JSON.stringify({ also, apart } satisfies SeenBy)
}

export const isMerged = (row: Pick<AttributionRow, 'seenBy'>): boolean => seenByOf(row).also.length > 0

/** @param usage whether the merged record takes its tokens, cost and footprint from this event */
export const sightingOf = (row: AttributionRow, matchedBy: MatchedBy, usage: boolean): Sighting => ({
  id: idHex(row.id),
  event_id: row.eventId,
  intake: row.intake,
  principal: row.principal,
  ingestion_layer: row.ingestionLayer,
  ...(row.instrumentation !== '' && { instrumentation: row.instrumentation }),
  event_time_ms: row.eventTimeMs,
  matched_by: matchedBy,
  usage,
})

/** The name of an intake as shown; the API's own has none in rows. */
export const intakeName = (intake: string): string => (intake === '' ? 'api' : intake)

/**
 * An observer shows a call once. It is the credential and the intake by which its events arrive and, where one process
 * has several, the instrumentation. One sender with two keys, or by two intakes, is two observers; one key behind
 * several senders is one.
 */
export const observerOf = ({ intake, principal, instrumentation = '' }: Observed): string =>
  `${intake}\n${principal}\n${instrumentation}`

interface Observed {
  readonly intake: string
  readonly principal: string
  readonly instrumentation?: string
}

/**
 * The events of one call lie no further apart by their own times: some state its start, others its end, and clocks
 * differ. A response id that comes back later is another call, answered from a cache or by a provider that repeats its
 * ids.
 */
export const SAME_CALL_MS = 10 * 60 * 1000

/** What more records have within that time is the id of no call. */
export const MEMBERS_MAX = 64
