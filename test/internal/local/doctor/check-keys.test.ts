import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { checkCertificate } from '../../../../internal/local/doctor/check-keys.js'
import { makeCertificate } from '../../../support/certificates.js'

const DAY_MS = 24 * 60 * 60 * 1_000
const HOUR_MS = 60 * 60 * 1_000

function fileWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'attribution-certificate-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'cert.pem')
  writeFileSync(file, text)
  return file
}

test.each([
  [60, 'ok', '60 days'],
  [10, 'warning', 'renew it'],
  [1, 'failure', 'renew it'],
  [-2, 'failure', 'expired'],
])('a certificate that is valid for %i more days is %s', (days, status, detail) => {
  const { cert } = makeCertificate('api', [], days * DAY_MS + HOUR_MS)

  expect(checkCertificate(fileWith(cert), Date.now())).toMatchObject({
    check: 'certificate',
    status,
    detail: expect.stringContaining(detail),
  })
})

test('a file that is no certificate is a failure that names it', () => {
  const file = fileWith('nothing')

  expect(checkCertificate(file, Date.now())).toMatchObject({ status: 'failure', detail: expect.stringContaining(file) })
})
