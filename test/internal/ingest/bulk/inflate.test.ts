import { deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { inflateDeflate, inflateGzip } from '../../../../internal/ingest/bulk/inflate.js'

const LIMIT = 1024 * 1024
const ALONE = { hold: () => true, isSettled: false }

const codeOf = async (bytes: Buffer): Promise<string> => {
  const inflated = await inflateGzip(bytes, LIMIT, ALONE)
  return inflated.ok ? 'ok' : inflated.problem.code
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
    const inflated = await inflateGzip(gzipSync(content), LIMIT, ALONE)

    expect(inflated.ok && inflated.bytes.equals(content)).toBe(true)
  }
  expect(await codeOf(gzipSync(Buffer.alloc(LIMIT + 1)))).toBe('PAYLOAD_TOO_LARGE')
})

test('an empty member is an empty body', async () => {
  expect(await inflateGzip(gzipSync(''), LIMIT, ALONE)).toEqual({ ok: true, bytes: Buffer.alloc(0) })
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
    ['another member', gzipSync('more')],
    ['an empty member', gzipSync('')],
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

        const inflated = await inflateGzip(bytes, LIMIT, ALONE)

        if (inflated.ok)
          expect(inflated.bytes.equals(content)).toBe(true) // a header byte that says nothing
        else expect(inflated.problem.code).toMatch(/MALFORMED_REQUEST|PAYLOAD_TOO_LARGE/)
      }),
      { numRuns: 300 },
    )
  })
})

describe('what a body is inflated to', () => {
  test('is held, as much as it says; without room for it nothing is inflated', async () => {
    const held: number[] = []
    const request = (hasRoom: boolean) => ({
      isSettled: false,
      hold(bytes: number) {
        held.push(bytes)
        return hasRoom
      },
    })

    const inflated = await inflateGzip(gzipSync(noise(300_000)), LIMIT, request(true))
    const refused = await inflateGzip(gzipSync(noise(200_000)), LIMIT, request(false))

    expect(inflated.ok && inflated.bytes.length).toBe(300_000)
    expect(!refused.ok && refused.problem.code).toBe('RATE_LIMITED')
    expect(held).toEqual([300_000, 200_000])
  })

  test('may not be more than it says, nor is a body kept that says too much', async () => {
    const member = gzipSync(noise(300_000))
    member.writeUInt32LE(10, member.length - 4)
    const bomb = gzipSync(Buffer.alloc(LIMIT + 1))
    const held: number[] = []
    const request = { isSettled: false, hold: (bytes: number) => held.push(bytes) > 0 }

    const codes = await Promise.all([member, bomb].map((bytes) => inflateGzip(bytes, LIMIT, request)))

    expect(codes.map((one) => !one.ok && one.problem.code)).toEqual(['MALFORMED_REQUEST', 'PAYLOAD_TOO_LARGE'])
    expect(held).toEqual([10, 0])
  })

  test('is not inflated further once its sender has disconnected', async () => {
    const content = noise(LIMIT)
    const gone = await inflateGzip(gzipSync(content), LIMIT, { hold: () => true, isSettled: true })

    expect(gone.ok).toBe(false)
  })
})

describe('Content-Encoding: deflate', () => {
  test('is inflated unchanged, up to exactly the limit', async () => {
    for (const content of [Buffer.from('x'), noise(300_000), Buffer.alloc(LIMIT, 'ab')]) {
      const inflated = await inflateDeflate(deflateSync(content), LIMIT, ALONE)

      expect(inflated.ok && inflated.bytes.equals(content)).toBe(true)
    }
  })

  test('is refused when it is too long, broken or cut off, or when there is no memory', async () => {
    const packed = deflateSync(noise(300_000))
    const none = { hold: () => false, isSettled: false }
    const refusals = await Promise.all([
      inflateDeflate(deflateSync(Buffer.alloc(64 * LIMIT)), LIMIT, ALONE),
      inflateDeflate(Buffer.from('no deflate at all'), LIMIT, ALONE),
      inflateDeflate(packed.subarray(0, packed.length - 9), LIMIT, ALONE),
      inflateDeflate(packed, LIMIT, none),
    ])

    expect(refusals.map((each) => !each.ok && each.problem.code)).toEqual([
      'PAYLOAD_TOO_LARGE',
      'MALFORMED_REQUEST',
      'MALFORMED_REQUEST',
      'RATE_LIMITED',
    ])
  })
})
