import { expect, test } from 'vitest'
import { verdictOf } from '../../../deploy/setup/advisories.mjs'

test('without advisories the check passes', () => {
  expect(verdictOf(JSON.stringify({ auditReportVersion: 2, vulnerabilities: {} })).code).toBe(0)
})

test('each advisory is a line with its severity, and the check fails', () => {
  const vulnerabilities = {
    ws: { severity: 'high', range: '<8.17.1', fixAvailable: true },
    qs: { severity: 'low', range: '<6.2', fixAvailable: false },
  }

  expect(verdictOf(JSON.stringify({ auditReportVersion: 2, vulnerabilities }))).toEqual({
    code: 1,
    lines: ['high: ws <8.17.1, a corrected version is available', 'low: qs <6.2'],
  })
})

test.each([
  [
    '{"message":"405 Method Not Allowed - POST https://registry.example/-/npm","statusCode":405}',
    ' (405 Method Not Allowed)',
  ],
  ['{}', ''],
])('a registry that does not answer is said, and is no pass: %s', (report, reason) => {
  expect(verdictOf(report)).toEqual({
    code: 2,
    lines: [`the registry does not answer for advisories${reason}; nothing is known`],
  })
  expect(verdictOf('npm error').code).toBe(2)
})
