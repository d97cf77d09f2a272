import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { PATHWAY_CATEGORIES } from '../../records/interpretation.js'
import { timeText } from '../../text/answer-fields.js'
import { COVERAGE_STATUSES } from './coverage.js'

/** What the coverage map promises (spec 4.4, design section 7). */

const layers = (description: string) => z.array(z.string()).meta({ description })

const pathwayCoverage = z
  .object({
    pathway: z.enum(PATHWAY_CATEGORIES),
    status: z.enum(COVERAGE_STATUSES).meta({
      description:
        '`degraded` when an expected layer is missing; `discovery_only` when traffic is only known to be there; `silent` ' +
        'when nothing came in the last 24 hours, and nothing was expected.',
    }),
    layers_deployed: layers('Capture layers by which calls came in the last 24 hours.'),
    layers_missing: layers(
      "Expected, and not among them: the directory's sources of this pathway, and layers that were there on three of the " +
        'seven days before.',
    ),
    discovery_only: layers(
      'Sources that the directory marks so, or that only `/api/v1/events` names. Nothing of theirs becomes a record, and ' +
        'invocations of a layer that is marked so are refused.',
    ),
    last_event_at: timeText()
      .nullable()
      .meta({ description: 'Of the newest call of 30 days, to the quarter of an hour.' }),
    unattributed_share: z
      .string()
      .regex(/^[01]\.\d{4}$/)
      .nullable()
      .meta({
        description: 'Of the calls of the last 24 hours those that nobody could be named for; null without calls.',
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
}

export const PATH = '/api/v1/coverage'

export const GET_COVERAGE: Operation = {
  id: 'listCoverage',
  tag: 'Attribution',
  summary: 'How well each pathway to the providers is seen',
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page of pathways of which anything is known.',
      contents: json(pageOf(pathwayCoverage), { data: [EXAMPLE], page: { limit: 50, has_more: false } }),
    },
  },
}
