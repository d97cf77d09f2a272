import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesOf } from '../../../../internal/ids/key-hash.js'
import { AdmittedKeys, isOfSender, readAdmittedKeys } from '../../../../internal/ingest/keys/admitted-keys.js'
import type { AdmissionKey } from '../../../../internal/invocations/invocation-group.js'

const SENDER = Buffer.from('sender 1')
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const drawn = fc.record({ hash: bytes(16), fingerprint: bytes(8), flags: fc.nat(255) })

const written = (keys: readonly AdmissionKey[], sender: Uint8Array = SENDER): Uint8Array | undefined => {
  const group = new AdmittedKeys(sender)
  for (const key of keys) group.add(key)
  return group.payload
}
const readBack = (payload: Uint8Array): AdmissionKey[] =>
  Array.from(readAdmittedKeys(payload), ({ hash, fingerprint, flags }) => ({
    hash: Uint8Array.from(bytesOf(hash)),
    fingerprint: Uint8Array.from(bytesOf(fingerprint)),
    flags,
  }))

test('keys come back as they were written, in 25 bytes each, wherever the message lies in a larger buffer', () => {
  fc.assert(
    fc.property(fc.array(drawn, { minLength: 1, maxLength: 100 }), fc.nat(7), (keys, offset) => {
      const payload = written(keys) ?? new Uint8Array()
      const elsewhere = new Uint8Array(offset + payload.length)
      elsewhere.set(payload, offset)

      expect(payload.length).toBe(8 + 25 * keys.length)
      expect(readBack(elsewhere.subarray(offset))).toEqual(keys)
    }),
  )
})

test('a group without keys has no message', () => {
  expect(written([])).toBeUndefined()
})

test('a message is of the process that wrote it, and of no other', () => {
  const [key] = fc.sample(drawn, 1)
  const payload = written(key === undefined ? [] : [key]) ?? new Uint8Array()

  expect([isOfSender(payload, SENDER), isOfSender(payload, Buffer.from('sender 2'))]).toEqual([true, false])
  expect(isOfSender(new Uint8Array(), SENDER)).toBe(false)
})

test('what does not fit the form is left out', () => {
  const keys = fc.sample(drawn, 2)
  const payload = written(keys) ?? new Uint8Array()

  expect(readBack(payload.subarray(0, payload.length - 1))).toEqual(keys.slice(0, 1))
  for (const length of [0, 7, 8, 32]) expect(readBack(payload.subarray(0, length))).toEqual([])
})
