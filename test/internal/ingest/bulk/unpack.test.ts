import { deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Unpacker, unpackerOf } from '../../../../internal/ingest/bodies/content-coding.js'
import { type UnpackingFor, unpack } from '../../../../internal/ingest/bulk/unpack.js'
import { drawn } from '../../../support/run/rings.js'

const LIMIT = 1024 * 1024
const ALONE = { hold: () => true, release: () => undefined, isSettled: false }

const unpacked = (coding: string, bytes: Buffer, request: UnpackingFor = ALONE) =>
  unpack(bytes, unpackerOf(coding) as Unpacker, LIMIT, request)

async function codeOf(bytes: Buffer, coding = 'gzip', request = ALONE): Promise<string> {
  const all = await unpacked(coding, bytes, request)
  return all.ok ? 'ok' : all.problem.code
}

/** Not compressible, so that its gzip form is about as long. */
const noise = (bytes: number): Buffer => {
  const content = Buffer.alloc(bytes)
  let state = 1
  for (let at = 0; at < bytes; at++) {
    state = (state * 48_271) % 0x7fff_ffff
    content[at] = state
  }
  return content
}

test('a deflated body is inflated unchanged, up to exactly the limit', async () => {
  for (const content of [Buffer.from('x'), noise(300_000), Buffer.alloc(LIMIT, 'ab')]) {
    const inflated = await unpacked('gzip', gzipSync(content))

    expect(inflated.ok && inflated.bytes.equals(content)).toBe(true)
  }
  expect(await codeOf(gzipSync(Buffer.alloc(LIMIT + 1)))).toBe('PAYLOAD_TOO_LARGE')
})

test('several members are one body, as RFC 1952 says, and so are several frames of zstd, as RFC 8878 says', async () => {
  const both = await unpacked('gzip', Buffer.concat([gzipSync('one'), gzipSync(''), gzipSync(' two')]))
  const frames = await unpacked('zstd', Buffer.concat([zstdOf(3), zstdOf(200_000), zstdOf(1)]))

  expect(both.ok && both.bytes.toString()).toBe('one two')
  expect(frames.ok && frames.bytes.length).toBe(200_004)
})

test('an empty member is an empty body', async () => {
  expect(await unpacked('gzip', gzipSync(''))).toEqual({ ok: true, bytes: Buffer.alloc(0) })
})

test('a bomb is not inflated beyond the limit', async () => {
  const bomb = gzipSync(Buffer.alloc(64 * LIMIT))
  // A reader that went on inflating would come to this and call it malformed.
  bomb.fill(0xff, bomb.length >> 1)

  expect(await codeOf(bomb)).toBe('PAYLOAD_TOO_LARGE')
})

describe('malformed', () => {
  const whole = gzipSync(noise(2_000))

  test('is a member cut short at any byte', async () => {
    const short = gzipSync('some text that is short')
    for (let cut = 0; cut < short.length; cut++) expect(await codeOf(short.subarray(0, cut))).toBe('MALFORMED_REQUEST')
  })

  test.each([
    ['a zero', Buffer.from([0])],
    ['zeros', Buffer.alloc(100)],
    ['a zero and a length that fits', Buffer.concat([Buffer.from([0]), whole.subarray(-4)])],
    ['text', Buffer.from('garbage')],
    ['a line feed', Buffer.from('\n')],
    ['half a header', Buffer.from([0x1f, 0x8b])],
  ])('is %s behind the member', async (_, more) => {
    expect(await codeOf(Buffer.concat([whole, more]))).toBe('MALFORMED_REQUEST')
  })

  test.each([
    ['plain text', Buffer.from('{"a":1} and more of it')],
    ['zlib without gzip', deflateSync(noise(100))],
    ['noise', noise(500)],
  ])('is %s', async (_, bytes) => {
    expect(await codeOf(bytes)).toBe('MALFORMED_REQUEST')
  })

  test('or unaltered is whatever a mutation leaves: nothing else comes out, nothing hangs', async () => {
    const content = Buffer.from(
      JSON.stringify(Array.from({ length: 60 }, (_, i) => ({ id: i, text: `event ${i * i}` }))),
    )
    const member = gzipSync(content)
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: member.length - 1 }), fc.integer({ min: 1, max: 255 }), async (at, change) => {
        const bytes = Buffer.from(member)
        bytes[at] = (bytes[at] ?? 0) ^ change

        const inflated = await unpacked('gzip', bytes)

        if (inflated.ok)
          expect(inflated.bytes.equals(content)).toBe(true) // a header byte that says nothing
        else expect(inflated.problem.code).toMatch(/MALFORMED_REQUEST|PAYLOAD_TOO_LARGE/)
      }),
      { numRuns: drawn(300) },
    )
  })
})

describe('the memory of a body', () => {
  test('is held for what unpacks it, and as it comes; without room nothing more is unpacked', async () => {
    const held: number[] = []
    const request = (roomBytes: number) => ({
      ...ALONE,
      hold: (bytes: number) => held.push(bytes) > 0 && held.reduce((sum, each) => sum + each, 0) <= roomBytes,
    })

    const whole = await unpacked('gzip', gzipSync(noise(300_000)), request(Number.POSITIVE_INFINITY))
    const [window, ...chunks] = held.splice(0)
    const refused = await unpacked('gzip', gzipSync(noise(300_000)), request(256 * 1024))

    expect(whole.ok && whole.bytes.length).toBe(300_000)
    expect(window).toBe(128 * 1024)
    expect(chunks.reduce((sum, each) => sum + each, 0)).toBe(300_000)
    expect(!refused.ok && refused.problem.code).toBe('RATE_LIMITED')
    expect(held.length).toBeLessThan(1 + chunks.length)
  })

  test.each([
    ['whole', gzipSync(noise(300_000)), 300_000],
    ['broken', Buffer.alloc(100), 0],
  ])('is that of the unpacked bytes once it is unpacked: %s', async (_, packed, bytes) => {
    let held = 0
    const hold = (more: number): boolean => {
      held += more
      return true
    }

    await unpacked('gzip', packed, { isSettled: false, hold, release: (fewer) => void hold(-fewer) })

    expect(held).toBe(bytes)
  })

  test('is not filled further once its sender has disconnected', async () => {
    expect(await codeOf(gzipSync(noise(LIMIT)), 'gzip', { ...ALONE, isSettled: true })).not.toBe('ok')
  })
})

/** A frame whose blocks repeat one byte: what a packer makes of blanks, and of nothing else. */
function zstdOf(bytes: number): Buffer {
  const blocks: Buffer[] = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 13 << 3])]
  for (let left = bytes; left > 0; left -= 128 * 1024) {
    const block = Buffer.alloc(4, ' ')
    block.writeUIntLE(Math.min(left, 128 * 1024) * 8 + 2 + Number(left <= 128 * 1024), 0, 3)
    blocks.push(block)
  }
  return Buffer.concat(blocks)
}

describe.each([
  ['deflate', (bytes: number) => deflateSync(Buffer.alloc(bytes, ' '))],
  ['x-gzip', (bytes: number) => gzipSync(Buffer.alloc(bytes, ' '))],
  ['zstd', zstdOf],
] as const)('Content-Encoding: %s', (coding, packed) => {
  test('is unpacked up to exactly the limit', async () => {
    for (const bytes of [1, 300_000, LIMIT]) {
      const all = await unpacked(coding, packed(bytes))

      expect(all.ok && all.bytes.equals(Buffer.alloc(bytes, ' '))).toBe(true)
    }
  })

  test('is refused where it is cut off, at any byte', async () => {
    const whole = packed(300_000)

    for (let cut = 1; cut < whole.length; cut++) {
      expect(await codeOf(whole.subarray(0, cut), coding)).toBe('MALFORMED_REQUEST')
    }
  })

  test('is refused when it is too long, broken, cut off or goes on, or when there is no memory', async () => {
    const whole = packed(300_000)

    expect(await codeOf(packed(64 * LIMIT), coding)).toBe('PAYLOAD_TOO_LARGE')
    expect(await codeOf(Buffer.from('nothing that is packed'), coding)).toBe('MALFORMED_REQUEST')
    expect(await codeOf(whole.subarray(0, whole.length - 3), coding)).toBe('MALFORMED_REQUEST')
    expect(await codeOf(Buffer.concat([whole, Buffer.from('more')]), coding)).toBe('MALFORMED_REQUEST')
    expect(await codeOf(whole, coding, { ...ALONE, hold: () => false })).toBe('RATE_LIMITED')
  })
})
