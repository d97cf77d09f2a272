/** How well a partner's connector works: closed lists, shown in answers and in `connector.health.changed`. */
export const HEALTH_STATUSES = ['unknown', 'healthy', 'degraded', 'failing'] as const
export type HealthStatus = (typeof HEALTH_STATUSES)[number]
/** Health that a connector may report. */
export const REPORTED_STATUSES = ['healthy', 'degraded', 'failing'] as const
