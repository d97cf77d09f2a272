import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import { beforeAll, describe, expect, test } from 'vitest'
import type { BlobStore } from '../../../../internal/exports/blobs/blob-store.js'
import type { Manifest } from '../../../../internal/local/backup/backup-manifest.js'
import { openPlace } from '../../../../internal/local/backup/backup-place.js'
import { once, Repository } from '../../../../internal/local/backup/repository.js'
import { faultsOf } from '../../../../internal/local/backup/verify-backup.js'
import { atEnd } from '../../../support/run/at-end.js'

/** Backups in a folder, and in a bucket of a real S3 server. */

const folder = mkdtempSync(join(tmpdir(), 'attribution-backups-'))
const places = new Map<string, BlobStore>()
beforeAll(async () => {
  const directory = join(folder, 's3')
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: 'b' }],
  })
  const { port } = await server.run()
  atEnd(async () => {
    await server.close()
    rmSync(folder, { recursive: true })
  })
  process.env['AWS_ACCESS_KEY_ID'] = 'S3RVER'
  process.env['AWS_SECRET_ACCESS_KEY'] = 'S3RVER'
  const s3 = { endpoint: `http://127.0.0.1:${port}`, region: 'eu-central-1' }
  places.set('a folder', await openPlace(join(folder, 'backups'), s3))
  places.set('a bucket', await openPlace('s3://b/some/prefix/', s3))
})

describe.each(['a folder', 'a bucket'])('in %s', (name) => {
  const blobs = (): BlobStore => places.get(name) as BlobStore

  async function backUp(repository: Repository, id: string, parts: readonly string[]): Promise<Manifest> {
    const blob = (key: string, text: string) => repository.write(key, once(Buffer.from(text)))
    const manifest: Manifest = {
      format: 1,
      id,
      service_version: '1.0.0',
      consistent_at: '2026-11-26T12:00:00.000Z',
      schema_version: 31,
      records: parts.length,
      cost_usd: '0',
      master_key_id: 'abcdefgh',
      keys: null,
      files: await blob(`${id}/files`, 'files'),
      links: [],
      parts: await Promise.all(
        parts.map(async (part) => ({ ...(await blob(`parts/${part}/part`, part)), path: `store/${part}` })),
      ),
      streams: [],
      tails: await blob(`${id}/tails`, ''),
    }
    await repository.add(manifest, 0, () => 'f00d')
    return manifest
  }

  test('backups are listed in order, read back, and share parts; pruning removes what no other needs', async () => {
    const repository = new Repository(blobs())
    expect(await repository.list()).toEqual([])
    await expect(repository.manifest(undefined)).rejects.toThrow('there is no backup')

    await backUp(repository, 'first', ['one', 'shared'])
    const second = await backUp(repository, 'second', ['shared', 'two'])
    const third = await backUp(repository, 'third', ['shared', 'three'])

    expect((await repository.list()).map(({ id }) => id)).toEqual(['first', 'second', 'third'])
    expect(await repository.manifest(undefined)).toEqual(third)
    expect(await repository.manifest('second')).toEqual(second)
    await expect(repository.manifest('none')).rejects.toThrow('there is no backup none')

    expect(await repository.prune(2)).toEqual(['first'])
    expect(await repository.prune(2)).toEqual([])
    expect(await blobs().size('parts/one/part')).toBeUndefined()
    expect(await blobs().size('first/files')).toBeUndefined()
    for (const manifest of [second, third]) expect(await faultsOf(manifest, repository)).toEqual([])
  })

  test('what was changed or is missing is found', async () => {
    const repository = new Repository(blobs())
    const manifest = await backUp(repository, 'damaged', ['kept', 'changed', 'gone'])
    await blobs().write('parts/changed/part', once(Buffer.from('CHANGED')))
    await blobs().removeUnder('parts/gone/')

    expect(await faultsOf(manifest, repository)).toEqual([
      'parts/changed/part is damaged: not the bytes that were written',
      'parts/gone/part is missing or has another size',
    ])
  })
})
