import { providerName } from '../../records/provider-names.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { MatchedBy } from './seen-by.js'

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
 * A source shows a call once. It is the credential and the intake by which its events arrive. One sender with two keys, or
 * by two intakes, is two sources; one key behind several senders is one.
 */
export const sourceOf = ({ intake, principal }: { readonly intake: string; readonly principal: string }): string =>
  `${intake}\n${principal}`

/**
 * The events of one call lie no further apart by their own times: some state its start, others its end, and clocks differ. A
 * response id that comes back later is another call, answered from a cache or by a provider that repeats its ids.
 */
export const SAME_CALL_MS = 10 * 60 * 1000

/** What more records have within that time is the id of no call. */
export const MEMBERS_MAX = 64
