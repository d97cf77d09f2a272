import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { decimalText, exampleId, idOf, timeText } from '../../text/answer-fields.js'
import { rangeParameters } from '../../text/time-range.js'

/** The contract of the list of anomalies. */

const anomaly = z
  .object({
    id: idOf('evt').meta({
      description: 'Id of the event `anomaly.detected`. One per service, owner, provider and hour.',
    }),
    detected_at: timeText(),
    scope: z
      .object({ service: z.string(), owner: z.string(), provider: z.string() })
      .meta({ description: 'Whose calls cost more than expected.' }),
    observed_usd: decimalText().meta({ description: 'Cost in the window, up to `observed_until`.' }),
    expected_usd: decimalText().meta({
      description:
        'Cost expected in a whole hour: the median of the same hour of the previous weeks, or of the previous ' +
        'hours while there are fewer than four weeks.',
    }),
    window: z.object({ from: timeText(), to: timeText() }).meta({ description: 'The hour.' }),
    observed_until: timeText().meta({
      description: 'Before the end of the window, the hour was still running when the anomaly was detected.',
    }),
    score: z.number().meta({ description: 'Distance from the baseline, in robust standard deviations.' }),
  })
  .meta({ id: 'Anomaly' })
export type ShownAnomaly = z.infer<typeof anomaly>

const EXAMPLE: ShownAnomaly = {
  id: exampleId('evt'),
  detected_at: '2026-11-21T09:30:00.000000000Z',
  scope: { service: 'support-chat', owner: 'team-support', provider: 'openai' },
  observed_usd: '412.8',
  expected_usd: '37.25',
  window: { from: '2026-11-21T09:00:00.000Z', to: '2026-11-21T10:00:00.000Z' },
  observed_until: '2026-11-21T09:29:58.210Z',
  score: 68.02,
}

export const PATH = '/api/v1/anomalies'

const of = (what: string) =>
  z
    .string()
    .min(1)
    .max(256)
    .optional()
    .meta({ description: `Only anomalies of this ${what}.` })

export const LIST_ANOMALIES: Operation = {
  id: 'listAnomalies',
  tag: 'Reports',
  summary: 'List anomalies of spend, newest first',
  description:
    'Hours in which a service, owner and provider cost far more than usual, each announced once by ' +
    '`anomaly.detected`. They are kept for 90 days unless the instance is set up otherwise.',
  query: {
    ...PAGE_PARAMETERS,
    service: of('service'),
    owner: of('owner'),
    provider: of('provider'),
    ...rangeParameters('anomalies'),
  },
  replies: {
    200: {
      description: 'A page of anomalies.',
      contents: json(pageOf(anomaly), { data: [EXAMPLE], page: { limit: 50, has_more: false } }),
    },
  },
}
