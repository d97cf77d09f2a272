import { z } from 'zod'
import { SCOPES } from '../../auth/scopes.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { wantedScopes } from '../../http/contract/scopes.js'
import { exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { instant, name } from '../../text/plain-text.js'
import { KEY_STATUSES } from './status.js'

/** What the routes of API keys take and promise (spec 2.6, 4.4, 5; design section 7). */

/** Of an old key that may go on beside the new one, seconds. */
export const OVERLAP_S_MAX = 86_400
const LAYERS_MAX = 32

export const createBody = z
  .object({
    name: name(),
    scopes: wantedScopes(),
    expires_at: instant().nullish().meta({
      description: "Within the tenant's maximum lifetime; without it the key lives as long as that.",
    }),
    ingestion_layers: z.array(name()).max(LAYERS_MAX).nullish().meta({
      description: 'Layers whose events it may ingest; an empty list: none. Without it: all.',
    }),
  })
  .meta({ id: 'NewApiKey' })
export type CreateBody = z.infer<typeof createBody>

export const rotateBody = z
  .object({
    scopes: wantedScopes().nullish().meta({ description: 'Those of the old key without it.' }),
    expires_at: instant().nullish().meta({ description: 'That of the old key without it.' }),
    overlap_seconds: z.int().min(0).max(OVERLAP_S_MAX).nullish().meta({
      description: 'How long the old secret stays good; without it it dies at once.',
    }),
  })
  .meta({ id: 'ApiKeyRotation' })
export type RotateBody = z.infer<typeof rotateBody>

const apiKey = z
  .object({
    id: idOf('key'),
    name: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    expires_at: timeText().nullable().meta({ description: 'Null: never.' }),
    created_at: timeText(),
    last_four: z.string().meta({ description: 'The last characters of the secret.' }),
    status: z.enum(KEY_STATUSES),
    last_used_at: timeText().nullable().meta({ description: 'To within a minute or two; null: not yet.' }),
    ingestion_layers: z.array(z.string()).nullable().meta({ description: 'Null: all.' }),
  })
  .meta({ id: 'ApiKey' })
export type ShownApiKey = z.infer<typeof apiKey>

const createdApiKey = apiKey
  .extend({ secret: z.string().meta({ description: 'What goes into X-API-Key. Shown this once.' }) })
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
}
const EXAMPLE_CREATED = {
  ...EXAMPLE_KEY,
  secret: `ak_live_${exampleId('key').slice(4)}_${'0'.repeat(52)}${'7mzq'.padStart(6, '0')}`,
}

export const EXAMPLE_NEW: CreateBody = { name: 'Nightly export', scopes: ['export:create'], ingestion_layers: [] }
export const EXAMPLE_ROTATION: RotateBody = { overlap_seconds: 3_600 }

export const PATH = '/api/v1/api-keys'
export const locationOf = (id: string): string => `${PATH}/${id}`

const KEY_IN_PATH = { id: idInPath('key', 'Of the key.') }

export const LIST_API_KEYS: Operation = {
  id: 'listApiKeys',
  tag: 'Access',
  summary: 'The API keys of the tenant, the newest first',
  description: 'Of the keys that are good no more the last thousand stay listed.',
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
  summary: 'One API key',
  parameters: KEY_IN_PATH,
  replies: { 200: { description: 'The key.', contents: json(apiKey, EXAMPLE_KEY) } },
}

export const CREATE_API_KEY: Operation = {
  id: 'createApiKey',
  tag: 'Access',
  summary: 'Create an API key',
  description:
    'Its scopes are fixed from then on. A tenant may have a thousand keys that are good; one more is CONFLICT.',
  replies: {
    201: { description: 'The key, with its secret.', contents: json(createdApiKey, EXAMPLE_CREATED) },
  },
  problems: ['NO_SCOPE', 'CONFLICT'],
}

export const ROTATE_API_KEY: Operation = {
  id: 'rotateApiKey',
  tag: 'Access',
  summary: 'Put a new API key in the place of one',
  description:
    'The new key has an id and a secret of its own. Only a key that is active is rotated, and only once; else it is ' +
    'CONFLICT. Emits `apikey.rotated`. Whoever rotates the very key that it calls with leaves an overlap, to be able ' +
    'to repeat the request.',
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
  description: 'For good, and at once at every gateway. A key that is revoked already is answered alike.',
  parameters: KEY_IN_PATH,
  replies: { 204: { description: 'It is revoked.' } },
}
