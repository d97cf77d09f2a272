import { foldKey } from '../../records/dimensions.js'
import type { SourceEvent } from './intake-route.js'

/**
 * Which tags of an event the intake keeps. Callers and applications write into their metadata what they like, also the
 * user's question: so the value of a free key is kept only if the tenant has declared the key, as a dimension or in a
 * mapping rule that tests it. Nobody declares a key of content.
 */

/** Keys that the sources themselves fill from fields of a known meaning. */
const KNOWN: ReadonlySet<string> = new Set(
  (
    'environment workflow agent session session_id caller.user-agent team key_alias project organization deployment ' +
    'workspace aws_account gateway_api gateway_product gateway_route gateway_cluster gateway_service'
  ).split(' '),
)

/** In place. @param declared folded keys */
export function keepDeclaredTags(events: SourceEvent[], declared: ReadonlySet<string>): void {
  const isKept = (key: string): boolean => KNOWN.has(key) || declared.has(foldKey(key))
  for (const [i, source] of events.entries()) {
    const { tags } = source.event
    if (tags == null || Object.keys(tags).every(isKept)) continue
    const kept = Object.entries(tags).filter(([key]) => isKept(key))
    events[i] = {
      ...source,
      event: { ...source.event, tags: kept.length === 0 ? undefined : Object.fromEntries(kept) },
    }
  }
}
