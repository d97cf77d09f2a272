import { z } from 'zod'
import { COST_BASES, FOOTPRINT_BASES } from '../records/bases.js'
import { HEALTH_STATUSES } from '../records/connector-health.js'
import { CONFIDENCE_BANDS, DEGRADATION_STATES, STAGE_ORIGINS } from '../records/interpretation.js'
import { decimalText, idOf, timeText } from '../text/answer-fields.js'
import type { ExactNumber } from './exact-json.js'

/** The event types: those of spec 6.1, and further ones of ours at the end. None is removed or changed within a major version of the event schema (spec 9). */
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
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** When each event is emitted (spec 6.1). */
export const EVENT_CAUSES: Readonly<Record<EventType, string>> = {
  'attribution.materialized': 'A new attribution result is stored in the read model',
  'attribution.disputed': 'An attribution is disputed',
  'attribution.override.applied': 'A manual override is applied',
  'coverage.degraded': "A pathway's coverage degrades",
  'coverage.restored': 'Coverage is restored',
  'degradation.state.changed': 'The serving degradation state changes',
  'export.completed': 'An export job has finished and its result can be downloaded',
  'export.failed': 'An export job has failed',
  'anomaly.detected': 'An anomaly is detected in attributed consumption',
  'budget.threshold.crossed': 'A budget crosses 75, 100 or 150 percent',
  'connector.health.changed': "A connector's health changes",
  'apikey.rotated': 'An API key is rotated',
  'webhook.verification': 'A webhook endpoint is registered, or a new challenge is requested for it',
  'capacity.warning': 'The tenant has reached one of its own limits',
  'budget.threshold.custom': 'A budget crosses another of its thresholds',
}

const footprintBasis = () =>
  z.enum(FOOTPRINT_BASES).meta({ description: '`unknown`: the amount is not known and reported as 0.' })

const attributed = z.object({
  id: idOf('attr'),
  invocation_id: idOf('inv'),
  provider: z.string(),
  served_model: z.string(),
  service: z.string(),
  owner: z.string(),
  cost_usd: decimalText(),
  energy_wh: decimalText(),
  carbon_gco2e: decimalText(),
  cost_basis: z
    .enum(COST_BASES)
    .meta({ description: 'Source of the cost. `unpriced`: the cost is not known and reported as 0.' }),
  energy_basis: footprintBasis(),
  carbon_basis: footprintBasis(),
})

const covered = z.object({
  pathway: z.string(),
  layers_missing: z.array(z.string()).meta({ description: 'Capture layers that are expected but were not observed.' }),
})

const restored = covered.extend({
  layers_missing: z.array(z.string()).meta({ description: 'Capture layers that were missing until now.' }),
  layers_restored: z.array(z.string()).meta({ description: 'Of `layers_missing`: those that send calls again.' }),
  layers_removed: z.array(z.string()).meta({
    description:
      'Of `layers_missing`: those no longer expected, since the directory no longer declares them for this pathway or marks ' +
      'them as discovery-only.',
  }),
})

const exported = <const S extends string>(status: S) => z.object({ job_id: idOf('job'), status: z.literal(status) })

const crossed = <const T extends z.ZodType>(threshold: T) =>
  z.object({
    budget_id: idOf('bdg'),
    threshold,
    period_to_date_usd: z.number().meta({ description: 'Exact decimal, not rounded.' }),
    ceiling_usd: z.number().meta({ description: 'Exact decimal, not rounded. Of a budget per group: for the group.' }),
    group: z
      .object({ dimension: z.string(), value: z.string() })
      .optional()
      .meta({ description: 'The group that crossed the threshold. Only of a budget with `per`.' }),
    test: z
      .literal(true)
      .optional()
      .meta({ description: 'Present when the event was requested as a test; nothing was crossed.' }),
  })

/** `data` by type (spec 2.9, design section 9). Never content, never a secret. */
export const EVENT_DATA = {
  'attribution.materialized': attributed,
  'attribution.disputed': attributed,
  'attribution.override.applied': attributed,
  'coverage.degraded': covered,
  'coverage.restored': restored,
  'degradation.state.changed': z.object({ from: z.enum(DEGRADATION_STATES), to: z.enum(DEGRADATION_STATES) }),
  'export.completed': exported('succeeded'),
  'export.failed': exported('failed'),
  'anomaly.detected': z.object({
    scope: z.object({ service: z.string(), owner: z.string(), provider: z.string() }),
    observed: decimalText().meta({ description: 'USD in the window.' }),
    expected: decimalText().meta({ description: 'USD expected from the baseline.' }),
    window: z.object({ from: timeText(), to: timeText() }).meta({ description: 'The hour.' }),
    observed_until: timeText().meta({
      description:
        'End of the part of the window that `observed` covers. Before the end of the window, the hour was still running: what it ' +
        'had spent by then was anomalous for a whole hour.',
    }),
    score: z.number().meta({ description: 'Distance from the baseline, in deviations.' }),
  }),
  'budget.threshold.crossed': crossed(
    z.union([z.literal(75), z.literal(100), z.literal(150)]).meta({ description: 'Percent.' }),
  ),
  'connector.health.changed': z.object({
    connector_id: idOf('con'),
    from: z.enum(HEALTH_STATUSES),
    to: z.enum(HEALTH_STATUSES),
  }),
  'apikey.rotated': z.object({
    old_key_id: idOf('key').meta({ description: 'Invalid at once, or valid until its `expires_at`.' }),
    new_key_id: idOf('key'),
  }),
  'webhook.verification': z.object({
    challenge: z.string().meta({ description: 'Return it as `challenge` in a JSON object, with status 2xx.' }),
  }),
  'capacity.warning': z.object({
    capacity: z.enum(['tag_values']).meta({ description: '`tag_values`: distinct values of a declared tag key.' }),
    subject: z.string().meta({ description: 'For `tag_values`: the tag key, in lower case.' }),
    limit: z.int().meta({ description: 'Values past it are counted under `(other values)`.' }),
  }),
  'budget.threshold.custom': crossed(z.int().meta({ description: 'Percent; any other than 75, 100 and 150.' })),
} as const satisfies { readonly [T in EventType]: z.ZodType }

/** Event data as published: amounts that must be exact are `ExactNumber`s. */
export type EventData = { readonly [T in EventType]: Exactly<z.infer<(typeof EVENT_DATA)[T]>> }
type Exactly<D> = {
  readonly [K in keyof D]: K extends `${string}_usd` ? (D[K] extends number ? ExactNumber : D[K]) : D[K]
}

/** The interpretation of an event whose payload is a customer-visible attribution result (spec 2.9). */
export const eventInterpretation = z.object({
  stage_origin: z.enum(STAGE_ORIGINS),
  confidence_band: z.enum(CONFIDENCE_BANDS),
  degradation_state: z.enum(DEGRADATION_STATES),
})
export type EventInterpretation = z.infer<typeof eventInterpretation>

/** The envelope that receivers get (spec 2.9); `id`, `type`, `created_at`, `tenant_id` and `sequence` are frozen. */
export const eventEnvelope = z.object({
  id: idOf('evt').meta({ description: 'The same in every delivery of the event; deduplicate by it.' }),
  type: z.enum(EVENT_TYPES),
  created_at: timeText(),
  tenant_id: idOf('tnt'),
  sequence: z.int().min(0).meta({ description: 'Increases within one subscription.' }),
  data: z.record(z.string(), z.unknown()).meta({ description: 'Its schema depends on `type`.' }),
  interpretation: eventInterpretation
    .optional()
    .meta({ description: 'Present when the payload is an attribution result that the tenant can see.' }),
  replayed: z.literal(true).optional().meta({ description: 'Present when the event is delivered by a replay.' }),
})
export type EventEnvelope = z.infer<typeof eventEnvelope>
