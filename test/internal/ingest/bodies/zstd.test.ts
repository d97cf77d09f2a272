import { once } from 'node:events'
import { expect, test } from 'vitest'
import { ZstdUnpacker } from '../../../../internal/ingest/bodies/zstd.js'

/** Forty lines, packed by libzstd at level 3, with their length in the header. */
const PACKED = Buffer.from(
  'KLUv/WDlBI0EALLEDxegtTkI5ff/tfyyPdB/WGtr21Ja7FerFf///79t27bdtm1bJUEOo7g7nGTrENcZGxiBZwLHAkAtNDyKBE2AUigggDNKD4' +
    '14zod5hOc8zEc8x8M8wnMexiOe8zAf8RwP84if8+fD+PmIPp/D58Ps+Qg9n5Pnw+D5iDsfaOe5JIuU5EWypERekiVlJ7dIiE8=',
  'base64',
)
const TEXT = Array.from({ length: 40 }, (_, i) => `line ${i} of a body that repeats itself`).join('\n')

/** Passes the bytes on in pieces. @returns what was unpacked, or the message of the error */
function unpacked(bytes: Buffer, pieceBytes = bytes.length): Promise<Buffer | string> {
  const unpacker = new ZstdUnpacker()
  const chunks: Buffer[] = []
  unpacker.on('data', (chunk: Buffer) => chunks.push(chunk))
  for (let at = 0; at < bytes.length; at += pieceBytes) unpacker.write(bytes.subarray(at, at + pieceBytes))
  unpacker.end()
  return new Promise((resolve) => {
    unpacker.once('end', () => resolve(Buffer.concat(chunks)))
    unpacker.once('error', ({ message }) => resolve(message))
  })
}

/** A frame with this window whose blocks repeat one byte, each so often. */
function frameOf(windowDescriptor: number, ...repeats: readonly number[]): Buffer {
  const blocks = repeats.map((times, i) => {
    const header = Buffer.alloc(4, 'x')
    header.writeUIntLE(times * 8 + 2 + Number(i === repeats.length - 1), 0, 3)
    return header
  })
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, windowDescriptor]), ...blocks])
}
const EIGHT_MIB = 13 << 3

test('what libzstd packed is unpacked, however it is cut into chunks', async () => {
  for (const pieceBytes of [1, 7, PACKED.length]) expect(String(await unpacked(PACKED, pieceBytes))).toBe(TEXT)
  expect(String(await unpacked(Buffer.concat([PACKED, PACKED])))).toBe(TEXT + TEXT)
  expect(String(await unpacked(Buffer.alloc(0)))).toBe('')
})

test('a frame that does not end, and what is none, are refused', async () => {
  for (let cut = 1; cut < PACKED.length; cut += 5) {
    expect(await unpacked(PACKED.subarray(0, cut))).toEqual(expect.any(String))
  }
  expect(await unpacked(Buffer.from('this is no frame at all'))).toBe('this is no frame')
})

test('the window is at most 8 MiB, and small blocks are refused once they are many: each costs the window', async () => {
  expect(await unpacked(frameOf(EIGHT_MIB, 100_000, 100_000))).toHaveLength(200_000)
  expect(await unpacked(frameOf(EIGHT_MIB + 1, 100_000))).toBe('the window is too long')
  expect(await unpacked(frameOf(EIGHT_MIB, ...Array(10_000).fill(1)))).toBe('too many blocks are small')
})

/** A frame that holds nothing to unpack. */
function skippable(size: number, variant = 0): Buffer {
  const frame = Buffer.alloc(8 + size, 'x')
  frame.writeUInt32LE(0x184d2a50 + variant)
  frame.writeUInt32LE(size, 4)
  return frame
}

test('frames that are to be skipped are, wherever they are and however they are cut', async () => {
  const bytes = Buffer.concat([skippable(4), PACKED, skippable(0, 7), skippable(300, 15), PACKED, skippable(9)])
  for (const pieceBytes of [1, 5, 64, bytes.length]) expect(String(await unpacked(bytes, pieceBytes))).toBe(TEXT + TEXT)
  expect(String(await unpacked(skippable(20)))).toBe('')

  expect(await unpacked(skippable(20).subarray(0, 25))).toBe('the frame does not end')
})

test('what is to be skipped is bounded: in bytes, and in frames beside what is unpacked', async () => {
  const MIB = 1024 * 1024
  expect(await unpacked(Buffer.concat([skippable(MIB), PACKED]))).toHaveLength(TEXT.length)
  expect(await unpacked(Buffer.concat([skippable(MIB), skippable(1)]))).toBe('too much of it is to be skipped')
  expect(await unpacked(Buffer.concat(Array.from({ length: 65 }, () => skippable(0))))).toBe(
    'too many blocks are small',
  )
})

test('an unpacker that was given up unpacks no more', async () => {
  const unpacker = new ZstdUnpacker()
  let pieces = 0
  unpacker.on('data', () => {
    pieces++
    unpacker.destroy()
  })
  unpacker.on('error', () => undefined)
  unpacker.write(frameOf(EIGHT_MIB, ...Array.from({ length: 200 }, () => 100_000)))
  await once(unpacker, 'close')
  const before = unpacker.unpackedBytes
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)

  expect(pieces).toBe(1)
  expect(unpacker.unpackedBytes - before).toBeLessThanOrEqual(400_000)
})
