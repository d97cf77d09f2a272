import { z } from 'zod'
import { SCOPES, type Scope } from '../../auth/scopes.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { HEALTH_STATUSES, REPORTED_STATUSES } from '../../records/connector-health.js'
import { REGION_PATTERN } from '../../residency/residency.js'
import { exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { name } from '../../text/plain-text.js'
import { CONNECTOR_STATUSES } from './connector.js'

/** What the routes of connectors take and promise (spec 5 rule 8, design section 7). */

const SOURCE_SYSTEMS_MAX = 32

/** Nobody becomes an administrator by being a partner (spec 5 rule 8). */
const PARTNER_SCOPES = SCOPES.filter((scope) => scope !== 'admin:config')
const scopes = () =>
  z
    .array(z.enum(PARTNER_SCOPES as readonly Scope[] as [Scope, ...Scope[]]))
    .min(1)
    .max(PARTNER_SCOPES.length)
const sourceSystems = () =>
  z.array(name()).min(1).max(SOURCE_SYSTEMS_MAX).meta({
    description: 'Values of `ingestion_layer`: what the connector may send, and whose records it may read.',
  })
const lane = () =>
  z.string().regex(REGION_PATTERN, 'must be a region in lower case, such as eu-central-1').nullish().meta({
    description: "Where what it reads goes. The tenant's own region when absent.",
  })

export const createBody = z
  .object({ name: name(), scopes: scopes(), source_systems: sourceSystems(), residency_lane: lane() })
  .meta({ id: 'NewConnector' })
export type CreateBody = z.infer<typeof createBody>

export const changeBody = z
  .strictObject({
    name: name().optional(),
    source_systems: sourceSystems().optional(),
    residency_lane: lane().meta({ description: 'Null: nowhere; it then reads nothing of a tenant that has a region.' }),
    status: z.enum(CONNECTOR_STATUSES).optional(),
  })
  .meta({ id: 'ConnectorChanges' })
export type ChangeBody = z.infer<typeof changeBody>

export const rotateBody = z
  .strictObject({ scopes: scopes().nullish().meta({ description: 'Those of before when absent.' }) })
  .meta({ id: 'ConnectorRotation' })
export type RotateBody = z.infer<typeof rotateBody>

/** What a connector says of itself. */
export const healthReport = z
  .object({
    status: z.enum(REPORTED_STATUSES),
    reason: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_.-]{0,63}$/, 'must be a code such as upstream_timeout')
      .nullish()
      .meta({ description: 'A code of its own, no text.' }),
  })
  .meta({ id: 'HealthReport' })
export type HealthReport = z.infer<typeof healthReport>

export const health = z
  .object({
    status: z
      .enum(HEALTH_STATUSES)
      .meta({ description: 'What it said last; unknown when it has said nothing for a day.' }),
    since: timeText(),
    reason: z.string().nullable(),
    reported_at: timeText().nullable().meta({ description: 'When it last said anything; null: never.' }),
  })
  .meta({ id: 'ConnectorHealth' })

const connector = z
  .object({
    id: idOf('con'),
    name: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    source_systems: z.array(z.string()),
    residency_lane: z.string().nullable(),
    status: z.enum(CONNECTOR_STATUSES),
    client_id: idOf('cli'),
    last_four: z.string().meta({ description: 'The last characters of the secret.' }),
    health,
    created_at: timeText(),
  })
  .meta({ id: 'Connector' })
export type ShownConnector = z.infer<typeof connector>

const withSecret = connector
  .extend({ client_secret: z.string().meta({ description: 'For the partner token endpoint. Shown this once.' }) })
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
const parameters = { id: idInPath('con', 'id of the connector.') }

export const LIST_CONNECTORS: Operation = {
  id: 'listConnectors',
  tag,
  summary: 'The connectors of the tenant, the newest first',
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page.',
      contents: json(pageOf(connector), { data: [EXAMPLE_CONNECTOR], page: { limit: 50, has_more: false } }),
    },
  },
}

export const GET_CONNECTOR: Operation = {
  id: 'getConnector',
  tag,
  summary: 'One connector, and how it is',
  parameters,
  replies: { 200: { description: 'The connector.', contents: json(connector, EXAMPLE_CONNECTOR) } },
}

export const CREATE_CONNECTOR: Operation = {
  id: 'createConnector',
  tag,
  summary: 'Register a connector',
  description:
    'A partner that acts for this tenant under `/api/partner/v1`, by client credentials, and nowhere else. It gets these ' +
    'scopes, source systems and lane, and nothing that is not named. `admin:config` cannot be given.',
  problems: ['NO_SCOPE', 'CONFLICT'],
  replies: { 201: { description: 'The connector, with the secret.', contents: json(withSecret, EXAMPLE_WITH_SECRET) } },
}

export const CHANGE_CONNECTOR: Operation = {
  id: 'updateConnector',
  tag,
  summary: 'Change a connector',
  description: 'What the body does not name stays. One that is disabled is refused at once, and its tokens with it.',
  parameters,
  replies: { 200: { description: 'As it is now.', contents: json(connector, EXAMPLE_CONNECTOR) } },
}

export const ROTATE_CONNECTOR_SECRET: Operation = {
  id: 'rotateConnectorSecret',
  tag,
  summary: "Replace a connector's secret",
  description:
    'The old secret is good no more; tokens that are out live on until they expire. New scopes come with a new secret only.',
  parameters,
  problems: ['NO_SCOPE'],
  replies: {
    200: { description: 'The connector, with the new secret.', contents: json(withSecret, EXAMPLE_WITH_SECRET) },
  },
}

export const DELETE_CONNECTOR: Operation = {
  id: 'deleteConnector',
  tag,
  summary: 'Remove a connector',
  description: 'Its credentials and tokens are refused at once. What it has sent stays.',
  parameters,
  replies: { 204: { description: 'It is gone.' } },
}
