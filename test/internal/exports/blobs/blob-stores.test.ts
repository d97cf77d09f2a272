import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BlobStore } from '../../../../internal/exports/blobs/blob-store.js'
import { directoryBlobs } from '../../../../internal/exports/blobs/directory.js'
import { s3Blobs } from '../../../../internal/exports/blobs/s3.js'

/** Both stores have the same contract; the S3 store runs against an S3 server over HTTP. */

const folder = mkdtempSync(join(tmpdir(), 'attribution-blobs-'))
const server = new S3rver({
  address: '127.0.0.1',
  port: 0,
  silent: true,
  directory: join(folder, 's3'),
  configureBuckets: [{ name: 'exports' }],
})
const stores = new Map<string, BlobStore>()
beforeAll(async () => {
  const { port } = await server.run()
  stores.set('directory', directoryBlobs(join(folder, 'directory'), 'eu-central-1'))
  stores.set(
    's3',
    s3Blobs({
      bucket: 'exports',
      endpoint: `http://127.0.0.1:${port}`,
      region: 'eu-central-1',
      accessKey: 'S3RVER',
      secretKey: 'S3RVER',
    }),
  )
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true })
})

const storeNamed = (name: string): BlobStore => stores.get(name) as BlobStore

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function whole(parts: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Uint8Array[] = []
  for await (const part of parts) read.push(part)
  return Buffer.concat(read)
}

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

describe.each(['directory', 's3'])('blobs in %s', (name) => {
  test.each([0, 1, 8 * 1024 * 1024, 20_000_001])('%i bytes come back as they were written', async (size) => {
    const blobs = storeNamed(name)
    const bytes = randomBytes(size)

    const written = await blobs.write(`tnt_a/job_${size}/file`, inPieces(bytes, 700_001))

    expect(written).toBe(size)
    expect(await blobs.size(`tnt_a/job_${size}/file`)).toBe(size)
    expect(digest(await whole(blobs.read(`tnt_a/job_${size}/file`)))).toBe(digest(bytes))
  })

  test('a range returns exactly its bytes, first and last included', async () => {
    const blobs = storeNamed(name)
    await blobs.write('tnt_a/job_r/file', inPieces(Buffer.from('0123456789'), 3))

    expect(String(await whole(blobs.read('tnt_a/job_r/file', { first: 2, last: 5 })))).toBe('2345')
    expect(String(await whole(blobs.read('tnt_a/job_r/file', { first: 9, last: 9 })))).toBe('9')
  })

  test('a write that fails midway leaves only the previous blob', async () => {
    const blobs = storeNamed(name)
    await blobs.write('tnt_a/job_f/file', inPieces(Buffer.from('before'), 6))
    const failing = async function* () {
      yield randomBytes(17 * 1024 * 1024)
      throw new Error('the source failed')
    }

    await expect(blobs.write('tnt_a/job_f/file', failing())).rejects.toThrow('the source failed')

    expect(String(await whole(blobs.read('tnt_a/job_f/file')))).toBe('before')
    if (name === 'directory') expect(readdirSync(join(folder, 'directory/tnt_a/job_f'))).toEqual(['file'])
  })

  test('a repeat of a write replaces the blob', async () => {
    const blobs = storeNamed(name)
    await blobs.write('tnt_a/job_w/file', inPieces(Buffer.from('longer than the second'), 5))
    await blobs.write('tnt_a/job_w/file', inPieces(Buffer.from('second'), 5))

    expect(String(await whole(blobs.read('tnt_a/job_w/file')))).toBe('second')
  })

  test('a blob is created where there is none, and several callers at once leave a whole one', async () => {
    const blobs = storeNamed(name)
    const key = 'tnt_a/job_created/lock'
    const created = await Promise.all(['one', 'two', 'six'].map((text) => blobs.create(key, Buffer.from(text))))
    const again = await blobs.create(key, Buffer.from('again'))

    // The S3 server of this test ignores If-None-Match, as some stores do; the next test has one that does not.
    if (name === 'directory') {
      expect([created.filter((isFirst) => isFirst).length, again]).toEqual([1, false])
      expect(['one', 'two', 'six']).toContain((await whole(blobs.read(key))).toString())
    }
    await blobs.removeUnder('tnt_a/job_created/')
    expect(await blobs.create(key, Buffer.from('new'))).toBe(true)
    expect((await whole(blobs.read(key))).toString()).toBe('new')
  })

  test('exactly the blobs below a prefix are deleted, also if there are none', async () => {
    const blobs = storeNamed(name)
    for (const key of ['tnt_b/job_1/file', 'tnt_b/job_1/parts/0', 'tnt_b/job_12/file']) {
      await blobs.write(key, inPieces(Buffer.from('x'), 1))
    }

    await blobs.removeUnder('tnt_b/job_1/')
    await blobs.removeUnder('tnt_b/job_1/')

    expect(await blobs.size('tnt_b/job_1/file')).toBeUndefined()
    expect(await blobs.size('tnt_b/job_1/parts/0')).toBeUndefined()
    expect(await blobs.size('tnt_b/job_12/file')).toBe(1)
  })

  test('reports its location', () => {
    expect(storeNamed(name).place.region).toBe('eu-central-1')
  })
})

test('a directory store rejects a key outside of it', async () => {
  const blobs = storeNamed('directory')

  await expect(blobs.write('../elsewhere', inPieces(Buffer.from('x'), 1))).rejects.toThrow()
})

test('a directory knows how full its disk is, before its first blob too, and a bucket has no limit', async () => {
  const empty = directoryBlobs(join(folder, 'no', 'export', 'yet'), null)

  expect(await empty.usedShare()).toBeGreaterThan(0)
  expect(await empty.usedShare()).toBeLessThanOrEqual(1)
  expect(await storeNamed('s3').usedShare()).toBeUndefined()
})

test.each([
  ['is there', 412],
  ['is being written by another', 409],
])('a blob is not created in a bucket whose store says that one %s', async (_, status) => {
  const conditions: (string | undefined)[] = []
  const conditional = createServer(async (request, response) => {
    await request.resume().toArray()
    conditions.push(request.headers['if-none-match'])
    response.writeHead(conditions.length === 1 ? 200 : status).end()
  }).listen(0, '127.0.0.1')
  await once(conditional, 'listening')
  try {
    const { port } = conditional.address() as AddressInfo
    const blobs = s3Blobs({
      bucket: 'exports',
      endpoint: `http://127.0.0.1:${port}`,
      region: 'eu-central-1',
      accessKey: 'a',
      secretKey: 'b',
    })
    expect(await blobs.create('lock', Buffer.from('one'))).toBe(true)
    expect(await blobs.create('lock', Buffer.from('two'))).toBe(false)
    expect(conditions).toEqual(['*', '*'])
  } finally {
    conditional.closeAllConnections()
    conditional.close()
  }
})
