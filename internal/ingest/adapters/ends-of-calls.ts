import type { Outcome } from '../../text/call-words.js'
import type { UsageFields } from '../../usage/stated-usage.js'

/** The status that proxies give to a request whose client closed it; Envoy and API Management give none, which is 0. */
const CLIENT_CLOSED_REQUEST = 499

/** @param status that the client was answered with */
export function outcomeOfStatus(status: number | undefined): Outcome | undefined {
  if (status === undefined) return undefined
  if (status === CLIENT_CLOSED_REQUEST || status === 0) return 'cancelled'
  return status >= 400 ? 'error' : 'success'
}

/** Counts of a call that did not end as it should are those until then. */
export function basisOfEnd(usage: UsageFields, outcome: Outcome | undefined): UsageFields['usage_basis'] {
  const isCounted = usage.input_tokens !== undefined || usage.output_tokens !== undefined
  const isCut = outcome === 'error' || outcome === 'cancelled'
  return usage.usage_basis ?? (isCounted && isCut ? 'partial' : undefined)
}
