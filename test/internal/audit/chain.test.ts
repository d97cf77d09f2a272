import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { toRecord, toRow } from '../../../internal/audit/audit-rows.js'
import { CHAIN_START, chained, hashOf } from '../../../internal/audit/chain.js'
import { auditEntry } from '../../support/audit.js'

const CHANGES = { before: { name: 'old' }, after: { name: 'new', rate: '0.5' } }

test('a record’s hash is SHA-256 of the previous hash and the canonical record, and anyone can compute it', () => {
  const first = chained(CHAIN_START, auditEntry())
  const second = chained(first, auditEntry({ changes: CHANGES, sourceAddress: '192.0.2.7' }))

  const canonical =
    '{"action":"settings.update","actor":"key_one",' +
    '"changes":{"after":{"name":"new","rate":"0.5"},"before":{"name":"old"}},' +
    '"created_at":"2026-11-21T12:00:00.000Z","error_code":null,"outcome":"succeeded","repeats":1,"sequence":2,' +
    '"source_address":"192.0.2.7","target":"tnt_one","tenant_id":"tnt_one",' +
    '"trace_id":"0af7651916cd43dd8448eb211c80319c"}'
  const expected = createHash('sha256').update(Buffer.from(first.hash, 'hex')).update(canonical).digest('hex')
  expect(second).toMatchObject({ sequence: 2, hash: expected })
})

test('an audit record is unchanged by conversion to a row and back', () => {
  const record = chained(CHAIN_START, auditEntry({ tenantId: null, actor: null, target: null, changes: CHANGES }))

  expect(toRecord(toRow(record))).toEqual(record)
  expect(hashOf(CHAIN_START.hash, toRecord(toRow(record)) ?? record)).toBe(record.hash)
})

test('a row whose changes are not canonical JSON is unreadable', () => {
  const row = toRow(chained(CHAIN_START, auditEntry({ changes: CHANGES })))

  expect(toRecord({ ...row, changes: row.changes.replace(':', ': ') })).toBeUndefined()
  expect(toRecord({ ...row, changes: '' })).toBeUndefined()
})
