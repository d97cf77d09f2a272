import { expect, test } from 'vitest'
import { AUDIT } from '../../streams/audit.js'
import { BUCKETS } from '../../streams/buckets.js'
import { INVOCATIONS } from '../../streams/invocations.js'
import { QUARANTINE } from '../../streams/quarantine.js'

test('every bucket has a unique name that is valid in a stream name', () => {
  const names = BUCKETS.map(({ name }) => name)

  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^[a-z_]+$/)
})

test('only buckets whose entries may be forgotten have a TTL', () => {
  expect(BUCKETS.filter((bucket) => bucket.ttlMs !== undefined).map(({ name }) => name)).toEqual([
    'authorization_codes',
    'sessions',
    'revoked_tokens',
    'directory_imports',
    'annotations',
    'budget_crossings',
    'announcements',
    'received',
    'backlog_episodes',
    'training_leases',
    'jobs',
    'export_places',
    'override_previews',
    'quarantine_replays',
    'erasures',
    'idempotency',
    'audit_days',
    'members',
  ])
})

test.each([INVOCATIONS, QUARANTINE, AUDIT])(
  'the stream $name refuses what does not fit and forgets nothing by age',
  (stream) => {
    expect(stream).toMatchObject({ discard: 'new', retention: 'limits', storage: 'file', max_age: 0 })
  },
)
