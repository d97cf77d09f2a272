import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { authenticityFault, masterKeysIn, signatureOf } from '../../../../internal/local/backup/authenticity.js'
import type { Manifest } from '../../../../internal/local/backup/backup-manifest.js'

const newKeys = () => masterKeysIn({ masterKey: `${randomBytes(32).toString('base64url')}\n`, credentials: undefined })
const keys = newKeys()
const master_key_id = keys.current().id
const manifestOf = (id: string) => ({ id, master_key_id }) as Manifest
const bytesOf = (manifest: Manifest): Buffer => Buffer.from(JSON.stringify(manifest))

test('a backup is authentic by the signature of its master key over all its bytes, and by no other', () => {
  const text = fc.string({ minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(text, fc.nat(), fc.integer({ min: 1, max: 255 }), (id, at, change) => {
      const manifest = manifestOf(id)
      const bytes = bytesOf(manifest)
      const signature = signatureOf(bytes, keys.current())
      expect(authenticityFault({ manifest, bytes, signature }, keys)).toBeUndefined()

      const changed = Buffer.from(bytes)
      const place = at % changed.length
      changed[place] = (changed[place] ?? 0) ^ change
      for (const each of [changed, bytes.subarray(0, place), Buffer.concat([bytes, Buffer.from(' ')])]) {
        expect(authenticityFault({ manifest, bytes: each, signature }, keys)).toMatch(/its signature is wrong/)
      }
      const forged = signatureOf(bytes, newKeys().current())
      for (const each of [forged, signature.slice(2), '', 'no hex']) {
        expect(authenticityFault({ manifest, bytes, signature: each }, keys)).toMatch(/its signature is wrong/)
      }
    }),
  )
})

test('a backup without a signature is refused unless that is accepted; one of another key always is', () => {
  const manifest = manifestOf('a')
  const unsigned = { manifest, bytes: bytesOf(manifest), signature: undefined }

  expect(authenticityFault(unsigned, keys)).toMatch(/is not signed: .* --accept-unsigned/)
  expect(authenticityFault(unsigned, keys, true)).toBeUndefined()
  expect(authenticityFault(unsigned, newKeys(), true)).toMatch(/not the master key of the backup/)
  const signed = { ...unsigned, signature: 'f00d' }
  expect(authenticityFault(signed, keys, true)).toMatch(/its signature is wrong/)
})
