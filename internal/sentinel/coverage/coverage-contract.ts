import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { PATHWAY_CATEGORIES } from '../../records/interpretation.js'
import { timeText } from '../../text/answer-fields.js'
import { COVERAGE_STATUSES } from './coverage.js'

/** The API contract of the coverage map. */

const layers = (description: string) => z.array(z.string()).meta({ description })

const passedOver = z
  .object({
    layer: z.string().meta({ description: 'Capture layer that sent it.' }),
    kind: z.string().meta({
      description:
        'Why no record came of it: `agent`, `workflow`, `tool` and `chain` repeat the usage of the calls within ' +
        'them; `same_call` shows a call once more, and `in_logs` one that log events of its agent state more fully; ' +
        '`no_operation` names a model, and neither an operation nor usage; `no_model` states usage and no model; ' +
        '`unread_call` states either in words that are not known; ' +
        '`other_operation`, `failed_without_usage`, `unrelated` (HTTP, databases, logs); `metrics_request`. More ' +
        'kinds may come.',
    }),
    count: z.int().min(1),
    last_at: timeText(),
  })
  .meta({ id: 'PassedOverTelemetry' })

const pathwayCoverage = z
  .object({
    pathway: z.enum(PATHWAY_CATEGORIES),
    status: z.enum(COVERAGE_STATUSES).meta({
      description:
        '`degraded`: an expected layer is missing. `discovery_only`: traffic is discovered but no layer captures ' +
        'its calls. `silent`: no calls in the last 24 hours, and none expected.',
    }),
    layers_deployed: layers(
      'Capture layers that sent calls in the last 24 hours. A layer that the directory declares as a source ' +
        'counts for the pathway declared there.',
    ),
    layers_missing: layers(
      'Expected layers that sent none: sources that the directory declares for this pathway, and layers that ' +
        'sent calls on at least three of the previous seven days.',
    ),
    discovery_only: layers(
      'Sources that the directory marks as discovery-only, or that appear only in `/api/v1/events`. They create ' +
        'no records, and invocations from a layer marked this way are refused.',
    ),
    last_event_at: timeText()
      .nullable()
      .meta({
        description:
          'Event time of the newest call in the last 30 days; where no layer captures calls, of the newest ' +
          'observation of a discovery-only source. Null without any.',
      }),
    unattributed_share: z
      .string()
      .regex(/^[01]\.\d{4}$/)
      .nullable()
      .meta({
        description:
          'Share of the calls of the last 24 hours that are unattributed, rounded: 0.0000 only where none is, and ' +
          '1.0000 only where all are. Null without calls.',
      }),
    passed_over: z.array(passedOver).meta({
      description:
        'Spans, log records and requests for metrics that the intake port took in the last 24 hours (counted by ' +
        'whole hours) and that are no calls of a model. Some seconds old.',
    }),
  })
  .meta({ id: 'PathwayCoverage' })
export type ShownCoverage = z.infer<typeof pathwayCoverage>

const EXAMPLE: ShownCoverage = {
  pathway: 'gateway_mediated',
  status: 'degraded',
  layers_deployed: ['gateway'],
  layers_missing: ['edge-gateway'],
  discovery_only: [],
  last_event_at: '2026-11-21T09:30:00.000Z',
  unattributed_share: '0.0312',
  passed_over: [{ layer: 'gateway', kind: 'chain', count: 12, last_at: '2026-11-21T09:30:00.000Z' }],
}

export const PATH = '/api/v1/coverage'

export const GET_COVERAGE: Operation = {
  id: 'listCoverage',
  tag: 'Attribution',
  summary: 'List capture coverage per pathway to the providers',
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page of pathways with data.',
      contents: json(pageOf(pathwayCoverage), { data: [EXAMPLE], page: { limit: 50, has_more: false } }),
    },
  },
}
