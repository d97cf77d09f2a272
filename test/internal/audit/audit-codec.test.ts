import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeEntry, encodeEntry } from '../../../internal/audit/audit-codec.js'
import type { RepeatedEntry } from '../../../internal/audit/chain.js'
import { AUDIT_ACTIONS, AUDIT_OUTCOMES } from '../../../internal/auth/audit-entry.js'
import { auditEntry } from '../../support/audit.js'

const text = fc.string({ minLength: 1 })
const entries: fc.Arbitrary<RepeatedEntry> = fc.record(
  {
    tenantId: fc.option(text),
    actor: fc.option(text),
    action: fc.constantFrom(...AUDIT_ACTIONS),
    target: fc.option(text),
    outcome: fc.constantFrom(...AUDIT_OUTCOMES),
    errorCode: fc.constantFrom(null, 'NO_SCOPE', 'RATE_LIMITED'),
    traceId: text,
    at: fc.integer({ min: 0, max: Date.UTC(2099, 0) }),
    repeats: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
    sourceAddress: text,
    changes: fc.record({ before: fc.dictionary(text, text, { noNullPrototype: true }), after: fc.constant(null) }),
  },
  { requiredKeys: ['tenantId', 'actor', 'action', 'target', 'outcome', 'errorCode', 'traceId', 'at', 'repeats'] },
)

test('an audit entry is decoded as it was encoded', () => {
  fc.assert(
    fc.property(entries, (entry) => {
      expect(decodeEntry(encodeEntry(entry))).toEqual(entry)
    }),
  )
})

test.each([
  ['no JSON', 'x'],
  ['no object', '[]'],
  ['no outcome', JSON.stringify({ ...auditEntry(), outcome: undefined })],
  ['an empty actor, which would read as none', JSON.stringify({ ...auditEntry(), actor: '' })],
  ['a time that the read model cannot hold', JSON.stringify({ ...auditEntry(), at: Date.UTC(2200, 0) })],
  ['a time that is not a number', JSON.stringify({ ...auditEntry(), at: 'now' })],
  ['changes that have no canonical form', JSON.stringify({ ...auditEntry(), changes: { after: 0.5 } })],
  ['changes that are none', JSON.stringify({ ...auditEntry(), changes: 'all' })],
  ['no repeats', JSON.stringify({ ...auditEntry(), repeats: 0 })],
])('an audit message with %s is poison', (_, message) => {
  expect(() => decodeEntry(Buffer.from(message))).toThrow()
})

test('an audit entry without a canonical form is refused before it is stored', () => {
  expect(() => encodeEntry(auditEntry({ changes: { after: { rate: 0.5 } } }))).toThrow(TypeError)
  expect(() => encodeEntry(auditEntry({ actor: '' }))).toThrow(TypeError)
})
