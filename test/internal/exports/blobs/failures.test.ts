import { expect, test } from 'vitest'
import { isStoreOfFilesAway } from '../../../../internal/exports/blobs/failures.js'

const failure = (of: object): Error => Object.assign(new Error('no'), of)

test.each([
  { code: 'ECONNREFUSED' },
  { code: 'ECONNRESET' },
  { code: 'EAI_AGAIN' },
  { code: 'ECONNRESET', $response: { statusCode: 200 } },
  { name: 'TimeoutError' },
  { $metadata: { httpStatusCode: 503 } },
  // What the library cannot read, such as a page of a proxy, has a response only.
  { $response: { statusCode: 502 } },
  { $metadata: { httpStatusCode: 429 } },
])('%j passes', (of) => {
  expect(isStoreOfFilesAway(failure(of))).toBe(true)
})

test.each([
  { $metadata: { httpStatusCode: 403 } },
  { $metadata: { httpStatusCode: 301 } },
  { name: 'CredentialsProviderError' },
  { code: 'CERT_HAS_EXPIRED' },
  { code: 'ENOENT' },
  { code: 'EACCES' },
  { code: 'EIO' },
])('%j lasts until somebody mends it', (of) => {
  expect(isStoreOfFilesAway(failure(of))).toBe(false)
})

test.each([new TypeError('x is undefined'), undefined])('%s is a defect', (cause) => {
  expect(isStoreOfFilesAway(cause)).toBe(false)
})
