import { z } from 'zod'
import { DELAYED_SETTINGS } from '../auth/tenant.js'
import { COST_BASES, COST_BOUNDS, FOOTPRINT_BASES, MISSING_PRICE_REASONS } from '../records/bases.js'
import { HEALTH_STATUSES } from '../records/connector-health.js'
import { DELIVERY_FAILURES } from '../records/delivery-failures.js'
import { CONFIDENCE_BANDS, DEGRADATION_STATES, STAGE_ORIGINS } from '../records/interpretation.js'
import { decimalText, idOf, timeText } from '../text/answer-fields.js'
import { BACKLOG_LEVELS, EVENT_CAUSES, EVENT_TYPES, type EventType } from './event-catalogue.js'
import type { ExactNumber } from './exact-json.js'

export { EVENT_CAUSES, EVENT_TYPES, type EventType }

const ABSENT_EARLIER = 'Absent from events of earlier versions.'

const footprintBasis = () =>
  z.enum(FOOTPRINT_BASES).meta({
    description:
      '`unknown`: the amount is not known and reported as 0. `class_estimate`: the size of the model is unknown, and ' +
      'the amount is that of models of its class, with a wide range.',
  })

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
  cost_bound: z
    .enum(COST_BOUNDS)
    .nullish()
    .meta({
      description:
        '`upper`: the cached tokens cost at most that much, `lower`: the cost is at least that much. Absent from events ' +
        'of earlier versions.',
    }),
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
      'Of `layers_missing`: those no longer expected, since the directory no longer declares them for this ' +
      'pathway or marks them as discovery-only.',
  }),
})

const exported = <const S extends string>(status: S) => z.object({ job_id: idOf('job'), status: z.literal(status) })

const crossed = <const T extends z.ZodType>(threshold: T) =>
  z.object({
    budget_id: idOf('bdg'),
    threshold,
    period_to_date_usd: z.number().meta({ description: 'Exact decimal, not rounded.' }),
    ceiling_usd: z.number().meta({ description: 'Exact decimal, not rounded. Of a budget per group: for the group.' }),
    spent_usd: decimalText()
      .optional()
      .meta({
        description: `\`period_to_date_usd\`, as the answers to \`GET /api/v1/budgets\` call and write it. ${ABSENT_EARLIER}`,
      }),
    group: z
      .object({ dimension: z.string(), value: z.string() })
      .optional()
      .meta({ description: 'The group that crossed the threshold. Only of a budget with `per`.' }),
    test: z
      .literal(true)
      .optional()
      .meta({ description: 'Present when the event was requested as a test; nothing was crossed.' }),
  })

const settingValue = () =>
  z.union([z.int(), z.string()]).nullable().meta({ description: 'Days, or a region. Null: no region.' })

/** `data` by type. Never content, never a secret. */
export const EVENT_DATA = {
  'attribution.materialized': attributed,
  'attribution.disputed': attributed,
  'attribution.override.applied': attributed,
  'coverage.degraded': covered,
  'coverage.restored': restored,
  'degradation.state.changed': z.object({ from: z.enum(DEGRADATION_STATES), to: z.enum(DEGRADATION_STATES) }),
  'export.completed': exported('succeeded').extend({
    delivery: z
      .object({
        schedule_id: idOf('sch'),
        period: z.string().meta({ description: 'A day, or a month: `2026-11-24`, `2026-11`.' }),
        revision: z.int().min(1).meta({ description: 'Above 1: a correction, which replaces all lower ones.' }),
        manifest_key: z.string().meta({ description: 'Key of the manifest in the bucket of the schedule.' }),
      })
      .optional()
      .meta({ description: 'Only of a job of an export schedule.' }),
  }),
  'export.failed': exported('failed'),
  'export.schedule.late': z.object({
    schedule_id: idOf('sch'),
    period: z.string().meta({ description: 'A day, or a month: `2026-11-24`, `2026-11`.' }),
    due_at: timeText(),
    reason: z.enum(DELIVERY_FAILURES).nullable().meta({
      description: 'Why the last attempt failed. Null: there was no attempt, or its export is still running.',
    }),
  }),
  'anomaly.detected': z.object({
    scope: z.object({ service: z.string(), owner: z.string(), provider: z.string() }),
    observed: decimalText().meta({ description: 'USD in the window.' }),
    expected: decimalText().meta({ description: 'USD expected from the baseline.' }),
    observed_usd: decimalText()
      .optional()
      .meta({ description: `\`observed\`, as \`GET /api/v1/anomalies\` calls it. ${ABSENT_EARLIER}` }),
    expected_usd: decimalText()
      .optional()
      .meta({ description: `\`expected\`, as \`GET /api/v1/anomalies\` calls it. ${ABSENT_EARLIER}` }),
    window: z.object({ from: timeText(), to: timeText() }).meta({ description: 'The hour.' }),
    observed_until: timeText().meta({
      description:
        'End of the part of the window that `observed` covers. Before the end of the window, the hour was ' +
        'still running: what it had spent by then was anomalous for a whole hour.',
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
  'price.missing': z.object({
    provider: z.string(),
    served_model: z.string(),
    reason: z.enum(MISSING_PRICE_REASONS).meta({ description: 'Why most of its unpriced calls have no price.' }),
    first_call_at: timeText().meta({ description: 'Time of the earliest of these calls.' }),
  }),
  'settings.change.scheduled': z.object({
    setting: z.enum(DELAYED_SETTINGS),
    from: settingValue(),
    to: settingValue(),
    requested_by: z.string().meta({ description: 'Id of the credential that asked for it.' }),
    takes_effect_at: timeText().meta({ description: 'Until then it can be cancelled.' }),
  }),
  'attribution.merged': z.object({
    id: idOf('attr').meta({
      description: 'The record that counts the call; a new version of it is materialized as well.',
    }),
    invocation_id: idOf('inv'),
    merged_id: idOf('attr').meta({
      description: 'The record that counts no longer: its amounts are part of no total.',
    }),
    merged_invocation_id: idOf('inv'),
    matched_by: z
      .enum(['trace_and_span', 'response_id', 'parent_span', 'request_id', 'equal_counts'])
      .meta({ description: 'What the events of both have in common.' }),
  }),
  'ingestion.backlog': z.object({
    level: z.enum(BACKLOG_LEVELS).meta({
      description:
        '`warning`: send less, or later. `refused`: new calls of the tenant are answered 429 with ' +
        'Retry-After until the backlog is worked off. Each once, until for ten minutes there was no occasion for ' +
        'it.',
    }),
    since: timeText().meta({ description: 'When it began.' }),
  }),
  'ingestion.key.conflict': z.object({
    invocation_id: idOf('inv').meta({ description: 'One of the calls; the other one has an event of its own.' }),
  }),
} as const satisfies { readonly [T in EventType]: z.ZodType }

/** Event data as published: amounts that must be exact are `ExactNumber`s. */
export type EventData = { readonly [T in EventType]: Exactly<z.infer<(typeof EVENT_DATA)[T]>> }
type Exactly<D> = {
  readonly [K in keyof D]: K extends `${string}_usd` ? (D[K] extends number ? ExactNumber : D[K]) : D[K]
}

/** The interpretation of an event whose payload is a customer-visible attribution result. */
const eventInterpretation = z.object({
  stage_origin: z.enum(STAGE_ORIGINS),
  confidence_band: z.enum(CONFIDENCE_BANDS),
  degradation_state: z.enum(DEGRADATION_STATES),
})
export type EventInterpretation = z.infer<typeof eventInterpretation>

/** The envelope that receivers get; `id`, `type`, `created_at`, `tenant_id` and `sequence` are frozen. */
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
