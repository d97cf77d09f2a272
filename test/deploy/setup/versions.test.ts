import { expect, test } from 'vitest'
import { isAtLeast, parseVersion } from '../../../deploy/setup/versions.mjs'

test.each([
  ['v20.11.1', [20, 11, 1]],
  ['nats-server: v2.12.0-beta.1', [2, 12, 0]],
  ['nats-server: v2.9.10\n', [2, 9, 10]],
  ['2.12', [2, 12, 0]],
])('%j says its version', (text, version) => {
  expect(parseVersion(text)).toEqual(version)
})

test('a text without a version number has no version', () => {
  expect(parseVersion('command not found')).toBeUndefined()
})

test.each([
  ['v20.10.9', '20.11', false],
  ['v20.11.0', '20.11', true],
  ['v20.11.1', '20.11', true],
  ['v21.0.0', '20.11', true],
  ['v9.99.99', '20.11', false],
  ['nats-server: v2.9.10', '2.12', false],
  ['nats-server: v2.12.0', '2.12', true],
  ['nats-server: v2.11.99', '2.12', false],
  ['', '2.12', false],
])('%j against %s: %s', (text, least, isEnough) => {
  expect(isAtLeast(text, least)).toBe(isEnough)
})
