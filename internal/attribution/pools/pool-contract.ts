import { z } from 'zod'
import type { ResourceContract } from '../../http/resource/resource-operations.js'
import { exampleId, idOf, timeText } from '../../text/answer-fields.js'
import { type PoolChanges, type PoolFields, poolChanges, poolFields, type StoredPool } from './pool.js'

/** The API contract of cost pools. */

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

const EXAMPLE_FIELDS = {
  name: 'shared-bedrock',
  owner: 'team-platform',
  rules: [{ provider: 'bedrock', ingestion_layer: 'proxy' }],
}

export const POOL = {
  path: '/api/v1/pools',
  prefix: 'pool',
  tag: 'Pools',
  word: 'Pool',
  plural: 'Pools',
  order: 'newest first',
  record: pool,
  fields: poolFields,
  changes: poolChanges,
  example: {
    record: { id: exampleId('pool'), ...EXAMPLE_FIELDS, priority: 100, created_at: '2026-11-21T09:30:00.000Z' },
    fields: EXAMPLE_FIELDS,
    changes: { owner: 'team-finance' } satisfies PoolChanges,
  },
  descriptions: {
    create:
      'The cost of calls that neither facts nor trained inference could attribute is allocated to the first pool ' +
      'with a matching rule, otherwise to the pool `unallocated`. An allocation states where a cost is booked, not ' +
      'who caused it: its confidence is below 0.50. The pool applies to calls attributed after this request.',
    update: '`name` cannot be changed. Existing records are unchanged.',
    delete: 'Existing records are unchanged.',
  },
} as const satisfies ResourceContract<PoolFields, PoolChanges>
