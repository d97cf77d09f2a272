import { z } from 'zod'
import { SCOPES, type Scope } from '../../auth/scopes.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { HEALTH_STATUSES, REPORTED_STATUSES } from '../../records/connector-health.js'
import { REGION_PATTERN } from '../../residency/residency.js'
import { exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { name } from '../../text/plain-text.js'
import { CONNECTOR_STATUSES } from './connector.js'

/** The contract of the connector routes. */

const SOURCE_SYSTEMS_MAX = 32

/** A partner cannot be an administrator. */
const PARTNER_SCOPES = SCOPES.filter((scope) => scope !== 'admin:config')
const scopes = () =>
  z
    .array(z.enum(PARTNER_SCOPES as readonly Scope[] as [Scope, ...Scope[]]))
    .min(1)
    .max(PARTNER_SCOPES.length)
const sourceSystems = () =>
  z.array(name()).min(1).max(SOURCE_SYSTEMS_MAX).meta({
    description: 'Values of `ingestion_layer` whose events the connector may send and whose records it may read.',
  })
const lane = () =>
  z.string().regex(REGION_PATTERN, 'must be a region in lower case, such as eu-central-1').nullish().meta({
    description: "Region to which the data that the connector reads is transferred. Default: the tenant's own region.",
  })

export const createBody = z
  .strictObject({
    name: name(),
    scopes: scopes(),
    source_systems: sourceSystems(),
    residency_lane: lane(),
    trusts_cost: z.boolean().nullish().meta({
      description: 'Whether costs that it states count; else they are shown beside the price. Default: true.',
    }),
  })
  .meta({ id: 'NewConnector' })
export type CreateBody = z.infer<typeof createBody>

export const changeBody = z
  .strictObject({
    name: name().optional(),
    source_systems: sourceSystems().optional(),
    residency_lane: lane().meta({
      description: 'Null: no region. The connector then cannot read records of a tenant with a residency region.',
    }),
    trusts_cost: z.boolean().optional(),
    status: z.enum(CONNECTOR_STATUSES).optional(),
  })
  .meta({ id: 'ConnectorChanges' })
export type ChangeBody = z.infer<typeof changeBody>

export const rotateBody = z
  .strictObject({ scopes: scopes().nullish().meta({ description: 'Default: unchanged.' }) })
  .meta({ id: 'ConnectorRotation' })
export type RotateBody = z.infer<typeof rotateBody>

/** A connector's report of its own health. */
export const healthReport = z
  .object({
    status: z.enum(REPORTED_STATUSES),
    reason: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_.-]{0,63}$/, 'must be a code such as upstream_timeout')
      .nullish()
      .meta({ description: "A code of the connector's choice, not free text." }),
  })
  .meta({ id: 'HealthReport' })
export type HealthReport = z.infer<typeof healthReport>

export const health = z
  .object({
    status: z.enum(HEALTH_STATUSES).meta({ description: 'As last reported; unknown without a report for a day.' }),
    since: timeText(),
    reason: z.string().nullable(),
    reported_at: timeText().nullable().meta({ description: 'Time of the last report. Null: none yet.' }),
  })
  .meta({ id: 'ConnectorHealth' })

const connector = z
  .object({
    id: idOf('con'),
    name: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    source_systems: z.array(z.string()),
    residency_lane: z.string().nullable(),
    trusts_cost: z.boolean().meta({ description: 'Whether costs that it states count.' }),
    status: z.enum(CONNECTOR_STATUSES),
    client_id: idOf('cli'),
    last_four: z.string().meta({ description: 'The last characters of the secret.' }),
    health,
    created_at: timeText(),
  })
  .meta({ id: 'Connector' })
export type ShownConnector = z.infer<typeof connector>

const withSecret = connector
  .extend({ client_secret: z.string().meta({ description: 'For the partner token endpoint. Shown only once.' }) })
  .meta({ id: 'ConnectorWithSecret' })

export const EXAMPLE_NEW: CreateBody = {
  name: 'Data cloud marketplace',
  scopes: ['read:attribution'],
  source_systems: ['data-cloud'],
  residency_lane: 'eu-central-1',
}
export const EXAMPLE_CHANGES: ChangeBody = { source_systems: ['data-cloud', 'data-cloud-batch'] }
export const EXAMPLE_ROTATION: RotateBody = {}

const EXAMPLE_CONNECTOR: ShownConnector = {
  id: exampleId('con'),
  name: 'Data cloud marketplace',
  scopes: ['read:attribution'],
  source_systems: ['data-cloud'],
  residency_lane: 'eu-central-1',
  trusts_cost: true,
  status: 'active',
  client_id: exampleId('cli'),
  last_four: '7mzq',
  health: {
    status: 'healthy',
    since: '2026-11-21T09:30:00.000Z',
    reason: null,
    reported_at: '2026-11-21T09:30:00.000Z',
  },
  created_at: '2026-11-01T09:30:00.000Z',
}
const EXAMPLE_WITH_SECRET = { ...EXAMPLE_CONNECTOR, client_secret: 'cs_live_...' }

export const PATH = '/api/v1/connectors'

const tag = 'Connectors'
const parameters = { id: idInPath('con', 'Id of the connector.') }

export const LIST_CONNECTORS: Operation = {
  id: 'listConnectors',
  tag,
  summary: "List the tenant's connectors, newest first",
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page of connectors.',
      contents: json(pageOf(connector), { data: [EXAMPLE_CONNECTOR], page: { limit: 50, has_more: false } }),
    },
  },
}

export const GET_CONNECTOR: Operation = {
  id: 'getConnector',
  tag,
  summary: 'Get a connector with its health',
  parameters,
  replies: { 200: { description: 'The connector.', contents: json(connector, EXAMPLE_CONNECTOR) } },
}

export const CREATE_CONNECTOR: Operation = {
  id: 'createConnector',
  tag,
  summary: 'Register a connector',
  description:
    'A partner that acts for this tenant under `/api/partner/v1`, by client credentials, and nowhere else. It ' +
    'has only the scopes, source systems and residency lane of the request. `admin:config` cannot be granted.',
  problems: ['NO_SCOPE', 'CONFLICT'],
  replies: { 201: { description: 'The connector, with its secret.', contents: json(withSecret, EXAMPLE_WITH_SECRET) } },
}

export const CHANGE_CONNECTOR: Operation = {
  id: 'updateConnector',
  tag,
  summary: 'Change a connector',
  description: 'Omitted fields are unchanged. A disabled connector and its tokens are refused at once.',
  parameters,
  replies: { 200: { description: 'The updated connector.', contents: json(connector, EXAMPLE_CONNECTOR) } },
}

export const ROTATE_CONNECTOR_SECRET: Operation = {
  id: 'rotateConnectorSecret',
  tag,
  summary: 'Replace the secret of a connector',
  description:
    'The old secret is refused at once; existing tokens stay valid until they expire. Scopes can be added only ' +
    'together with a new secret.',
  parameters,
  problems: ['NO_SCOPE'],
  replies: {
    200: { description: 'The connector, with its new secret.', contents: json(withSecret, EXAMPLE_WITH_SECRET) },
  },
}

export const DELETE_CONNECTOR: Operation = {
  id: 'deleteConnector',
  tag,
  summary: 'Delete a connector',
  description: 'Its credentials and tokens are refused at once. The events that it sent are kept.',
  parameters,
  replies: { 204: { description: 'Deleted.' } },
}
