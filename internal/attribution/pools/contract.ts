import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import type { PoolChanges, StoredPool } from './pool.js'

/** What the routes of cost pools take and promise. */

export const PATH = '/api/v1/pools'

const pool = z
  .object({
    id: idOf('pool'),
    name: z.string(),
    owner: z.string(),
    priority: z.int(),
    rules: z.array(
      z.object({
        provider: z.string().optional(),
        ingestion_layer: z.string().optional(),
        principal_id: z.string().optional(),
      }),
    ),
    created_at: timeText(),
  })
  .meta({ id: 'Pool' })
export type ShownPool = Omit<StoredPool, 'tenant_id'>

export const EXAMPLE_FIELDS = {
  name: 'shared-bedrock',
  owner: 'team-platform',
  rules: [{ provider: 'bedrock', ingestion_layer: 'proxy' }],
}
export const EXAMPLE_CHANGES: PoolChanges = { owner: 'team-finance' }

const EXAMPLE_POOL = {
  id: exampleId('pool'),
  ...EXAMPLE_FIELDS,
  priority: 100,
  created_at: '2026-11-21T09:30:00.000Z',
}

const shown = json(pool, EXAMPLE_POOL)
const parameters = { id: idInPath('pool', 'id of the pool.') }
const TAG = 'Pools'

export const LIST_POOLS: Operation = {
  id: 'listPools',
  tag: TAG,
  summary: 'Cost pools, the newest first',
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page.',
      contents: json(pageOf(pool), { data: [EXAMPLE_POOL], page: { limit: 50, has_more: false } }),
    },
  },
}

export const GET_POOL: Operation = {
  id: 'getPool',
  tag: TAG,
  summary: 'One cost pool',
  parameters,
  replies: { 200: { description: 'The pool.', contents: shown } },
}

export const CREATE_POOL: Operation = {
  id: 'createPool',
  tag: TAG,
  summary: 'Make a cost pool',
  description:
    'Calls that neither facts nor trained inference could attribute are kept in the first pool one of whose rules takes ' +
    'them, else in the pool `unallocated`. An allocation says where a cost is kept, not who caused it: its confidence is ' +
    'below 0.50. Calls that are attributed from now on are allocated by it.',
  problems: ['CONFLICT'],
  replies: { 201: { description: 'It is made.', contents: shown } },
}

export const UPDATE_POOL: Operation = {
  id: 'updatePool',
  tag: TAG,
  summary: 'Change a cost pool',
  description: 'What the body does not name stays. `name` never changes. Records that exist stay as they are.',
  parameters,
  replies: { 200: { description: 'The pool as it is now.', contents: shown } },
}

export const DELETE_POOL: Operation = {
  id: 'deletePool',
  tag: TAG,
  summary: 'Delete a cost pool',
  description: 'Records that exist stay as they are.',
  parameters,
  replies: { 204: { description: 'It is gone.' } },
}
