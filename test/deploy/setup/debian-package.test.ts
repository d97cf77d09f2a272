import { expect, test } from 'vitest'
import { debianSuite, explainApt } from '../../../deploy/setup/debian-package.mjs'

test('Debian is recognised by its release file', () => {
  expect(debianSuite('NAME="Debian GNU/Linux"\nVERSION_CODENAME=bookworm\nID=debian\n')).toBe('bookworm')
  expect(debianSuite('ID="debian"\nVERSION_CODENAME="trixie"\n')).toBe('trixie')
})

test.each(['ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n', 'ID=alpine\n', ''])('%j is not Debian', (release) => {
  expect(debianSuite(release)).toBeUndefined()
})

test('an unreachable mirror is reported', () => {
  const output = `W: Failed to fetch http://one.example/debian/dists/sid/InRelease  \
Temporary failure resolving 'one.example'
E: Some index files failed to download.
`

  expect(explainApt(output)).toMatch(/^apt cannot reach its mirror; check the network \(.*one\.example'\)$/)
})

test('any other failure is reported with the message of apt', () => {
  expect(explainApt('E: Unable to locate package nats-server\n')).toBe('Unable to locate package nats-server')
  expect(explainApt('')).toBe('apt gave no reason')
})
