import { z } from 'zod'
import { json, type Operation } from '../../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../../http/contract/page.js'
import { count, exampleId, idInPath, idOf, timeText } from '../../../text/answer-fields.js'
import { MODEL_STATUSES } from './version.js'

/** What the routes of models promise (design sections 5 and 7). */

const share = () => z.number().min(0).max(1)
const label = { service: z.string(), owner: z.string() }

const quality = z
  .object({
    n: count().meta({ description: 'Events that it was tried on.' }),
    accuracy: share(),
    heuristic_accuracy: share().meta({ description: 'Of the heuristic baseline, on the same events.' }),
    majority_accuracy: share().meta({ description: 'Of always saying the most frequent class.' }),
    calibration_error: share().meta({ description: 'Expected calibration error, less what chance shows.' }),
    precision_at_floor: share()
      .nullable()
      .meta({ description: 'Of the events at or above 0.80, how many are right; null when there are none.' }),
    share_at_floor: share(),
  })
  .meta({ id: 'ModelQuality' })

const shadow = z.object({
  against: idOf('mdl').meta({ description: 'The version that served meanwhile.' }),
  since: timeText(),
  events: count(),
  agreed: count().meta({ description: 'Both name the same service and owner.' }),
  serving_ready: count().meta({ description: 'At or above 0.80 by the version that served.' }),
  candidate_ready: count(),
  ready_for_another: count().meta({ description: 'At or above 0.80 by both, for different services or owners.' }),
  serving_left: count().meta({ description: 'Below 0.50, and so left to allocation.' }),
  candidate_left: count(),
  changes: z
    .array(z.object({ from: z.object(label), to: z.object(label), events: count() }))
    .meta({ description: 'What would change most often.' }),
})

const model = z
  .object({
    id: idOf('mdl').meta({ description: '`model_version` of the records that it has made.' }),
    status: z.enum(MODEL_STATUSES),
    created_at: timeText(),
    promoted_at: timeText().nullable(),
    recalled_at: timeText().nullable(),
    can_serve: z.boolean().meta({ description: 'False once the version is too old: only its card is kept.' }),
    seed: count(),
    classes: z.array(
      z.object({
        ...label,
        examples: count(),
        served_share: share().meta({ description: 'Estimated share of the traffic that facts leave open.' }),
      }),
    ),
    data_window: z.object({ from: timeText(), to: timeText(), validation_from: timeText() }),
    examples: z.object({ resolved: count(), unresolved: count(), overrides: count(), disputes: count() }),
    unknown_share: share().meta({ description: 'Share of the traffic left open that looks like no class.' }),
    validation: z.object({
      passed: z.boolean().meta({ description: 'Without it the version stays below 0.80, also when it is promoted.' }),
      reasons: z.array(z.string()).meta({ description: 'Why it has not passed.' }),
      served_traffic: quality,
      audits: quality.nullable().meta({ description: 'On overrides that were kept from training; null without any.' }),
    }),
    calibration_curve: z.array(
      z.object({ from: share(), to: share(), n: z.number(), mean_probability: share(), accuracy: share() }),
    ),
    feature_importance: z.array(z.object({ feature: z.string(), accuracy_lost: z.number() })),
    shadow: shadow.nullable().meta({ description: 'How it would have answered live traffic as a candidate.' }),
  })
  .meta({ id: 'Model', description: "A version of the tenant's model of trained inference, with its card." })
export type ShownModel = z.infer<typeof model>

const EXAMPLE_QUALITY = {
  n: 4_100,
  accuracy: 0.93,
  heuristic_accuracy: 0.51,
  majority_accuracy: 0.34,
  calibration_error: 0.02,
  precision_at_floor: 0.97,
  share_at_floor: 0.81,
}

const EXAMPLE_MODEL: ShownModel = {
  id: exampleId('mdl'),
  status: 'serving',
  created_at: '2026-11-21T09:30:00.000Z',
  promoted_at: '2026-11-21T09:30:00.000Z',
  recalled_at: null,
  can_serve: true,
  seed: 1,
  classes: [{ service: 'support-chat', owner: 'team-support', examples: 9_200, served_share: 0.34 }],
  data_window: {
    from: '2026-10-22T09:30:00.000Z',
    to: '2026-11-21T09:29:58.000Z',
    validation_from: '2026-11-15T02:10:41.000Z',
  },
  examples: { resolved: 41_000, unresolved: 12_000, overrides: 310, disputes: 12 },
  unknown_share: 0.04,
  validation: { passed: true, reasons: [], served_traffic: EXAMPLE_QUALITY, audits: null },
  calibration_curve: [{ from: 0.9, to: 1, n: 3_300, mean_probability: 0.97, accuracy: 0.98 }],
  feature_importance: [{ feature: 'model_and_tokens', accuracy_lost: 0.21 }],
  shadow: null,
}

const shown = json(model, EXAMPLE_MODEL)
const parameters = { id: idInPath('mdl', '`model_version` of a record, or `id` of the list.') }

export const LIST_MODELS: Operation = {
  id: 'listModels',
  tag: 'Models',
  summary: "Versions of the tenant's model, the newest first",
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page.',
      contents: json(pageOf(model), { data: [EXAMPLE_MODEL], page: { limit: 50, has_more: false } }),
    },
  },
}

export const GET_MODEL: Operation = {
  id: 'getModel',
  tag: 'Models',
  summary: 'One version with its card',
  parameters,
  replies: { 200: { description: 'The version.', contents: shown } },
}

const decision = (id: string, summary: string, description: string): Operation => ({
  id,
  tag: 'Models',
  summary,
  description,
  parameters,
  problems: ['CONFLICT'],
  replies: { 200: { description: 'The version as it is then.', contents: shown } },
})

export const PROMOTE_MODEL = decision(
  'promoteModel',
  'Let a version serve',
  'From now on, in the place of the one that does. A version that has not passed validation stays below 0.80.',
)
export const RECALL_MODEL = decision(
  'recallModel',
  'Take a version out of service',
  'The version that served before it serves, and records say `model_recalled`; without one the heuristic baseline ' +
    'does, and records say `degraded_serving`. Records that exist stay as they are.',
)
export const RESTORE_MODEL = decision(
  'restoreModel',
  'Undo the recall of a version',
  'It serves again if it did before.',
)
