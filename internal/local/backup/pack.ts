import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** A file of a pack: from a disk, or from memory. */
export interface Packed {
  /** Relative to the folder that the pack is of. */
  readonly path: string
  readonly bytes: number
  readonly content: string | Uint8Array
}

/**
 * Several files as one blob: a line of JSON with their paths and sizes, then their bytes in the same order.
 *
 * @param files a text as content names a file
 */
export async function* pack(files: readonly Packed[]): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${JSON.stringify(files.map(({ path, bytes }) => [path, bytes]))}\n`)
  for (const { content, bytes } of files) {
    if (bytes === 0) continue
    if (typeof content !== 'string') yield content
    // As long as it was when the pack's first line was written.
    else yield* createReadStream(content, { end: bytes - 1, highWaterMark: 256 * 1024 })
  }
}

/** Writes the files of a pack below a folder. @throws Error when it is no pack, or a path leads out of the folder */
export async function unpack(parts: AsyncIterable<Uint8Array>, folder: string): Promise<void> {
  const reader = new Reader(parts)
  const files = JSON.parse((await reader.line()).toString('utf8')) as readonly (readonly [
    path: string,
    bytes: number,
  ])[]
  const root = resolve(folder)
  for (const [path, bytes] of files) {
    const file = join(root, path)
    if (!file.startsWith(root + sep)) throw new Error(`a backup has a file outside of its folder: ${path}`)
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    const stream = createWriteStream(file, { mode: 0o600, flush: true })
    await pipeline(Readable.from(reader.next(bytes), { objectMode: false }), stream)
  }
  await reader.end()
}

class Reader {
  private readonly parts: AsyncIterator<Uint8Array>
  private rest: Uint8Array = new Uint8Array()

  constructor(parts: AsyncIterable<Uint8Array>) {
    this.parts = parts[Symbol.asyncIterator]()
  }

  async line(): Promise<Buffer> {
    const found: Uint8Array[] = []
    for (;;) {
      const at = this.rest.indexOf(LINE_FEED)
      if (at >= 0) {
        found.push(this.rest.subarray(0, at))
        this.rest = this.rest.subarray(at + 1)
        return Buffer.concat(found)
      }
      found.push(this.rest)
      if (!(await this.more())) throw new Error('a pack of a backup has no list of its files')
    }
  }

  async *next(bytes: number): AsyncGenerator<Uint8Array> {
    for (let missing = bytes; missing > 0; ) {
      if (this.rest.length === 0 && !(await this.more())) throw new Error('a pack of a backup ends early')
      const part = this.rest.subarray(0, missing)
      this.rest = this.rest.subarray(part.length)
      missing -= part.length
      yield part
    }
  }

  /** Reads to the end, where the bytes are checked. */
  async end(): Promise<void> {
    if (this.rest.length > 0 || (await this.more())) throw new Error('a pack of a backup has more than its files')
  }

  private async more(): Promise<boolean> {
    const { done, value } = await this.parts.next()
    if (done === true) return false
    this.rest = value
    return value.length > 0 || this.more()
  }
}

const LINE_FEED = 10
