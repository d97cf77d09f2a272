import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { count, exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { COMPARISONS } from '../learning/model.js'
import { PATTERNS } from '../learning/views.js'
import { MODEL_STATUSES } from './model-version.js'

/** The contract of models. */

const share = () => z.number().min(0).max(1)
const label = { service: z.string(), owner: z.string() }

const quality = z
  .object({
    n: count().meta({ description: 'Number of evaluated events.' }),
    accuracy: share(),
    heuristic_accuracy: share().meta({ description: 'Accuracy of the heuristic baseline on the same events.' }),
    majority_accuracy: share().meta({ description: 'Accuracy of always predicting the most frequent class.' }),
    calibration_error: share().meta({ description: 'Expected calibration error, minus the error expected by chance.' }),
    precision_at_floor: share()
      .nullable()
      .meta({ description: 'Share of correct predictions among events at or above 0.80; null when there are none.' }),
    share_at_floor: share(),
    log_loss: z.number().nullable().meta({
      description: 'Mean negative log-likelihood of the truth, in nats; null where it was not measured.',
    }),
    context_log_loss: z.number().nullable().meta({
      description: 'The same for the shares of the capture context alone. A version must be better than this.',
    }),
  })
  .meta({ id: 'ModelQuality' })

const shadow = z.object({
  against: idOf('mdl').meta({ description: 'The version that served during the evaluation.' }),
  since: timeText(),
  events: count(),
  agreed: count().meta({ description: 'Events for which both versions predict the same service and owner.' }),
  serving_ready: count().meta({ description: 'Events at or above 0.80 in the serving version.' }),
  candidate_ready: count(),
  ready_for_another: count().meta({
    description: 'Events at or above 0.80 in both versions, with different services or owners.',
  }),
  serving_left: count().meta({
    description: 'Events below 0.50 in the serving version, which are left to allocation.',
  }),
  candidate_left: count(),
  changes: z
    .array(z.object({ from: z.object(label), to: z.object(label), events: count() }))
    .meta({ description: 'The most frequent changes of service or owner.' }),
})

const model = z
  .object({
    id: idOf('mdl').meta({ description: '`model_version` of the records that this version attributed.' }),
    status: z.enum(MODEL_STATUSES),
    created_at: timeText(),
    promoted_at: timeText().nullable(),
    recalled_at: timeText().nullable(),
    can_serve: z
      .boolean()
      .meta({ description: 'False when the version is too old to serve: only its model card is retained.' }),
    seed: count(),
    classes: z.array(
      z.object({
        ...label,
        examples: count(),
        served_share: share().meta({ description: 'Estimated share of the traffic that stage A does not resolve.' }),
      }),
    ),
    data_window: z.object({ from: timeText(), to: timeText(), validation_from: timeText() }),
    examples: z.object({ resolved: count(), unresolved: count(), overrides: count(), disputes: count() }),
    unknown_share: share().meta({
      description: 'Share of the traffic not resolved by stage A that does not resemble any class.',
    }),
    patterns: z
      .array(
        z.object({
          pattern: z.enum(PATTERNS).meta({
            description:
              'anonymous: the event states no identity; familiar: one that resolved events state too; unfamiliar: ' +
              'another one.',
          }),
          share: share().meta({ description: 'Share of the traffic not resolved by stage A.' }),
          unknown_share: share().meta({ description: 'Share of these events that does not resemble any class.' }),
        }),
      )
      .meta({
        description: 'Unresolved traffic by what it shows of its caller.',
      }),
    withdrawn: z
      .object({
        at: timeText(),
        scored: count().meta({ description: 'Number of newly resolved events that the version was scored on.' }),
        precision: share().meta({ description: 'Share of correct predictions among those at or above 0.80.' }),
        precision_at_most: share().meta({ description: 'Upper confidence bound (99.5 %) of the precision.' }),
        from: timeText().meta({ description: 'Event time of the first scored event.' }),
        changed: z.array(z.object(label)).meta({
          description: 'Services whose calls no longer look as they did. Their older records are not learned from.',
        }),
      })
      .nullable()
      .meta({
        description:
          'Why the version was withdrawn: newly resolved events, with their services hidden, showed that it is wrong ' +
          'too often. The baseline serves until a training has passed validation. Null otherwise.',
      }),
    validation: z.object({
      passed: z
        .boolean()
        .meta({ description: 'If false, the confidence of the version stays below 0.80, even when it is promoted.' }),
      reasons: z.array(z.string()).meta({ description: 'Reasons why validation failed.' }),
      findings: z
        .array(z.object({ reason: z.string(), figure: z.number(), must_be: z.enum(COMPARISONS), bound: z.number() }))
        .meta({
          description:
            'The figure behind each reason, and what it had to be. Empty for versions that an older version of the ' +
            'service trained.',
        }),
      served_traffic: quality,
      audits: quality
        .nullable()
        .meta({ description: 'Quality on overrides held out from training; null when there are none.' }),
    }),
    calibration_curve: z.array(
      z.object({ from: share(), to: share(), n: z.number(), mean_probability: share(), accuracy: share() }),
    ),
    feature_importance: z.array(z.object({ feature: z.string(), accuracy_lost: z.number() })),
    shadow: shadow.nullable().meta({ description: 'Shadow evaluation of the version on live traffic as a candidate.' }),
  })
  .meta({ id: 'Model', description: "A version of the tenant's trained inference model, with its model card." })
export type ShownModel = z.infer<typeof model>

const EXAMPLE_QUALITY = {
  n: 4_100,
  accuracy: 0.93,
  heuristic_accuracy: 0.51,
  majority_accuracy: 0.34,
  calibration_error: 0.02,
  precision_at_floor: 0.97,
  share_at_floor: 0.81,
  log_loss: 0.24,
  context_log_loss: 1.31,
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
  patterns: [{ pattern: 'anonymous', share: 0.8, unknown_share: 0.03 }],
  withdrawn: null,
  validation: { passed: true, reasons: [], findings: [], served_traffic: EXAMPLE_QUALITY, audits: null },
  calibration_curve: [{ from: 0.9, to: 1, n: 3_300, mean_probability: 0.97, accuracy: 0.98 }],
  feature_importance: [{ feature: 'model_and_tokens', accuracy_lost: 0.21 }],
  shadow: null,
}

const shown = json(model, EXAMPLE_MODEL)
const parameters = { id: idInPath('mdl', '`model_version` of a record, or `id` from the list of model versions.') }

export const LIST_MODELS: Operation = {
  id: 'listModels',
  tag: 'Models',
  summary: 'List model versions, newest first',
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page of model versions.',
      contents: json(pageOf(model), { data: [EXAMPLE_MODEL], page: { limit: 50, has_more: false } }),
    },
  },
}

export const GET_MODEL: Operation = {
  id: 'getModel',
  tag: 'Models',
  summary: 'Get a model version',
  parameters,
  replies: { 200: { description: 'The model version.', contents: shown } },
}

const decision = (id: string, summary: string, description: string): Operation => ({
  id,
  tag: 'Models',
  summary,
  description,
  parameters,
  problems: ['CONFLICT'],
  replies: { 200: { description: 'The changed model version.', contents: shown } },
})

export const PROMOTE_MODEL = decision(
  'promoteModel',
  'Promote a model version',
  'The version replaces the one that is serving. The confidence of a version that has not passed validation stays ' +
    'below 0.80.',
)
export const RECALL_MODEL = decision(
  'recallModel',
  'Recall a model version',
  'Takes the version out of service. The previously serving version takes over, and new records have ' +
    '`model_recalled`; if there is none, the heuristic baseline takes over, and new records have `degraded_serving`. ' +
    'Existing records do not change.',
)
export const RESTORE_MODEL = decision(
  'restoreModel',
  'Restore a recalled model version',
  'Undoes the recall. The version serves again if it was serving before.',
)
