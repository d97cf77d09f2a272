import { z } from 'zod'
import { SCOPES } from '../../auth/scopes.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { wantedScopes } from '../../http/contract/scopes.js'
import { exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { name } from '../../text/plain-text.js'
import { GRANT_TYPES } from '../oauth/clients.js'
import { isRedirectUri, REDIRECT_URI_LENGTH_MAX } from '../oauth/redirect-uris.js'

/** What the routes of OAuth clients take and promise (spec 4.1, 5; design section 7). */

const REDIRECT_URIS_MAX = 20
const STATUSES = ['active', 'disabled'] as const

const grantTypes = () => z.array(z.enum(GRANT_TYPES)).min(1).max(GRANT_TYPES.length)
const redirectUris = () =>
  z
    .array(
      z
        .string()
        .max(REDIRECT_URI_LENGTH_MAX)
        .refine(isRedirectUri, 'must be https, or http to a loopback address; without a fragment')
        .meta({ examples: ['https://app.example/callback'] }),
    )
    .max(REDIRECT_URIS_MAX)

export const createBody = z
  .object({
    name: name(),
    scopes: wantedScopes(),
    grant_types: grantTypes().nullish().meta({ description: '`client_credentials` alone without it.' }),
    redirect_uris: redirectUris().nullish().meta({
      description: 'Where people may be sent back to, for `authorization_code`; compared character by character.',
    }),
  })
  .meta({ id: 'NewClient' })
export type CreateBody = z.infer<typeof createBody>

export const updateBody = z
  .strictObject({
    name: name().optional(),
    scopes: wantedScopes().optional().meta({ description: 'None that it does not have already.' }),
    grant_types: grantTypes().optional(),
    redirect_uris: redirectUris().optional(),
    status: z.enum(STATUSES).optional(),
  })
  .meta({ id: 'ClientPatch' })
export type UpdateBody = z.infer<typeof updateBody>

export const rotateBody = z
  .strictObject({ scopes: wantedScopes().nullish().meta({ description: 'Those of before when absent.' }) })
  .meta({ id: 'ClientRotation' })
export type RotateBody = z.infer<typeof rotateBody>

const client = z
  .object({
    id: idOf('cli').meta({ description: 'The `client_id`.' }),
    name: z.string(),
    scopes: z.array(z.enum(SCOPES)).meta({ description: 'The most that a token of this client may carry.' }),
    grant_types: z.array(z.enum(GRANT_TYPES)),
    redirect_uris: z.array(z.string()),
    status: z.enum(STATUSES),
    created_at: timeText(),
    last_four: z.string().meta({ description: 'The last characters of the secret.' }),
  })
  .meta({ id: 'Client' })
export type ShownClient = z.infer<typeof client>

const clientWithSecret = client
  .extend({ client_secret: z.string().meta({ description: 'Shown this once.' }) })
  .meta({ id: 'ClientWithSecret' })

const EXAMPLE_CLIENT: ShownClient = {
  id: exampleId('cli'),
  name: 'Billing job',
  scopes: ['read:reporting'],
  grant_types: ['client_credentials'],
  redirect_uris: [],
  status: 'active',
  created_at: '2026-11-21T09:30:00.000Z',
  last_four: '7mzq',
}
const EXAMPLE_WITH_SECRET = { ...EXAMPLE_CLIENT, client_secret: `cs_live_${'7mzq'.padStart(52, '0')}` }
export const EXAMPLE_NEW: CreateBody = { name: 'Billing job', scopes: ['read:reporting'] }
export const EXAMPLE_PATCH: UpdateBody = { status: 'disabled' }
export const EXAMPLE_ROTATION: RotateBody = {}

export const PATH = '/api/v1/clients'
export const locationOf = (id: string): string => `${PATH}/${id}`

const CLIENT_IN_PATH = { id: idInPath('cli', 'Of the client.') }

export const LIST_CLIENTS: Operation = {
  id: 'listClients',
  tag: 'Access',
  summary: 'The OAuth clients of the tenant, the newest first',
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page of clients.',
      contents: json(pageOf(client), { data: [EXAMPLE_CLIENT], page: { limit: 50, has_more: false } }),
    },
  },
}

export const GET_CLIENT: Operation = {
  id: 'getClient',
  tag: 'Access',
  summary: 'One OAuth client',
  parameters: CLIENT_IN_PATH,
  replies: { 200: { description: 'The client.', contents: json(client, EXAMPLE_CLIENT) } },
}

export const CREATE_CLIENT: Operation = {
  id: 'createClient',
  tag: 'Access',
  summary: 'Register an OAuth client',
  description: 'A confidential client. A tenant may have a thousand; one more is CONFLICT.',
  replies: {
    201: { description: 'The client, with its secret.', contents: json(clientWithSecret, EXAMPLE_WITH_SECRET) },
  },
  problems: ['NO_SCOPE', 'CONFLICT'],
}

export const UPDATE_CLIENT: Operation = {
  id: 'updateClient',
  tag: 'Access',
  summary: 'Change an OAuth client, or disable it',
  description:
    'What is not named stays. Scopes can be taken away only: others come with a new secret. Its tokens may do less from ' +
    'now on where it may, and nothing at all while it is disabled.',
  parameters: CLIENT_IN_PATH,
  replies: { 200: { description: 'The client as it is then.', contents: json(client, EXAMPLE_CLIENT) } },
  problems: ['NO_SCOPE'],
}

export const ROTATE_CLIENT_SECRET: Operation = {
  id: 'rotateClientSecret',
  tag: 'Access',
  summary: 'Give an OAuth client another secret',
  description:
    'The old one is good no more. Tokens that it has brought stay good until they expire. New scopes come with a new ' +
    'secret only.',
  parameters: CLIENT_IN_PATH,
  replies: {
    200: { description: 'The client, with its new secret.', contents: json(clientWithSecret, EXAMPLE_WITH_SECRET) },
  },
  problems: ['NO_SCOPE'],
}

export const DELETE_CLIENT: Operation = {
  id: 'deleteClient',
  tag: 'Access',
  summary: 'Delete an OAuth client',
  description: 'Its tokens and the sign-ins that it was granted are good no more.',
  parameters: CLIENT_IN_PATH,
  replies: { 204: { description: 'It is gone.' } },
}
