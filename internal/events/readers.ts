import type { Scope } from '../auth/scopes.js'
import { EVENT_TYPES, type EventType } from './event-contract.js'

/**
 * The scope of an event's subject, which a caller needs to read the event in the log of events and to subscribe an
 * endpoint to it. Connectors are configuration, like keys. Null: anybody who may register the endpoint.
 */
export const SCOPE_OF_EVENT: Readonly<Record<EventType, Scope | null>> = {
  'attribution.materialized': 'read:attribution',
  'attribution.merged': 'read:attribution',
  'attribution.disputed': 'read:attribution',
  'attribution.override.applied': 'read:attribution',
  'coverage.degraded': 'read:attribution',
  'coverage.restored': 'read:attribution',
  'degradation.state.changed': 'read:attribution',
  'export.completed': 'export:create',
  'export.failed': 'export:create',
  'export.schedule.late': 'export:create',
  'anomaly.detected': 'read:reporting',
  'budget.threshold.crossed': 'read:reporting',
  'budget.threshold.custom': 'read:reporting',
  'price.missing': 'read:reporting',
  'connector.health.changed': 'admin:config',
  'apikey.rotated': 'admin:config',
  'settings.change.scheduled': 'admin:config',
  'capacity.warning': 'admin:config', // limits are raised, or avoided, by configuration
  'ingestion.key.conflict': 'admin:config',
  'ingestion.backlog': 'admin:config', // like limits: who sends, and how much, is configuration
  'webhook.verification': null, // sent to one endpoint only, with its challenge
}

/** One per record, which itself tells it; and what is sent to one endpoint only. */
const UNLOGGED: ReadonlySet<EventType> = new Set([
  'attribution.materialized',
  'attribution.merged',
  'webhook.verification',
])

/** The types in the log of events. */
export const LOGGED_TYPES: readonly EventType[] = EVENT_TYPES.filter((type) => !UNLOGGED.has(type))

/** The scopes of which each lets a caller read some events. */
export const SCOPES_OF_EVENTS: readonly Scope[] = [
  ...new Set(LOGGED_TYPES.flatMap((type) => SCOPE_OF_EVENT[type] ?? [])),
]

const isReadableWith = (scopes: ReadonlySet<Scope>, type: EventType): boolean => {
  const scope = SCOPE_OF_EVENT[type]
  return scope === null || scopes.has(scope)
}

/** The types that a caller with these scopes may read. */
export const typesReadableWith = (scopes: ReadonlySet<Scope>): readonly EventType[] =>
  LOGGED_TYPES.filter((type) => isReadableWith(scopes, type))

/** The types that a caller with these scopes may have delivered. */
export const typesDeliverableWith = (scopes: ReadonlySet<Scope>): readonly EventType[] =>
  EVENT_TYPES.filter((type) => isReadableWith(scopes, type))

/** The scopes that a caller lacks to have these types delivered. */
export const scopesLackedFor = (types: readonly EventType[], scopes: ReadonlySet<Scope>): readonly Scope[] => [
  ...new Set(types.filter((type) => !isReadableWith(scopes, type)).flatMap((type) => SCOPE_OF_EVENT[type] ?? [])),
]
