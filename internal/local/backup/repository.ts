import { createHash } from 'node:crypto'
import { ConfigError } from '../../config/settings.js'
import type { BlobStore } from '../../exports/blobs/blob-store.js'
import { type Blob, blobsOf, type IndexEntry, type Manifest, type SignedManifest } from './backup-manifest.js'

/**
 * The place of backups: a folder or a bucket. Parts of tables are stored once for all backups that have them
 * (`parts/`); the rest of a backup is in a folder of its own. A backup exists once it is in the index, which is written
 * last.
 */
export class Repository {
  private readonly blobs: BlobStore

  constructor(blobs: BlobStore) {
    this.blobs = blobs
  }

  /** Oldest first. @throws ConfigError when something else is there */
  async list(): Promise<readonly IndexEntry[]> {
    if ((await this.blobs.size(INDEX)) === undefined) return []
    const { format, backups } = parsed<Index>('the index of the backups', await this.bytes(INDEX))
    if (format !== 1) throw new ConfigError(`the index of the backups has the unknown format ${format}`)
    return backups
  }

  /** @param id of one, or undefined for the newest. @throws ConfigError when there is none */
  async manifest(id: string | undefined): Promise<Manifest> {
    return (await this.signed(id)).manifest
  }

  /** The same with its signature, which the caller has to check. @throws ConfigError also when another is in its place */
  async signed(id: string | undefined): Promise<SignedManifest> {
    const backups = await this.list()
    const found = id === undefined ? backups.at(-1) : backups.find((each) => each.id === id)
    if (found === undefined) throw new ConfigError(id === undefined ? 'there is no backup' : `there is no backup ${id}`)
    const bytes = await this.bytesOf(found.manifest)
    const manifest = parsed<Manifest>(`the manifest of the backup ${found.id}`, bytes)
    if (manifest.id !== found.id)
      throw new ConfigError(`the index has the backup ${manifest.id} in place of ${found.id}`)
    return { manifest, bytes, signature: found.signature }
  }

  async write(key: string, parts: AsyncIterable<Uint8Array>): Promise<Blob> {
    const hash = createHash('sha256')
    const bytes = await this.blobs.write(key, tapped(parts, hash))
    return { key, bytes, sha256: hash.digest('hex') }
  }

  /** Whether a blob is there in its size. */
  async has({ key, bytes }: Blob): Promise<boolean> {
    return (await this.blobs.size(key)) === bytes
  }

  /** @throws Error at the end when it is not what was written */
  async *read({ key, bytes, sha256 }: Blob): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256')
    let read = 0
    for await (const part of tapped(this.blobs.read(key), hash)) {
      read += part.length
      yield part
    }
    if (read !== bytes || hash.digest('hex') !== sha256)
      throw new Error(`${key} is damaged: not the bytes that were written`)
  }

  /** Of a small blob. @throws Error when it is not what was written */
  async bytesOf(blob: Blob): Promise<Buffer> {
    const parts: Uint8Array[] = []
    for await (const part of this.read(blob)) parts.push(part)
    return Buffer.concat(parts)
  }

  async add(manifest: Manifest, newBytes: number, sign: (manifest: Uint8Array) => string): Promise<IndexEntry> {
    const backups = await this.list()
    const { id, consistent_at, service_version, records } = manifest
    const text = Buffer.from(JSON.stringify(manifest))
    const written = await this.write(`${id}/manifest.json`, once(text))
    const bytes = [written, ...blobsOf(manifest)].reduce((sum, blob) => sum + blob.bytes, 0)
    const entry: IndexEntry = {
      ...{ id, consistent_at, service_version, records, bytes },
      ...{ new_bytes: newBytes + written.bytes, manifest: written, signature: sign(text) },
    }
    await this.writeIndex([...backups, entry])
    return entry
  }

  /**
   * Removes all but the newest backups, and the parts that no other has.
   *
   * @returns the ids of those removed
   */
  async prune(keep: number): Promise<readonly string[]> {
    const backups = await this.list()
    const [gone, kept] = [backups.slice(0, -keep), backups.slice(-keep)]
    if (gone.length === 0) return []
    const partsOf = async (entries: readonly IndexEntry[]) =>
      new Set(
        (await Promise.all(entries.map(({ id }) => this.manifest(id)))).flatMap(({ parts }) =>
          parts.map(({ key }) => key),
        ),
      )
    const [unneeded, needed] = [await partsOf(gone), await partsOf(kept)]
    // No backup is listed whose parts are being removed.
    await this.writeIndex(kept)
    for (const key of unneeded)
      if (!needed.has(key)) await this.blobs.removeUnder(`${key.slice(0, key.lastIndexOf('/'))}/`)
    for (const { id } of gone) await this.blobs.removeUnder(`${id}/`)
    return gone.map(({ id }) => id)
  }

  private writeIndex(backups: readonly IndexEntry[]): Promise<number> {
    return this.blobs.write(INDEX, once(Buffer.from(JSON.stringify({ format: 1, backups } satisfies Index))))
  }

  private async bytes(key: string): Promise<Buffer> {
    const parts: Uint8Array[] = []
    for await (const part of this.blobs.read(key)) parts.push(part)
    return Buffer.concat(parts)
  }
}

function parsed<T>(what: string, bytes: Buffer): T {
  try {
    return JSON.parse(bytes.toString('utf8')) as T
  } catch (cause) {
    throw new ConfigError(`${what} is damaged: it is not the JSON that was written`, { cause })
  }
}

const INDEX = 'index.json'

interface Index {
  readonly format: number
  readonly backups: readonly IndexEntry[]
}

export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

async function* tapped(
  parts: AsyncIterable<Uint8Array>,
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<Uint8Array> {
  for await (const part of parts) {
    hash.update(part)
    yield part
  }
}
