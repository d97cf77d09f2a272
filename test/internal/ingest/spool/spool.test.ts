import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { oneByOne, type Spool } from '../../../../internal/ingest/spool/spool.js'
import { encodeRecord, RECORD_BYTES_MAX } from '../../../../internal/ingest/spool/spool-record.js'
import { drawn } from '../../../support/run/rings.js'
import { drained, faultyFiles, open, takeAll, temporaryFolder, upTo } from '../../../support/spool.js'
import { numberOf, recordOf } from '../../../support/spool-records.js'

const bytesOf = (number: number): number => encodeRecord(recordOf(number))?.length ?? 0

const appendAll = (spool: Spool, numbers: readonly number[]) =>
  Promise.all(numbers.map((number) => spool.append([recordOf(number)])))

const segmentsIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.endsWith('.spool')).sort()

describe('appending', () => {
  test('records come out as they went in, in order', async () => {
    const { spool } = await open(await temporaryFolder())

    const answers = await appendAll(spool, upTo(100))

    expect(answers).toEqual(answers.map(() => ({ kind: 'stored' })))
    expect(spool.count).toBe(100)
    expect(await drained(spool)).toEqual(upTo(100))
    expect(spool.isEmpty).toBe(true)
  })

  test('appends that arrive during an fsync share the next one', async () => {
    let syncs = 0
    const files = faultyFiles({ datasync: () => void syncs++ })
    const { spool } = await open(await temporaryFolder(), { files })

    const first = spool.append([recordOf(0)])
    // The write of the first begins at the end of this turn; from then on the others come.
    await Promise.resolve()
    const others = appendAll(spool, upTo(500, 1))
    await Promise.all([first, others])

    expect(syncs).toBe(2)
    expect(await drained(spool)).toEqual(upTo(501))
  })

  test('several records of one append are stored together', async () => {
    const { spool } = await open(await temporaryFolder())

    expect(await spool.append(upTo(3).map((number) => recordOf(number)))).toEqual({ kind: 'stored' })
    expect(await spool.append([])).toEqual({ kind: 'stored' })

    expect(spool.count).toBe(3)
  })

  test('a record that no segment could hold is refused alone', async () => {
    const { spool } = await open(await temporaryFolder())

    const answer = await spool.append([recordOf(1, RECORD_BYTES_MAX)])

    expect(answer).toMatchObject({ kind: 'failed', error: expect.any(RangeError) })
    expect(await spool.append([recordOf(2)])).toEqual({ kind: 'stored' })
  })
})

describe('the limit', () => {
  test('is exact, and says full at once', async () => {
    const bytesMax = bytesOf(0) + bytesOf(1)
    const { spool } = await open(await temporaryFolder(), { bytesMax })

    const answers = await appendAll(spool, [0, 1, 2])

    expect(answers.map(({ kind }) => kind)).toEqual(['stored', 'stored', 'full'])
    expect(spool.bytes).toBe(bytesMax)
    expect(await drained(spool)).toEqual([0, 1])
  })

  test('counts what is on disk, also after a restart', async () => {
    const folder = await temporaryFolder()
    const bytesMax = bytesOf(0) + bytesOf(1)
    const before = await open(folder, { bytesMax })
    await appendAll(before.spool, [0, 1])
    await before.spool.close()

    const { spool } = await open(folder, { bytesMax })

    expect(spool.bytes).toBe(bytesMax)
    expect(await spool.append([recordOf(2)])).toEqual({ kind: 'full' })
  })

  test('a full spool has room again when it is drained', async () => {
    const { spool } = await open(await temporaryFolder(), { bytesMax: bytesOf(0) })
    await appendAll(spool, [0])

    expect(await spool.append([recordOf(0)])).toEqual({ kind: 'full' })
    expect(spool.hasCapacityFor(1)).toBe(false)
    await drained(spool)

    expect(spool.bytes).toBe(0)
    expect([bytesOf(0), bytesOf(0) + 1].map((bytes) => spool.hasCapacityFor(bytes))).toEqual([true, false])
    expect(await spool.append([recordOf(0)])).toEqual({ kind: 'stored' })
  })
})

describe('segments', () => {
  test('hold at most the stated bytes, unless one append alone has more', async () => {
    const folder = await temporaryFolder()
    const { spool } = await open(folder, { segmentBytes: 1_000 })

    for (const number of upTo(20)) await spool.append([recordOf(number, 200)])
    await spool.append([recordOf(20, 5_000)])

    const sizes = await Promise.all(
      (await segmentsIn(folder)).map(async (name) => (await stat(join(folder, name))).size),
    )
    expect(sizes).toHaveLength(6)
    expect(sizes.slice(0, 5).every((size) => size <= 1_000)).toBe(true)
    expect(spool.bytes).toBe(sizes.reduce((sum, size) => sum + size, 0))
  })

  test('are removed as soon as they are delivered', async () => {
    const folder = await temporaryFolder()
    const { spool } = await open(folder, { segmentBytes: 1_000 })
    for (const number of upTo(20)) await spool.append([recordOf(number, 200)])
    const atFirst = await segmentsIn(folder)

    await drained(spool, 9)
    expect(await segmentsIn(folder)).toEqual(atFirst.slice(2))

    await drained(spool)
    expect(await segmentsIn(folder)).toEqual([])
  })
})

describe('draining', () => {
  test('stops at the first refusal and begins with the refused record again', async () => {
    const { spool } = await open(await temporaryFolder())
    await appendAll(spool, upTo(10))
    const asked: number[] = []

    const result = await spool.drain(
      oneByOne(async (record) => {
        asked.push(numberOf(record))
        return asked.length < 4
      }),
    )

    expect(result).toEqual({ kind: 'refused', delivered: 3 })
    expect(asked).toEqual([0, 1, 2, 3])
    expect(spool.count).toBe(7)
    expect(await drained(spool)).toEqual(upTo(7, 3))
  })

  test('stops when the delivery throws, and keeps the record', async () => {
    const { spool } = await open(await temporaryFolder())
    await appendAll(spool, upTo(2))

    const result = await spool.drain(() => Promise.reject(new Error('the connection is gone')))

    expect(result).toMatchObject({ kind: 'failed', delivered: 0, error: { message: 'the connection is gone' } })
    expect(await drained(spool)).toEqual([0, 1])
  })

  test('is durable with each delivery: a power cut repeats no earlier one', async () => {
    const synced: string[] = []
    const files = faultyFiles({ datasync: (path) => void synced.push(basename(path)) })
    const { spool } = await open(await temporaryFolder(), { files })
    await spool.append(upTo(3).map((number) => recordOf(number, 1_100_000)))
    const before: number[] = []

    await spool.drain(async (records) => {
      before.push(synced.filter((name) => name === 'position').length)
      return records.length
    })

    expect(before).toEqual([0, 1, 2])
  })

  test('of an empty spool delivers nothing', async () => {
    const { spool } = await open(await temporaryFolder())

    expect(await spool.drain(takeAll)).toEqual({ kind: 'empty', delivered: 0 })
  })

  test('happens once at a time', async () => {
    const { spool } = await open(await temporaryFolder())
    await appendAll(spool, [1])
    const running = spool.drain(takeAll)

    expect(() => spool.drain(takeAll)).toThrow('already being drained')

    await running
  })

  test('records appended meanwhile are delivered last, in the same drain', async () => {
    const { spool } = await open(await temporaryFolder(), { segmentBytes: 2_000 })
    await appendAll(spool, upTo(10))
    const taken: number[] = []
    const appends: Promise<unknown>[] = []

    const result = await spool.drain(
      oneByOne(async (record) => {
        taken.push(numberOf(record))
        if (taken.length <= 50) appends.push(appendAll(spool, [2 * taken.length + 8, 2 * taken.length + 9]))
        return true
      }),
    )

    await Promise.all(appends)
    expect(result).toEqual({ kind: 'empty', delivered: 110 })
    expect(taken).toEqual(upTo(110))
    expect(spool.bytes).toBe(0)
  })

  test('goes on after a restart where it stopped', async () => {
    const folder = await temporaryFolder()
    const before = await open(folder, { segmentBytes: 2_000 })
    await appendAll(before.spool, upTo(50))
    expect(await drained(before.spool, 23)).toEqual(upTo(23))
    await before.spool.close()

    const { spool, incidents } = await open(folder)

    expect(spool.count).toBe(27)
    expect(await drained(spool)).toEqual(upTo(27, 23))
    expect(incidents).toEqual([])
  })
})

describe('closing', () => {
  test('waits for what is being appended', async () => {
    const folder = await temporaryFolder()
    const before = await open(folder)
    const appending = appendAll(before.spool, upTo(20))

    await before.spool.close()

    expect((await appending).every(({ kind }) => kind === 'stored')).toBe(true)
    const { spool } = await open(folder)
    expect(await drained(spool)).toEqual(upTo(20))
  })

  test('stops a drain between two deliveries', async () => {
    const { spool } = await open(await temporaryFolder())
    for (const number of upTo(3)) await spool.append([recordOf(number, 600_000)])
    let closing: Promise<void> | undefined

    const result = await spool.drain(async (records) => {
      closing = spool.close()
      return records.length
    })

    await closing
    expect(result).toEqual({ kind: 'closed', delivered: 2 })
    expect(await spool.append([recordOf(9)])).toMatchObject({ kind: 'failed' })
  })

  test('removes the folder of an empty spool, and no other', async () => {
    const parent = await temporaryFolder()
    const empty = await open(join(parent, 'empty'))
    const emptied = await open(join(parent, 'emptied'))
    await appendAll(emptied.spool, [1])
    await drained(emptied.spool)
    const holding = await open(join(parent, 'holding'))
    await appendAll(holding.spool, [1])

    for (const { spool } of [empty, emptied, holding]) await spool.close()

    expect(await readdir(parent)).toEqual(['holding'])
  })
})

test('any mix of appends, drains and restarts delivers each record once and in order', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('append' as const), count: fc.integer({ min: 1, max: 12 }) }),
    fc.record({ kind: fc.constant('drain' as const), count: fc.integer({ min: 0, max: 15 }) }),
    fc.record({ kind: fc.constant('restart' as const) }),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 15 }),
      fc.integer({ min: 1, max: 3_000 }),
      async (steps, segmentBytes) => {
        const folder = join(await temporaryFolder(), 'spool')
        let { spool } = await open(folder, { segmentBytes })
        let appended = 0
        const taken: number[] = []

        for (const now of steps) {
          if (now.kind === 'append') {
            await appendAll(spool, upTo(now.count, appended))
            appended += now.count
          } else if (now.kind === 'drain') {
            taken.push(...(await drained(spool, now.count)))
          } else {
            await spool.close()
            spool = (await open(folder, { segmentBytes })).spool
          }
          expect(spool.count).toBe(appended - taken.length)
        }
        taken.push(...(await drained(spool)))
        await spool.close()

        expect(taken).toEqual(upTo(appended))
      },
    ),
    { numRuns: drawn(40) },
  )
})
