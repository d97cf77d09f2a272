import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { GrowingBytes } from '../../../../internal/ingest/bodies/growing-bytes.js'
import { JsonObjects } from '../../../../internal/ingest/bodies/json-objects.js'
import { ZstdUnpacker } from '../../../../internal/ingest/bodies/zstd.js'
import { findElements } from '../../../../internal/ingest/bulk/body-elements.js'
import { EventRanges } from '../../../../internal/ingest/bulk/event-ranges.js'
import { JsonScanner, NotJson } from '../../../../internal/text/json-scanner.js'
import { drawn } from '../../../support/run/rings.js'

/** Whatever a body holds, its bytes are read a few times at most: packed, a body of many MB costs its sender nothing. */

let bytesRead = 0

/** Of a method that passes over what it reads, or fails where it is. */
function countsScanned(name: 'skip' | 'elementEnd'): void {
  const scan = JsonScanner.prototype[name] as (this: JsonScanner, from: number) => number | undefined
  vi.spyOn(JsonScanner.prototype, name).mockImplementation(function (this: JsonScanner, from = this.at) {
    try {
      const end = scan.call(this, from)
      bytesRead += (end ?? this.at) - from
      return end as number
    } catch (cause) {
      if (cause instanceof NotJson) bytesRead += cause.at - from
      throw cause
    }
  })
}

beforeEach(() => {
  bytesRead = 0
  countsScanned('skip')
  countsScanned('elementEnd')
  // What it reads twice, it copies again.
  const copied = JsonObjects.prototype as unknown as { copy(bytes: Buffer): void }
  const { copy } = copied
  vi.spyOn(copied, 'copy').mockImplementation(function (this: typeof copied, bytes) {
    bytesRead += bytes.length
    copy.call(this, bytes)
  })
  return () => vi.restoreAllMocks()
})

async function readInBulk(body: string, isLines: boolean): Promise<number> {
  bytesRead = 0
  await findElements(Buffer.from(body), 0, isLines, new EventRanges())
  return bytesRead
}

function readAtIntake(body: string): number {
  bytesRead = 0
  const copy = new JsonObjects(new GrowingBytes(), { members: new Map([['a', 'scalar']]) })
  for (let at = 0; at < body.length; at += 4_096) copy.write(Buffer.from(body.slice(at, at + 4_096)))
  copy.end()
  return bytesRead
}

/** As a multiple of the body: the budget of all of it and that of its lines, each with a look that goes beyond. */
const READ_MAX = 14

test.each([10, 100, 400])(
  '%i objects that are open at the end of a body are not each read to its end',
  async (count) => {
    const bodies = ['0,', ' ', '\n'].map(
      (filler) => `{"a":1},{"a":2}\n${'{"a":[0,'.repeat(count)}${filler.repeat(50_000)}:`,
    )
    for (const body of bodies) {
      for (const isLines of [true, false]) {
        expect((await readInBulk(body, isLines)) / body.length).toBeLessThan(READ_MAX)
      }
      expect(readAtIntake(body) / body.length).toBeLessThan(READ_MAX)
    }
  },
)

test('lines of many objects that do not end are not each read again and again', async () => {
  const line = `${'{"a":[0,'.repeat(300)}${'0,'.repeat(5_000)}:\n`
  const body = `{"a":1},{"a":2}\n${line.repeat(60)}`

  expect((await readInBulk(body, true)) / body.length).toBeLessThan(READ_MAX)
})

const PARTS = [
  '{"a":[0,',
  '{"a":',
  ',{"a":{"b":1}',
  '{"a":0 0,"',
  '},{"',
  '{"a":"x',
  '"',
  ':',
  '[',
  ']',
  '}',
  '\n',
  '\n{"a":',
]
const FILLERS = ['0,', ' ', 'x', '\n', '"",', '\\', '{},']

test('any openings, fillers and ends are read a few times at most', async () => {
  const openings = fc.array(fc.tuple(fc.constantFrom(...PARTS), fc.nat({ max: 300 })), { minLength: 1, maxLength: 4 })
  const shape = fc.record({
    isSeveral: fc.boolean(),
    openings,
    filler: fc.constantFrom(...FILLERS),
    end: fc.constantFrom('', ...PARTS),
    lines: fc.constantFrom(1, 1, 20),
  })
  await fc.assert(
    fc.asyncProperty(shape, async ({ isSeveral, openings, filler, end, lines }) => {
      const opening = openings.map(([part, count]) => part.repeat(count)).join('')
      const line = `${opening}${filler.repeat(6_000 / lines)}${end}\n`
      const body = (isSeveral ? '{"a":1},{"a":2}\n' : '{') + line.repeat(lines)

      for (const isLines of [true, false]) {
        expect((await readInBulk(body, isLines)) / body.length).toBeLessThan(READ_MAX)
      }
      expect(readAtIntake(body) / body.length).toBeLessThan(READ_MAX)
    }),
    { numRuns: drawn(100) },
  )
})

test.each([
  ['a list in a list', `[${'['.repeat(900)}:${'}'.repeat(20_000)}`],
  ['a list in an object', `{"a":${'['.repeat(900)}:${']}'.repeat(20)}${'['.repeat(900)}${'}'.repeat(20_000)}`],
])('a bracket that closes nothing is not compared with all that are open: %s', (_, body) => {
  const copy = new JsonObjects(new GrowingBytes(), { members: new Map() })
  const open = copy as unknown as { brackets: Uint8Array }
  let compared = 0
  open.brackets = new Proxy(open.brackets, {
    get(brackets, at) {
      compared++
      return Reflect.get(brackets, at)
    },
  })
  copy.write(Buffer.from(body))

  expect(compared / body.length).toBeLessThan(4)
})

test('a block in zstd that comes byte by byte is not copied with each', async () => {
  let copied = 0
  const { add } = GrowingBytes.prototype
  vi.spyOn(GrowingBytes.prototype, 'add').mockImplementation(function (
    this: GrowingBytes,
    bytes,
    from = 0,
    end = bytes.length,
  ) {
    copied += end - from
    add.call(this, bytes, from, end)
  })
  const { concat } = Buffer
  vi.spyOn(Buffer, 'concat').mockImplementation((parts, ...rest) => {
    copied += parts.reduce((sum, { length }) => sum + length, 0)
    return concat(parts, ...rest)
  })
  const block = Buffer.alloc(50_003, 'x')
  block.writeUIntLE(50_000 * 8 + 1, 0, 3)
  const unpacker = new ZstdUnpacker()
  for (const byte of [0x28, 0xb5, 0x2f, 0xfd, 0, 13 << 3, ...block]) unpacker.write(Buffer.from([byte]))
  unpacker.end()

  expect(await bytesOf(unpacker)).toBe(50_000)
  expect(copied).toBeLessThan(2 * block.length)
})

async function bytesOf(stream: AsyncIterable<Buffer>): Promise<number> {
  let bytes = 0
  for await (const piece of stream) bytes += piece.length
  return bytes
}
