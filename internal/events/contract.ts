import { z } from 'zod'
import { HEALTH_STATUSES } from '../connectors/connector.js'
import { idOf, timeText } from '../gateway/contract/fields.js'

/** The event types, a closed list (spec 6.1). Within a major version of the event schema none goes or changes (spec 9). */
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
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** `data` by type, of those that are published. Never content, never a secret. */
export const EVENT_DATA = {
  'connector.health.changed': z.object({
    connector_id: idOf('con'),
    from: z.enum(HEALTH_STATUSES),
    to: z.enum(HEALTH_STATUSES),
  }),
  'apikey.rotated': z.object({
    old_key_id: idOf('key').meta({ description: 'Good no more, or until its `expires_at`.' }),
    new_key_id: idOf('key'),
  }),
} as const satisfies { readonly [T in EventType]?: z.ZodType }
export type EventData = { readonly [T in keyof typeof EVENT_DATA]: z.infer<(typeof EVENT_DATA)[T]> }

/** What receivers get (spec 2.9); `id`, `type`, `created_at`, `tenant_id` and `sequence` are frozen. */
export const eventEnvelope = z.object({
  id: idOf('evt').meta({ description: 'The same at every delivery: what to deduplicate by.' }),
  type: z.enum(EVENT_TYPES),
  created_at: timeText(),
  tenant_id: idOf('tnt'),
  sequence: z.int().min(0).meta({ description: 'Rises within one subscription.' }),
  data: z.record(z.string(), z.unknown()).meta({ description: 'By type.' }),
})
export type EventEnvelope = z.infer<typeof eventEnvelope>
