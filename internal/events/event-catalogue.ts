/** The event types. None is removed or changed within a major version of the event schema; new ones go to the end. */
export const EVENT_TYPES = [
  'attribution.materialized',
  'attribution.disputed',
  'attribution.override.applied',
  'coverage.degraded',
  'coverage.restored',
  'degradation.state.changed',
  'export.completed',
  'export.failed',
  'anomaly.detected',
  'budget.threshold.crossed',
  'connector.health.changed',
  'apikey.rotated',
  'webhook.verification',
  'capacity.warning',
  'budget.threshold.custom',
  'price.missing',
  'settings.change.scheduled',
  'attribution.merged',
  'export.schedule.late',
  'ingestion.backlog',
  'ingestion.key.conflict',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** When each event is emitted. */
export const EVENT_CAUSES: Readonly<Record<EventType, string>> = {
  'attribution.materialized': 'A new attribution result is stored in the read model',
  'attribution.disputed': 'An attribution is disputed',
  'attribution.override.applied': 'A manual override is applied',
  'coverage.degraded': "A pathway's coverage degrades",
  'coverage.restored': 'Coverage is restored',
  'degradation.state.changed': 'The serving degradation state changes',
  'export.completed':
    'An export job has finished and its result can be downloaded; for a job of a schedule: when its files are ' +
    'in the bucket',
  'export.failed': 'An export job has failed',
  'anomaly.detected': 'An anomaly is detected in attributed consumption',
  'budget.threshold.crossed': 'A budget crosses 75, 100 or 150 percent',
  'connector.health.changed': "A connector's health changes",
  'apikey.rotated': 'An API key is rotated',
  'webhook.verification': 'A webhook endpoint is registered, or a new challenge is requested for it',
  'capacity.warning': 'The tenant has reached one of its own limits',
  'budget.threshold.custom': 'A budget crosses another of its thresholds',
  'price.missing': 'Calls of a model are unpriced for the first time, because a price is missing',
  'settings.change.scheduled':
    'A change of settings is requested that destroys data, or decides where it may be, when it takes effect',
  'attribution.merged': 'Two records show one call and become one: the other one counts no longer',
  'export.schedule.late': 'A period of an export schedule is not in its bucket twelve hours after it was due',
  'ingestion.backlog':
    'The log of calls that wait for their attribution fills up, and the tenant has a large share of it: it ' +
    'sends faster than its calls are processed',
  'ingestion.key.conflict':
    'Two gateways took different bodies under one Idempotency-Key at the same time: both calls are recorded',
}

/** What a tenant is notified of when the log fills up with its calls. */
export const BACKLOG_LEVELS = ['warning', 'refused'] as const
export type BacklogLevel = (typeof BACKLOG_LEVELS)[number]
