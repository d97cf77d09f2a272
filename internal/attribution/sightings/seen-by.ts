import { idHex } from '../../ids/ids.js'
import { providerName } from '../../records/provider-names.js'
import type { AttributionRow } from '../../store/tables/attributions.js'

/** The column `seen_by` of a record: JSON of this form, or '' for a record of one event that nobody has taken apart. */
export interface SeenBy {
  /** The other events that showed the call; their own records are closed. */
  readonly also: readonly Sighting[]
  /** Hex ids of records that a person has taken apart from this one: they are never merged again. */
  readonly apart: readonly string[]
}

/** An event that showed a call which another record counts. */
export interface Sighting {
  /** Hex of the 16 bytes of its record. */
  readonly id: string
  readonly event_id: string
  readonly intake: string
  readonly principal: string
  readonly ingestion_layer: string
  readonly event_time_ms: number
  readonly matched_by: MatchedBy
  /** Whether tokens, cost and footprint of the record are this event's. */
  readonly usage: boolean
}

export const MATCHED_BY = ['response_id', 'trace_and_span'] as const
export type MatchedBy = (typeof MATCHED_BY)[number]

const NOTHING: SeenBy = { also: [], apart: [] }

export const seenByOf = ({ seenBy }: Pick<AttributionRow, 'seenBy'>): SeenBy =>
  seenBy === '' ? NOTHING : (JSON.parse(seenBy) as SeenBy)

export const seenByText = ({ also, apart }: SeenBy): string =>
  also.length === 0 && apart.length === 0 ? '' : JSON.stringify({ also, apart } satisfies SeenBy)

export const isMerged = (row: Pick<AttributionRow, 'seenBy'>): boolean => seenByOf(row).also.length > 0

/** @param usage whether the merged record takes its tokens, cost and footprint from this event */
export const sightingOf = (row: AttributionRow, matchedBy: MatchedBy, usage: boolean): Sighting => ({
  id: idHex(row.id),
  event_id: row.eventId,
  intake: row.intake,
  principal: row.principal,
  ingestion_layer: row.ingestionLayer,
  event_time_ms: row.eventTimeMs,
  matched_by: matchedBy,
  usage,
})

/** The name of an intake as shown; the API's own has none in rows. */
export const intakeName = (intake: string): string => (intake === '' ? 'api' : intake)

/** Two events show the same call only if one of these is the same in both. */
export interface CallKey {
  readonly by: MatchedBy
  /** Unique within a tenant. */
  readonly text: string
}

type Identified = Pick<AttributionRow, 'provider' | 'responseId' | 'traceId' | 'spanId'>

/** Whose events a provider's name says nothing of: their response ids may be those of any provider. */
const NO_PROVIDER = 'unknown'

export function callKeys({ provider, responseId, traceId, spanId }: Identified): CallKey[] {
  const keys: CallKey[] = []
  const name = providerName(provider)
  if (responseId !== '' && name !== NO_PROVIDER) keys.push({ by: 'response_id', text: `r\n${name}\n${responseId}` })
  if (traceId !== '' && spanId !== '') keys.push({ by: 'trace_and_span', text: `s\n${traceId}\n${spanId}` })
  return keys
}

/**
 * A source shows a call once. It is the credential and the intake by which its events arrive. One sender with two keys,
 * or by two intakes, is two sources; one key behind several senders is one.
 */
export const sourceOf = ({ intake, principal }: { readonly intake: string; readonly principal: string }): string =>
  `${intake}\n${principal}`

/**
 * The events of one call lie no further apart by their own times: some state its start, others its end, and clocks
 * differ. A response id that comes back later is another call, answered from a cache or by a provider that repeats its
 * ids.
 */
export const SAME_CALL_MS = 10 * 60 * 1000

/** What more records have within that time is the id of no call. */
export const MEMBERS_MAX = 64
