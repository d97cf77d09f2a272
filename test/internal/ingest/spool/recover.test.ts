import { copyFile, mkdir, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HEADER_BYTES, statedBytes } from '../../../../internal/ingest/spool/spool-record.js'
import { drawn } from '../../../support/run/rings.js'
import { drained, faultyFiles, open, temporaryFolder, upTo } from '../../../support/spool.js'
import { recordOf } from '../../../support/spool-records.js'

/** A closed spool whose records stand in segments as stated; gives the segments' paths. */
async function spoolWith(folder: string, segments: readonly number[]): Promise<string[]> {
  const { spool } = await open(folder, { segmentBytes: 1 })
  let number = 0
  for (const count of segments) {
    await spool.append(upTo(count, number).map((each) => recordOf(each, 40)))
    number += count
  }
  await spool.close()
  return (await readdir(folder))
    .filter((name) => name.endsWith('.spool'))
    .sort()
    .map((name) => join(folder, name))
}

/** Where each record of a segment begins. */
async function offsetsOf(path: string): Promise<number[]> {
  const bytes = await readFile(path)
  const offsets: number[] = []
  for (let at = 0; at < bytes.length; at += statedBytes(bytes.subarray(at)) ?? bytes.length) offsets.push(at)
  return offsets
}

async function overwrite(path: string, at: number, change: (byte: number) => number): Promise<void> {
  const bytes = await readFile(path)
  bytes[at] = change(bytes[at] ?? 0)
  await writeFile(path, bytes)
}

const flip = (byte: number): number => byte ^ 0x40

describe('a torn tail', () => {
  test('is cut off at whatever byte the last record ends', async () => {
    const original = await temporaryFolder()
    const paths = await spoolWith(original, [2, 3])
    const last = paths[1] ?? ''
    const begin = (await offsetsOf(last))[2] ?? 0
    const { size } = await stat(last)

    for (let cut = begin; cut < size; cut++) {
      const folder = await temporaryFolder()
      for (const path of paths) await copyFile(path, path.replace(original, folder))
      const torn = last.replace(original, folder)
      await truncate(torn, cut)

      const { spool, incidents } = await open(folder)

      expect(spool.count).toBe(4)
      expect((await stat(torn)).size).toBe(begin)
      expect(incidents).toEqual(
        cut === begin ? [] : [{ kind: 'torn_tail_cut', segment: 2, offset: begin, bytes: cut - begin }],
      )
      expect(await spool.append([recordOf(4)])).toEqual({ kind: 'stored' })
      expect(await drained(spool)).toEqual(upTo(5))
    }
  })

  test('may be the whole segment, or zeros that were never written', async () => {
    const folder = await temporaryFolder()
    const [, last = ''] = await spoolWith(folder, [2, 1])
    await writeFile(last, Buffer.alloc(300))

    const { spool, incidents } = await open(folder)

    expect(incidents).toEqual([{ kind: 'torn_tail_cut', segment: 2, offset: 0, bytes: 300 }])
    expect(await drained(spool)).toEqual([0, 1])
  })
})

describe('damage', () => {
  test('of a record costs that record, and is reported by the drain that meets it', async () => {
    const folder = await temporaryFolder()
    const [first = ''] = await spoolWith(folder, [5, 2])
    const offsets = await offsetsOf(first)
    await overwrite(first, (offsets[1] ?? 0) + HEADER_BYTES + 20, flip)
    await overwrite(first, (offsets[2] ?? 0) + HEADER_BYTES + 20, flip)

    const { spool, incidents } = await open(folder)

    expect(spool.count).toBe(5)
    expect(incidents).toEqual([])
    expect(await drained(spool)).toEqual([0, 3, 4, 5, 6])
    expect(incidents).toEqual([
      {
        kind: 'damage_skipped',
        segment: 1,
        offset: offsets[1],
        bytes: (offsets[3] ?? 0) - (offsets[1] ?? 0),
      },
    ])
    expect(spool.isEmpty).toBe(true)
  })

  test('of a length costs the rest of the segment', async () => {
    const folder = await temporaryFolder()
    const [first = ''] = await spoolWith(folder, [5, 2])
    const offsets = await offsetsOf(first)
    await overwrite(first, (offsets[2] ?? 0) + 3, () => 0xff)

    const { spool, incidents } = await open(folder)

    expect(await drained(spool)).toEqual([0, 1, 5, 6])
    expect(incidents).toMatchObject([{ kind: 'damage_skipped', segment: 1, offset: offsets[2] }])
  })

  test('in the middle of the last segment does not cut what stands behind it', async () => {
    const folder = await temporaryFolder()
    const [first = ''] = await spoolWith(folder, [5])
    await overwrite(first, ((await offsetsOf(first))[2] ?? 0) + HEADER_BYTES + 9, flip)

    const { spool } = await open(folder)

    expect(await drained(spool)).toEqual([0, 1, 3, 4])
  })

  test('of the position repeats the segment, and loses nothing', async () => {
    const folder = await temporaryFolder()
    await spoolWith(folder, [3])
    const before = await open(folder)
    await drained(before.spool, 2)
    await before.spool.close()
    await overwrite(join(folder, 'position'), 3, flip)

    const { spool } = await open(folder)

    expect(await drained(spool)).toEqual([0, 1, 2])
  })

  test('of any bytes loses at most what follows in that segment, alters nothing and never throws', async () => {
    const original = await temporaryFolder()
    const paths = await spoolWith(original, [4, 4, 4])
    const { size } = await stat(paths[0] ?? '')
    const change = fc.record({
      segment: fc.nat({ max: 2 }),
      at: fc.nat({ max: size - 1 }),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 30 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        const folder = await temporaryFolder()
        for (const path of paths) await copyFile(path, path.replace(original, folder))
        for (const { segment, at, bytes } of changes) {
          const path = (paths[segment] ?? '').replace(original, folder)
          const content = await readFile(path)
          content.set(bytes.subarray(0, content.length - at), at)
          await writeFile(path, content)
        }

        const { spool } = await open(folder)
        const numbers = await drained(spool) // throws when one is altered
        await spool.close()

        const untouched = upTo(3).filter((segment) => changes.every((one) => one.segment !== segment))
        const safe = untouched.flatMap((segment) => upTo(4, segment * 4))
        expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
        expect(new Set(numbers).size).toBe(numbers.length)
        expect(numbers).toEqual(expect.arrayContaining(safe))
      }),
      { numRuns: drawn(60) },
    )
  })
})

test('segments that were delivered and not yet removed are not delivered again', async () => {
  const folder = await temporaryFolder()
  await spoolWith(folder, [2, 2])
  // The process dies between delivery and removal.
  const files = faultyFiles({
    remove: () => {
      throw new Error('died here')
    },
  })
  const before = await open(folder, { files })
  expect(await drained(before.spool)).toEqual([0, 1])
  await before.spool.close()

  const { spool } = await open(folder)

  expect(spool.count).toBe(2)
  expect(await drained(spool)).toEqual([2, 3])
})

test('a new segment never counts as delivered', async () => {
  const folder = await temporaryFolder()
  await spoolWith(folder, [2, 2])
  const before = await open(folder)
  await drained(before.spool, 3)
  await before.spool.close()
  const between = await open(folder)
  await between.spool.append([recordOf(4)])
  expect(await drained(between.spool, 1)).toEqual([3])
  await between.spool.close()

  const { spool } = await open(folder)

  expect(await drained(spool)).toEqual([4])
})

test('foreign files in the folder are left alone', async () => {
  const folder = await temporaryFolder()
  await spoolWith(folder, [1])
  await writeFile(join(folder, 'notes.txt'), 'x')
  await mkdir(join(folder, 'kept'))

  const { spool } = await open(folder)
  expect(await drained(spool)).toEqual([0])
  await spool.close()

  expect((await readdir(folder)).sort()).toEqual(['kept', 'notes.txt'])
})
