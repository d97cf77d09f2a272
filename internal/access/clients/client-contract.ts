import { z } from 'zod'
import { BILLING_WORD, BILLINGS } from '../../auth/billing.js'
import { GATEWAYS_WORD } from '../../auth/gateways.js'
import { SCOPES } from '../../auth/scopes.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { wantedScopes } from '../../http/contract/scopes.js'
import { exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { name } from '../../text/plain-text.js'
import { GRANT_TYPES } from '../oauth/clients.js'
import { isPrivateUseUri, isRedirectUri, REDIRECT_URI_LENGTH_MAX } from '../oauth/redirect-uris.js'

/** The contract of the OAuth client routes. */

const REDIRECT_URIS_MAX = 20
const STATUSES = ['active', 'disabled'] as const
const CLIENT_TYPES = ['confidential', 'public'] as const

const WHETHER_GATEWAY = `Whether it is a gateway, ${GATEWAYS_WORD}.`
const WHO_PAYS = `Of the calls that its tokens send, ${BILLING_WORD}.`

const grantTypes = () => z.array(z.enum(GRANT_TYPES)).min(1).max(GRANT_TYPES.length)
const redirectUris = () =>
  z
    .array(
      z
        .string()
        .max(REDIRECT_URI_LENGTH_MAX)
        .refine(
          (uri) => isRedirectUri(uri) || isPrivateUseUri(uri),
          'must be https, http to a loopback address, or a private-use scheme, without a fragment',
        )
        .meta({ examples: ['https://app.example/callback'] }),
    )
    .max(REDIRECT_URIS_MAX)

export const createBody = z
  .strictObject({
    name: name(),
    scopes: wantedScopes(),
    type: z
      .enum(CLIENT_TYPES)
      .nullish()
      .meta({
        description:
          '`public`: an app in a browser or on a device, which has no secret and signs people in by the code ' +
          'flow with PKCE. Default: `confidential`.',
      }),
    grant_types: grantTypes().nullish().meta({
      description:
        'Default: `client_credentials`, or `authorization_code` for a public client, which cannot have the former.',
    }),
    redirect_uris: redirectUris()
      .nullish()
      .meta({
        description:
          'Addresses to which people may be redirected, for `authorization_code`: https, http to a loopback ' +
          'address on any port, and for a public client a private-use scheme (RFC 8252), such as ' +
          '`com.example.app:/callback`. Otherwise compared character by character.',
      }),
    trusts_cost: z.boolean().nullish().meta({
      description: 'Whether costs that its tokens state count; else they are shown beside the price. Default: true.',
    }),
    is_gateway: z
      .boolean()
      .nullish()
      .meta({
        description: `${WHETHER_GATEWAY} It applies to the client's own tokens. Default: false.`,
      }),
    billing: z
      .enum(BILLINGS)
      .nullish()
      .meta({ description: `${WHO_PAYS} Default: auto.` }),
  })
  .meta({ id: 'NewOAuthClient' })
export type CreateBody = z.infer<typeof createBody>

export const updateBody = z
  .strictObject({
    name: name().optional(),
    scopes: wantedScopes().optional().meta({ description: 'Only scopes that the client already has.' }),
    grant_types: grantTypes().optional(),
    redirect_uris: redirectUris().optional(),
    status: z.enum(STATUSES).optional(),
    trusts_cost: z.boolean().optional(),
    is_gateway: z.boolean().optional(),
    billing: z.enum(BILLINGS).optional(),
  })
  .meta({ id: 'ClientPatch' })
export type UpdateBody = z.infer<typeof updateBody>

export const rotateBody = z
  .strictObject({ scopes: wantedScopes().nullish().meta({ description: 'Default: unchanged.' }) })
  .meta({ id: 'ClientRotation' })
export type RotateBody = z.infer<typeof rotateBody>

const client = z
  .object({
    id: idOf('cli').meta({ description: 'The `client_id`.' }),
    name: z.string().meta({ description: 'Display name.' }),
    type: z.enum(CLIENT_TYPES),
    scopes: z.array(z.enum(SCOPES)).meta({ description: 'The scopes that tokens of this client may have.' }),
    grant_types: z.array(z.enum(GRANT_TYPES)).meta({ description: 'The grants for which it gets tokens.' }),
    redirect_uris: z.array(z.string()).meta({ description: 'Addresses to which people may be redirected.' }),
    status: z.enum(STATUSES).meta({ description: '`disabled`: its tokens are refused, and it gets none.' }),
    trusts_cost: z.boolean().meta({ description: 'Whether costs that its tokens state count.' }),
    is_gateway: z.boolean().meta({ description: WHETHER_GATEWAY }),
    billing: z.enum(BILLINGS).meta({ description: WHO_PAYS }),
    created_at: timeText(),
    last_four: z.string().nullable().meta({ description: 'The last characters of the secret. Null: it has none.' }),
  })
  .meta({ id: 'OAuthClient' })
export type ShownClient = z.infer<typeof client>

const clientWithSecret = client
  .extend({ client_secret: z.string().meta({ description: 'Shown only once.' }) })
  .meta({ id: 'ClientWithSecret' })

const createdClient = client
  .extend({
    client_secret: z.string().optional().meta({ description: 'Shown only once. Absent for a public client.' }),
  })
  .meta({ id: 'CreatedClient' })

const EXAMPLE_CLIENT: ShownClient = {
  id: exampleId('cli'),
  name: 'Billing job',
  type: 'confidential',
  scopes: ['read:reporting'],
  grant_types: ['client_credentials'],
  redirect_uris: [],
  status: 'active',
  trusts_cost: true,
  is_gateway: false,
  billing: 'auto',
  created_at: '2026-11-21T09:30:00.000Z',
  last_four: '7mzq',
}
const EXAMPLE_WITH_SECRET = { ...EXAMPLE_CLIENT, client_secret: `cs_live_${'7mzq'.padStart(52, '0')}` }
export const EXAMPLE_NEW: CreateBody = { name: 'Billing job', scopes: ['read:reporting'] }
export const EXAMPLE_PATCH: UpdateBody = { status: 'disabled' }
export const EXAMPLE_ROTATION: RotateBody = {}

export const PATH = '/api/v1/clients'
export const locationOf = (id: string): string => `${PATH}/${id}`

const CLIENT_IN_PATH = { id: idInPath('cli', 'Id of the client.') }

export const LIST_CLIENTS: Operation = {
  id: 'listClients',
  tag: 'Access',
  summary: "List the tenant's OAuth clients, newest first",
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
  summary: 'Get an OAuth client',
  parameters: CLIENT_IN_PATH,
  replies: { 200: { description: 'The client.', contents: json(client, EXAMPLE_CLIENT) } },
}

export const CREATE_CLIENT: Operation = {
  id: 'createClient',
  tag: 'Access',
  summary: 'Register an OAuth client',
  description: 'A tenant may have at most 1000 clients; one more is CONFLICT.',
  replies: {
    201: { description: 'The client, with its secret.', contents: json(createdClient, EXAMPLE_WITH_SECRET) },
  },
  problems: ['NO_SCOPE', 'CONFLICT'],
}

export const UPDATE_CLIENT: Operation = {
  id: 'updateClient',
  tag: 'Access',
  summary: 'Change an OAuth client, or disable it',
  description:
    'Omitted fields are unchanged. Scopes can only be removed; rotate the secret to add some. Removed scopes ' +
    'apply to existing tokens at once, and all tokens are refused while the client is disabled.',
  parameters: CLIENT_IN_PATH,
  replies: { 200: { description: 'The updated client.', contents: json(client, EXAMPLE_CLIENT) } },
  problems: ['NO_SCOPE'],
}

export const ROTATE_CLIENT_SECRET: Operation = {
  id: 'rotateClientSecret',
  tag: 'Access',
  summary: 'Replace the secret of an OAuth client',
  description:
    'The old secret is refused at once. Tokens that it obtained stay valid until they expire. Scopes can be ' +
    'added only together with a new secret. A public client has none: CONFLICT.',
  parameters: CLIENT_IN_PATH,
  replies: {
    200: { description: 'The client, with its new secret.', contents: json(clientWithSecret, EXAMPLE_WITH_SECRET) },
  },
  problems: ['NO_SCOPE', 'CONFLICT'],
}

export const DELETE_CLIENT: Operation = {
  id: 'deleteClient',
  tag: 'Access',
  summary: 'Delete an OAuth client',
  description: 'Its tokens and sign-ins are invalid at once.',
  parameters: CLIENT_IN_PATH,
  replies: { 204: { description: 'Deleted.' } },
}
