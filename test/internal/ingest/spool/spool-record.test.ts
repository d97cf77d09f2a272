import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  decodeRecord,
  encodeRecord,
  HEADER_BYTES,
  RECORD_BYTES_MAX,
  statedBytes,
} from '../../../../internal/ingest/spool/spool-record.js'

const records = fc.record({
  messageId: fc.string({ unit: 'grapheme', maxLength: 60 }),
  subject: fc.string({ unit: 'grapheme', maxLength: 60 }),
  payload: fc.uint8Array({ maxLength: 2_000 }),
})

const encode = (record: Parameters<typeof encodeRecord>[0]): Buffer => {
  const bytes = encodeRecord(record)
  if (bytes === undefined) throw new Error('the record is too large')
  return bytes
}

test('a record read back is the one that was written', () => {
  fc.assert(
    fc.property(records, (record) => {
      const bytes = encode(record)

      const { messageId, subject, payload } = decodeRecord(bytes) ?? {}

      expect(statedBytes(bytes)).toBe(bytes.length)
      expect({ messageId, subject }).toEqual({ messageId: record.messageId, subject: record.subject })
      expect(Buffer.from(payload ?? []).equals(record.payload)).toBe(true)
    }),
  )
})

test('a record with any bit flipped is not read', () => {
  fc.assert(
    fc.property(records, fc.nat(), (record, seed) => {
      const bytes = encode(record)
      const bit = seed % (bytes.length * 8)

      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))

      const length = statedBytes(bytes)
      const isRead = length === bytes.length && decodeRecord(bytes) !== undefined
      expect(isRead).toBe(false)
    }),
  )
})

test('zeros, which a file has where a power cut left it unwritten, state no record', () => {
  expect(statedBytes(Buffer.alloc(HEADER_BYTES))).toBeUndefined()
})

test('the largest record is accepted, and one byte more is refused', () => {
  const overhead = encode({ messageId: 'a', subject: 'b', payload: new Uint8Array(0) }).length
  const largest = RECORD_BYTES_MAX - overhead

  expect(encodeRecord({ messageId: 'a', subject: 'b', payload: new Uint8Array(largest) })?.length).toBe(
    RECORD_BYTES_MAX,
  )
  expect(encodeRecord({ messageId: 'a', subject: 'b', payload: new Uint8Array(largest + 1) })).toBeUndefined()
})

test('a message id or a subject of more than 65,535 bytes is refused', () => {
  const payload = new Uint8Array(1)

  expect(encodeRecord({ messageId: 'a'.repeat(65_535), subject: 'b'.repeat(65_535), payload })).toBeDefined()
  expect(encodeRecord({ messageId: 'é'.repeat(32_768), subject: 'b', payload })).toBeUndefined()
  expect(encodeRecord({ messageId: 'a', subject: 'b'.repeat(65_536), payload })).toBeUndefined()
})
