import { deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type BulkBody, isBulk, openBulkBody } from '../../../../internal/ingest/bulk/bulk-body.js'
import { BULK_BYTES_MAX, BULK_EVENTS_MAX, EVENT_BYTES_MAX } from '../../../../internal/invocations/limits.js'
import { drawn } from '../../../support/run/rings.js'

const JSON_BODY = { contentType: 'application/json', contentEncoding: '' }
const NDJSON_BODY = { contentType: 'application/x-ndjson', contentEncoding: '' }

const open = (headers: typeof JSON_BODY, bytes: Buffer): Promise<BulkBody> =>
  openBulkBody(
    { headers, bytes, shippedRows: () => (value) => value },
    { hold: () => true, release: () => undefined, isSettled: false },
  )
const openText = (headers: typeof JSON_BODY, text: string): Promise<BulkBody> => open(headers, Buffer.from(text))

/** Values, and the error code where there is none. */
function outcomes(body: BulkBody): readonly unknown[] {
  if (body.kind !== 'bulk') throw new Error(`the body is ${JSON.stringify(body)}`)
  const indices: number[] = []
  const found: unknown[] = []
  for (const item of body.items) {
    indices.push(item.index)
    const value = item.value()
    found.push(value === undefined ? (item.problem?.code ?? MALFORMED) : value)
    // Asked again it says the same.
    expect(item.value()).toEqual(value)
  }
  expect(indices).toEqual([...found.keys()])
  expect(found).toHaveLength(body.items.count)
  return found
}

const refusal = (body: BulkBody): string => (body.kind === 'refused' ? body.problem.code : body.kind)

const MALFORMED = 'MALFORMED_REQUEST'

describe('a JSON array', () => {
  test('gives each element in order', async () => {
    const text = ' [ {"a":[1,{"b":"],}{[\\""}]} ,\r\n\t2,"x,]\\\\", null,[],{} ] \n'

    expect(outcomes(await openText(JSON_BODY, text))).toEqual([{ a: [1, { b: '],}{["' }] }, 2, 'x,]\\', null, [], {}])
  })

  test.each([
    ['[{"a":},{"b":2}]', [MALFORMED, { b: 2 }]],
    ['[{"a":1} {"c":1},{"b":2}]', [MALFORMED, { b: 2 }]],
    ['[{\'a\':1},{"b":2}]', [MALFORMED, { b: 2 }]],
    ['[NaN,01,tru,"\\x",{"b":2}]', [MALFORMED, MALFORMED, MALFORMED, MALFORMED, { b: 2 }]],
    ['[{"a":1,},{"b":2}]', [MALFORMED, { b: 2 }]],
    ['[{"b":2},/* x */]', [{ b: 2 }, MALFORMED]],
    ['[{"b":2},\ufeff3]', [{ b: 2 }, MALFORMED]],
  ])('%s: what is wrong within one element is its own problem', async (text, expected) => {
    expect(outcomes(await openText(JSON_BODY, text))).toEqual(expected)
  })

  test.each([
    ['[{"a":1}', [{ a: 1 }]],
    ['[{"a":1},', [{ a: 1 }]],
    ['[{"a":1},]', [{ a: 1 }]],
    ['[,{"a":1}]', [MALFORMED, { a: 1 }]],
    ['[{"a":1},,{"a":1}]', [{ a: 1 }, { a: 1 }]],
    ['[{"a":1}]]', [{ a: 1 }]],
    ['[{"a":1}] x', [{ a: 1 }, MALFORMED]],
    ['[{"a":1}][{"b":2}]', [{ a: 1 }, { b: 2 }]],
    ['[{"a":1]},{"b":2}]', [MALFORMED, { b: 2 }]],
    ['[{"a":"x},{"b":"y"}]', [MALFORMED, { b: 'y' }]],
    ['["x},\n{"y":"z"}]', [MALFORMED, { y: 'z' }]],
    ['[{"a":1},{"b":[{"c":2}', [{ a: 1 }, MALFORMED]],
    ['[', [MALFORMED]],
    ['[{', [MALFORMED]],
    ['["x\\', [MALFORMED]],
  ])('%j: what is wrong with the array costs no element that is right', async (text, expected) => {
    expect(outcomes(await openText(JSON_BODY, text))).toEqual(expected)
  })

  test('nesting is followed to 1,000 levels', async () => {
    const nested = (depth: number): string => `[${'['.repeat(depth)}${']'.repeat(depth)},2]`

    expect(outcomes(await openText(JSON_BODY, nested(1_000)))[1]).toBe(2)
    expect(outcomes(await openText(JSON_BODY, nested(1_001)))).toHaveLength(1)
    expect(outcomes(await openText(JSON_BODY, '['.repeat(BULK_BYTES_MAX)))).toEqual(['PAYLOAD_TOO_LARGE'])
  })

  test('invalid UTF-8 is the problem of the element that holds it', async () => {
    const bytes = Buffer.from('["é","ab","é"]')
    bytes[7] = 0xff

    expect(outcomes(await open(JSON_BODY, bytes))).toEqual(['é', MALFORMED, 'é'])
  })

  test('a large array is scanned in slices that yield to the event loop', async () => {
    const element = `"${'x'.repeat(50_000)}"`
    const text = `[${Array(100).fill(element).join(',')}]`
    let turns = 0
    let isSearching = true
    const count = (): void => {
      turns++
      if (isSearching) setImmediate(count)
    }
    setImmediate(count)

    const body = await openText(JSON_BODY, text)
    isSearching = false

    expect(outcomes(body)).toHaveLength(100)
    expect(turns).toBeGreaterThan(10)
  })

  test('an empty array is refused', async () => {
    for (const text of ['[]', ' [ \n] ']) {
      expect(await openText(JSON_BODY, text)).toMatchObject({
        kind: 'refused',
        problem: { code: 'VALIDATION_FAILED', errors: [{ pointer: '' }] },
      })
    }
  })
})

describe('NDJSON', () => {
  test('events of any length up to the limit are read, in ASCII and beyond it', async () => {
    for (const letter of ['a', 'é']) {
      const lengths = [1, 20_000, 31_000, 100, 33_000, 2, 64_000 / letter.length, 5].map((length) =>
        Math.floor(length / Buffer.byteLength(letter)),
      )
      const values = lengths.map((length, i) => ({ i, text: letter.repeat(length) }))
      const body = Buffer.from(values.map((value) => JSON.stringify(value)).join('\n'))

      const read = await open({ contentType: 'application/x-ndjson', contentEncoding: '' }, body)

      if (read.kind !== 'bulk') throw new Error(read.kind)
      expect(outcomes(read)).toEqual(values)
    }
  })

  test('gives each line in order; CRLF and blank lines do not count', async () => {
    const text = '\ufeff\n{"a":1}\r\n  \n\t{"b":"x\\ny"} \n\r\n[1]\n\n3'

    expect(outcomes(await openText(NDJSON_BODY, text))).toEqual([{ a: 1 }, { b: 'x\ny' }, [1], 3])
  })

  test.each([
    ['{"a":1\n{"b":2}', [MALFORMED, { b: 2 }]],
    ['{"a":"x\n{"b":2}', [MALFORMED, { b: 2 }]],
    ['{"a":1} {"c":\n{"b":2}', [{ a: 1 }, MALFORMED, { b: 2 }]],
    ['\ufeff{"a":1\n{"b":2}', [MALFORMED, { b: 2 }]],
    ['text\n{"b":2}', [MALFORMED, { b: 2 }]],
    ['[2026-11-28] text\n{"b":2}', [MALFORMED, { b: 2 }]],
  ])('%j: a malformed line is its own problem', async (text, expected) => {
    expect(outcomes(await openText(NDJSON_BODY, text))).toEqual(expected)
  })

  test('invalid UTF-8 is the problem of its line', async () => {
    const bytes = Buffer.from('"é"\n"ab"\n"é"')
    bytes[6] = 0xc0

    expect(outcomes(await open(NDJSON_BODY, bytes))).toEqual(['é', MALFORMED, 'é'])
  })

  test('may hold more blanks than one slice scans, before and after each event', async () => {
    const blanks = ' '.repeat(600_000)
    const found = [
      await openText(NDJSON_BODY, `${blanks}1${blanks}\n${blanks}2${blanks}`),
      await openText(JSON_BODY, `${blanks}[${blanks}1${blanks},${blanks}2${blanks}]${blanks}`),
    ]

    expect(found.map(outcomes)).toEqual([
      [1, 2],
      [1, 2],
    ])
  })

  test('yields to the event loop while its blanks are skipped', async () => {
    let turns = 0
    const counting = setInterval(() => turns++, 0)
    for (const headers of [NDJSON_BODY, JSON_BODY]) await openText(headers, ' '.repeat(BULK_BYTES_MAX))
    clearInterval(counting)

    expect(turns).toBeGreaterThan(2)
  })

  test('a body of blank lines only is refused', async () => {
    for (const text of ['', '\n', ' \r\n\t\n', '\n'.repeat(BULK_BYTES_MAX)]) {
      expect(refusal(await openText(NDJSON_BODY, text))).toBe('VALIDATION_FAILED')
    }
  })
})

describe('limits', () => {
  const numbers = (count: number): string[] => Array.from({ length: count }, (_, i) => String(i))

  test.each([
    ['array', JSON_BODY, (all: readonly string[]) => `[${all.join(',')}]`],
    ['NDJSON', NDJSON_BODY, (all: readonly string[]) => all.join('\n\n')],
  ] as const)('%s: the most events are taken, one more is too much', async (_, headers, join) => {
    expect(outcomes(await openText(headers, join(numbers(BULK_EVENTS_MAX))))).toHaveLength(BULK_EVENTS_MAX)
    expect(refusal(await openText(headers, join(numbers(BULK_EVENTS_MAX + 1))))).toBe('PAYLOAD_TOO_LARGE')
  })

  test.each([
    ['array', JSON_BODY, (all: readonly string[]) => `[${all.join(' , ')}]`],
    ['NDJSON', NDJSON_BODY, (all: readonly string[]) => all.join('  \n')],
  ] as const)('%s: an event of 64 KiB is taken, a longer one is its own problem', async (_, headers, join) => {
    const largest = JSON.stringify('x'.repeat(EVENT_BYTES_MAX - 2))
    const tooLong = JSON.stringify('x'.repeat(EVENT_BYTES_MAX - 1))

    expect(outcomes(await openText(headers, join(['1', tooLong, largest, '2'])))).toEqual([
      1,
      'PAYLOAD_TOO_LARGE',
      JSON.parse(largest),
      2,
    ])
  })

  test('the longest body is accepted, a longer one is too large', async () => {
    const largest = `1${' '.repeat(BULK_BYTES_MAX - 3)}\n2`

    expect(outcomes(await openText(NDJSON_BODY, largest))).toEqual([1, 2])
    expect(refusal(await openText(NDJSON_BODY, `${largest}3`))).toBe('PAYLOAD_TOO_LARGE')
  })
})

describe('headers', () => {
  test.each([
    ['application/json; charset=utf-8', ''],
    ['APPLICATION/JSON', 'identity'],
    ['application/x-ndjson;charset=utf-8', ''],
    ['application/x-ndjson', 'GZIP'],
    ['application/x-ndjson', 'x-gzip'],
    ['application/ndjson', 'deflate'],
    ['application/jsonl', ''],
    ['application/x-jsonlines; charset=utf-8', ''],
  ])('%s, %s is taken', async (contentType, contentEncoding) => {
    const bytes = Buffer.from('[1]')

    const pack = /gzip/i.test(contentEncoding) ? gzipSync : contentEncoding === 'deflate' ? deflateSync : Buffer.from
    const body = await open({ contentType, contentEncoding }, pack(bytes))

    expect(outcomes(body)).toHaveLength(1)
  })

  test.each([
    ['', ''],
    ['text/plain', ''],
    ['application/x-ndjsonish', ''],
    ['application/json', 'br'],
    ['application/json', 'zlib'],
    ['application/json', 'gzip, gzip'],
    ['application/json', 'gzip, identity'],
  ])('%j, %j is not supported', async (contentType, contentEncoding) => {
    expect(refusal(await open({ contentType, contentEncoding }, Buffer.from('[1]')))).toBe('UNSUPPORTED_MEDIA_TYPE')
  })

  test('JSON that holds several objects is many events, also under the media type of one', async () => {
    for (const text of ['{"a":1}\n{"b":2}\n', '{"a":1}{"b":2}', '{\n "a":1\n}\n{"b":2}', '[{"a":1}][{"b":2}]']) {
      expect(outcomes(await openText(JSON_BODY, text))).toEqual([{ a: 1 }, { b: 2 }])
    }
    expect(outcomes(await openText(JSON_BODY, 'started\n{"b":2}\n'))).toEqual([MALFORMED, { b: 2 }])
  })

  test('JSON that is one object is one event, inflated and not parsed', async () => {
    const bytes = Buffer.from(' {"a":1')

    expect(await open(JSON_BODY, bytes)).toEqual({ kind: 'event', bytes })
    expect(await open({ ...JSON_BODY, contentEncoding: 'gzip' }, gzipSync(bytes))).toEqual({
      kind: 'event',
      bytes,
    })
    expect(refusal(await openText(JSON_BODY, ' '.repeat(EVENT_BYTES_MAX) + 1))).toBe('PAYLOAD_TOO_LARGE')
  })

  test('only plain JSON that is not an array takes the single-event path', () => {
    expect(isBulk(JSON_BODY, Buffer.from('\n {"a":1}'))).toBe(false)
    expect(isBulk(JSON_BODY, Buffer.from(''))).toBe(false)
    expect(isBulk(JSON_BODY, Buffer.from('\r\n\t [1]'))).toBe(true)
    expect(isBulk(NDJSON_BODY, Buffer.from('{"a":1}'))).toBe(true)
    expect(isBulk({ ...JSON_BODY, contentEncoding: 'gzip' }, Buffer.from('{'))).toBe(true)
    expect(isBulk({ ...JSON_BODY, contentType: 'text/plain' }, Buffer.from('{'))).toBe(true)
  })
})

describe('for any values', () => {
  // JSON has no -0.
  const values = fc.jsonValue({ noUnicodeString: false, maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)))
  const lists = fc.array(values, { minLength: 1, maxLength: 12 })
  const blanks = fc.stringMatching(/^[ \t\r\n]{0,3}$/)

  test('an array gives what JSON.parse gives', async () => {
    await fc.assert(
      fc.asyncProperty(lists, fc.nat({ max: 4 }), blanks, async (list, indent, blank) => {
        const text = blank + JSON.stringify(list, null, indent) + blank

        expect(outcomes(await openText(JSON_BODY, text))).toEqual(JSON.parse(text))
      }),
      { numRuns: drawn(300) },
    )
  })

  test('lines, and objects one behind the other, give what JSON.parse gives', async () => {
    await fc.assert(
      fc.asyncProperty(lists, fc.constantFrom('\n', '\r\n', '\n\n \n', '', ' '), async (list, feed) => {
        const objects = list.map((value) => ({ value }))
        const text = objects.map((value) => JSON.stringify(value)).join(feed)

        expect(outcomes(await openText(NDJSON_BODY, text))).toEqual(objects)
      }),
      { numRuns: drawn(300) },
    )
  })

  /** Cuts, and bytes that mean something to a scanner. */
  const mutations = fc.array(
    fc.record({
      at: fc.nat({ max: 300 }),
      remove: fc.nat({ max: 4 }),
      insert: fc.oneof(
        fc
          .constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', '\n', '\r', ' ', '0', 'e', '\0')
          .map(Buffer.from as (t: string) => Buffer),
        fc.uint8Array({ maxLength: 3 }).map((bytes) => Buffer.from(bytes)),
      ),
    }),
    { minLength: 1, maxLength: 4 },
  )

  const mutate = (text: string, all: readonly { at: number; remove: number; insert: Buffer }[]): Buffer =>
    all.reduce((bytes, { at, remove, insert }) => {
      const place = at % (bytes.length + 1)
      return Buffer.concat([bytes.subarray(0, place), insert, bytes.subarray(place + remove)])
    }, Buffer.from(text))

  const parsed = (bytes: Buffer): unknown => {
    try {
      return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
    } catch {
      return undefined
    }
  }

  test('an array gives what JSON.parse gives, and a mutated one without an error nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(lists, mutations, async (list, all) => {
        const bytes = mutate(JSON.stringify(list), all)
        const expected = parsed(bytes)

        const body = await open(JSON_BODY, bytes)

        if (body.kind === 'event') expect(Array.isArray(expected)).toBe(false)
        else if (body.kind === 'refused') {
          expect(expected === undefined || (Array.isArray(expected) && expected.length === 0)).toBe(true)
        } else if (Array.isArray(expected)) expect(outcomes(body)).toEqual(expected)
        else expect(expected).toBeUndefined()
      }),
      { numRuns: drawn(2_000) },
    )
  })

  test('mutated lines give each line that is an object', async () => {
    await fc.assert(
      fc.asyncProperty(lists, mutations, async (list, all) => {
        const objects = list.map((value) => ({ value }))
        const bytes = mutate(objects.map((value) => JSON.stringify(value)).join('\n'), all)
        const lines = bytes.toString('latin1').split('\n')

        const body = await open(NDJSON_BODY, bytes)

        const expected = lines.map((line) => parsed(Buffer.from(line, 'latin1')))
        const good = expected.filter((value) => typeof value === 'object' && value !== null && !Array.isArray(value))
        if (body.kind === 'refused') expect(good).toEqual([])
        else expect(outcomes(body)).toEqual(expect.arrayContaining(good))
      }),
      { numRuns: drawn(1_000) },
    )
  })
})
