import { expect, test } from 'vitest'
import { NATS_SERVER_LEAST as LEAST_OF_SET_UP } from '../../../deploy/setup/nats-server.mjs'
import { NATS_SERVER_LEAST, refusalOf, storesGroups } from '../../../internal/broker/server-version.js'

test.each([
  ['2.9.10', 'nats-server 2.9.10 is too old: 2.12.5 or newer is required'],
  ['2.12.0', 'nats-server 2.12.0 can lose messages that it has acknowledged: 2.12.5 or newer is required'],
  ['2.12.4', 'nats-server 2.12.4 can lose messages that it has acknowledged: 2.12.5 or newer is required'],
  ['1.99.99', 'nats-server 1.99.99 is too old: 2.12.5 or newer is required'],
])('nats-server %s is refused by name', (version, refusal) => {
  expect(refusalOf(version)).toBe(refusal)
})

test.each(['2.12.5', '2.12.10', '2.13.0-beta.1', '2.15.1', '3.0.0', 'dev', ''])('nats-server %s is used', (version) => {
  expect(refusalOf(version)).toBeUndefined()
})

test('the set-up finds what the roles accept', () => {
  expect(LEAST_OF_SET_UP).toBe(NATS_SERVER_LEAST)
})

test.each([
  ['2.12.11', false],
  ['2.12.12', true],
  ['2.14.2', false],
  ['2.14.3', true],
  ['2.15.0', true],
  ['3.0.0', true],
  ['', false],
])('nats-server %s stores groups of messages reliably: %s', (version, isSo) => {
  expect(storesGroups(version)).toBe(isSo)
})
