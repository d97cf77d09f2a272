import { expect, test } from 'vitest'
import type { Quarantined } from '../../../../internal/broker/quarantine-log.js'
import { formatId } from '../../../../internal/ids/ids.js'
import { encodeEntry, encodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { eventsIn, tenantsIn } from '../../../../internal/local/quarantine/contents.js'
import { idOf, validEvent } from '../../../support/invocations.js'

const message = (data: Uint8Array, stated: Partial<Quarantined> = {}): Quarantined => ({
  sequence: 1,
  quarantinedAt: '2026-11-23T00:00:00.000000000Z',
  reader: 'a',
  reason: 'rule_failed: Error',
  log: 'invocations.a.0',
  messageId: undefined,
  id: 'quarantine.a.1',
  data,
  ...stated,
})
const entry = (stated: Parameters<typeof validEvent>[0] = {}): string =>
  encodeEntry({ tenantId: 'tnt_one', principal: 'key_one', id: idOf(1), receivedAtMs: 1 }, validEvent(stated))
const INVOCATION = { tenant_id: 'tnt_one', invocation_id: formatId('inv', idOf(1)) }
const hashOf = (tenantId: string, identity: string): string => `${tenantId}:${identity.length}`

test('a quarantined event shows the fields of its schema, and its identity as a hash', () => {
  const [shown] = eventsIn(message(encodeGroup([entry({ attributed_identity: 'ann@example.com' })])), hashOf)

  expect(shown).toMatchObject({ ...INVOCATION, event: { provider: 'openai', identity_hash: 'tnt_one:15' } })
  expect(JSON.stringify(shown)).not.toContain('ann@')
})

test('a quarantined event that does not match the schema shows only its ids', () => {
  const odd = { ...JSON.parse(entry()), e: { ...validEvent(), provider: 7, prompt: 'never to be told' } }
  const unreadable = { ...JSON.parse(entry()), r: 'never to be told' }

  for (const each of [odd, unreadable]) {
    expect(eventsIn(message(Buffer.from(JSON.stringify([each]))), hashOf)).toEqual([INVOCATION])
  }
  expect(eventsIn(message(Buffer.from('never to be told')), hashOf)).toEqual([])
})

test('the tenant of a quarantined message is that of a stage’s events, or of the subject of another log', () => {
  const nothing = Buffer.from('{}')

  expect(tenantsIn(message(encodeGroup([entry(), entry()])))).toEqual(['tnt_one'])
  expect(tenantsIn(message(nothing))).toEqual([])
  expect(tenantsIn(message(nothing, { reader: 'changes', log: 'changes.tnt_two' }))).toEqual(['tnt_two'])
  expect(tenantsIn(message(nothing, { reader: 'audit', log: 'audit.instance' }))).toEqual([])
  expect(tenantsIn(message(nothing, { reader: 'changes', log: '' }))).toEqual([])
})
