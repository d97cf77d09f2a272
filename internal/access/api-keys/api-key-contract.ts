import { z } from 'zod'
import { BILLING_WORD, BILLINGS } from '../../auth/billing.js'
import { GATEWAYS_WORD } from '../../auth/gateways.js'
import { SCOPES } from '../../auth/scopes.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { wantedScopes } from '../../http/contract/scopes.js'
import { exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { instant, name } from '../../text/plain-text.js'
import { KEY_STATUSES } from './status.js'

/** The contract of the API key routes. */

/** How long an old key may stay valid beside the new one, seconds. */
const OVERLAP_S_MAX = 86_400
const LAYERS_MAX = 32

export const createBody = z
  .strictObject({
    name: name(),
    scopes: wantedScopes(),
    expires_at: instant().nullish().meta({
      description: "Within the tenant's maximum key lifetime. Default: as late as that allows.",
    }),
    ingestion_layers: z.array(name()).max(LAYERS_MAX).nullish().meta({
      description: 'Layers whose events the key may ingest. An empty list: none. Default: all.',
    }),
    trusts_cost: z.boolean().nullish().meta({
      description: 'Whether costs that the key states count; else they are shown beside the price. Default: true.',
    }),
    is_gateway: z
      .boolean()
      .nullish()
      .meta({ description: `Whether a gateway holds the key, ${GATEWAYS_WORD}. Default: false.` }),
    billing: z
      .enum(BILLINGS)
      .nullish()
      .meta({ description: `Of the calls that the key sends, ${BILLING_WORD}. Default: auto.` }),
  })
  .meta({ id: 'NewApiKey' })
export type CreateBody = z.infer<typeof createBody>

export const rotateBody = z
  .strictObject({
    scopes: wantedScopes().nullish().meta({ description: 'Default: those of the old key.' }),
    expires_at: instant().nullish().meta({ description: 'Default: that of the old key.' }),
    trusts_cost: z.boolean().nullish().meta({ description: 'Default: that of the old key.' }),
    is_gateway: z.boolean().nullish().meta({ description: 'Default: that of the old key.' }),
    billing: z.enum(BILLINGS).nullish().meta({ description: 'Default: that of the old key.' }),
    overlap_seconds: z.int().min(0).max(OVERLAP_S_MAX).nullish().meta({
      description: 'How long the old key stays valid, in seconds. Default: it is revoked at once.',
    }),
  })
  .meta({ id: 'ApiKeyRotation' })
export type RotateBody = z.infer<typeof rotateBody>

const apiKey = z
  .object({
    id: idOf('key'),
    name: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    expires_at: timeText().nullable().meta({ description: 'Null: the key does not expire.' }),
    created_at: timeText(),
    last_four: z.string().meta({ description: 'The last characters of the secret.' }),
    status: z.enum(KEY_STATUSES),
    last_used_at: timeText()
      .nullable()
      .meta({ description: 'Accurate to within one or two minutes. Null: never used.' }),
    ingestion_layers: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Layers whose events the key may ingest. Null: all.' }),
    trusts_cost: z.boolean().meta({ description: 'Whether costs that the key states count.' }),
    is_gateway: z.boolean().meta({ description: `Whether a gateway holds the key, ${GATEWAYS_WORD}.` }),
    billing: z.enum(BILLINGS).meta({ description: `Of the calls that the key sends, ${BILLING_WORD}.` }),
  })
  .meta({ id: 'ApiKey' })
export type ShownApiKey = z.infer<typeof apiKey>

const createdApiKey = apiKey
  .extend({ secret: z.string().meta({ description: 'The value for X-API-Key. Shown only once.' }) })
  .meta({ id: 'CreatedApiKey' })

const EXAMPLE_KEY: ShownApiKey = {
  id: exampleId('key'),
  name: 'Nightly export',
  scopes: ['export:create'],
  expires_at: '2027-11-21T09:30:00.000Z',
  created_at: '2026-11-21T09:30:00.000Z',
  last_four: '7mzq',
  status: 'active',
  last_used_at: null,
  ingestion_layers: [],
  trusts_cost: true,
  is_gateway: false,
  billing: 'auto',
}
const EXAMPLE_CREATED = {
  ...EXAMPLE_KEY,
  secret: `ak_live_${exampleId('key').slice(4)}_${'0'.repeat(52)}${'7mzq'.padStart(6, '0')}`,
}

export const EXAMPLE_NEW: CreateBody = { name: 'Nightly export', scopes: ['export:create'], ingestion_layers: [] }
export const EXAMPLE_ROTATION: RotateBody = { overlap_seconds: 3_600 }

export const PATH = '/api/v1/api-keys'
export const locationOf = (id: string): string => `${PATH}/${id}`

const KEY_IN_PATH = { id: idInPath('key', 'Id of the key.') }

export const LIST_API_KEYS: Operation = {
  id: 'listApiKeys',
  tag: 'Access',
  summary: "List the tenant's API keys, newest first",
  description: 'Of the expired and revoked keys, the 1000 that ended last stay listed.',
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page of keys.',
      contents: json(pageOf(apiKey), { data: [EXAMPLE_KEY], page: { limit: 50, has_more: false } }),
    },
  },
}

export const GET_API_KEY: Operation = {
  id: 'getApiKey',
  tag: 'Access',
  summary: 'Get an API key',
  parameters: KEY_IN_PATH,
  replies: { 200: { description: 'The key.', contents: json(apiKey, EXAMPLE_KEY) } },
}

export const CREATE_API_KEY: Operation = {
  id: 'createApiKey',
  tag: 'Access',
  summary: 'Create an API key',
  description:
    'The scopes of a key cannot be changed later. A tenant may have at most 1000 active keys; one more is CONFLICT.',
  replies: {
    201: { description: 'The key, with its secret.', contents: json(createdApiKey, EXAMPLE_CREATED) },
  },
  problems: ['NO_SCOPE', 'CONFLICT'],
}

export const ROTATE_API_KEY: Operation = {
  id: 'rotateApiKey',
  tag: 'Access',
  summary: 'Replace an API key by a new one',
  description:
    'The new key has its own id and secret. Only an active key can be rotated, and only once; otherwise the reply is ' +
    'CONFLICT. Emits `apikey.rotated`. To rotate the key that authenticates the request, set an overlap: without ' +
    'it, the request cannot be repeated.',
  parameters: KEY_IN_PATH,
  replies: {
    201: { description: 'The new key, with its secret.', contents: json(createdApiKey, EXAMPLE_CREATED) },
  },
  problems: ['NO_SCOPE', 'CONFLICT'],
}

export const REVOKE_API_KEY: Operation = {
  id: 'revokeApiKey',
  tag: 'Access',
  summary: 'Revoke an API key',
  description: 'Permanently, and at once on every gateway. Revoking a revoked key succeeds as well.',
  parameters: KEY_IN_PATH,
  replies: { 204: { description: 'Revoked.' } },
}
