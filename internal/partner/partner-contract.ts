import { z } from 'zod'
import { type HealthReport, health } from '../access/connectors/connector-contract.js'
import { attributionRecord } from '../attribution/records/record.js'
import { EXAMPLE_RECORD } from '../attribution/records/record-contract.js'
import { SCOPES } from '../auth/scopes.js'
import { FILTER_PARAMETERS, FILTERS_DESCRIPTION, SORT_PARAMETER } from '../filters/parameters.js'
import { json, type Operation } from '../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../http/contract/page.js'
import { INGEST_INVOCATIONS, oneOrMore } from '../ingest/invocation-contract.js'
import { invocationEvent } from '../invocations/invocation-schema.js'
import { HEALTH_STATUSES } from '../records/connector-health.js'
import { exampleId, idOf } from '../text/answer-fields.js'
import { name } from '../text/plain-text.js'

/** The contract of the partner API. */

export const PARTNER = '/api/partner/v1'

const tag = 'Partner'

const ownConnector = z
  .object({
    id: idOf('con'),
    tenant_id: idOf('tnt'),
    name: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    source_systems: z.array(z.string()),
    residency_lane: z.string().nullable(),
    health,
  })
  .meta({ id: 'OwnConnector', description: 'The connector of the credential.' })
export type ShownOwnConnector = z.infer<typeof ownConnector>

const EXAMPLE_CONNECTOR: ShownOwnConnector = {
  id: exampleId('con'),
  tenant_id: exampleId('tnt'),
  name: 'Data cloud marketplace',
  scopes: ['read:attribution'],
  source_systems: ['data-cloud'],
  residency_lane: 'eu-central-1',
  health: {
    status: 'healthy',
    since: '2026-11-21T09:30:00.000Z',
    reason: null,
    reported_at: '2026-11-21T09:30:00.000Z',
  },
}

export const GET_OWN_CONNECTOR: Operation = {
  id: 'getOwnConnector',
  tag,
  summary: 'Get the own connector',
  replies: {
    200: { description: 'The connector of the credential.', contents: json(ownConnector, EXAMPLE_CONNECTOR) },
  },
}

export const EXAMPLE_REPORT: HealthReport = { status: 'degraded', reason: 'upstream_timeout' }

export const REPORT_HEALTH: Operation = {
  id: 'reportConnectorHealth',
  tag,
  summary: 'Report the health of the connector',
  description: `One of ${HEALTH_STATUSES.join(', ')}. A change emits the event \`connector.health.changed\`.`,
  replies: {
    200: { description: 'The connector with its current health.', contents: json(ownConnector, EXAMPLE_CONNECTOR) },
  },
}

const partnerEvent = invocationEvent
  .extend({
    ingestion_layer: name().meta({ description: "One of the connector's source systems.", examples: ['data-cloud'] }),
  })
  .meta({ id: 'PartnerInvocationEvent' })

export const INGEST_PARTNER_INVOCATIONS: Operation = {
  ...INGEST_INVOCATIONS,
  id: 'ingestPartnerInvocations',
  tag,
  summary: "Ingest invocation events of the connector's source systems",
  description:
    'Like `POST /api/v1/invocations`, for events whose `ingestion_layer` is one of the source systems of the ' +
    'connector. Other events fail with INSUFFICIENT_SCOPE.',
  body: {
    contents: {
      ...INGEST_INVOCATIONS.body?.contents,
      ...json(oneOrMore(partnerEvent, 'PartnerInvocationEvents')),
    },
  },
}

export const LIST_PARTNER_ATTRIBUTIONS: Operation = {
  id: 'listPartnerAttributions',
  tag,
  summary: "List records of the connector's source systems, with filters; newest first by default",
  description:
    'Fails with RESIDENCY_BLOCKED if this instance, or the lane of the connector, is outside the region of the ' +
    `tenant. Records of calls that were made in another region are omitted. ${FILTERS_DESCRIPTION}`,
  query: { ...PAGE_PARAMETERS, ...SORT_PARAMETER, ...FILTER_PARAMETERS },
  problems: ['RESIDENCY_BLOCKED'],
  replies: {
    200: {
      description: 'A page of records.',
      contents: json(pageOf(attributionRecord), { data: [EXAMPLE_RECORD], page: { limit: 50, has_more: false } }),
    },
  },
}
