import { expect, test } from 'vitest'
import { AUDIT } from '../../streams/audit.js'
import { BUCKETS } from '../../streams/buckets.js'
import { INVOCATIONS } from '../../streams/invocations.js'
import { QUARANTINE } from '../../streams/quarantine.js'

test('every bucket has its own name, of characters that a stream name may hold', () => {
  const names = BUCKETS.map(({ name }) => name)

  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^[a-z_]+$/)
})

test('only heartbeats, announcements, leases, ended jobs, sign-ins, revocations, kept answers, replays and the days of the audit log expire by themselves', () => {
  expect(BUCKETS.filter((bucket) => bucket.ttlMs !== undefined).map(({ name }) => name)).toEqual([
    'authorization_codes',
    'sessions',
    'revoked_tokens',
    'announcements',
    'training_leases',
    'jobs',
    'export_places',
    'quarantine_replays',
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
