import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { readAll, type SpoolFile, type SpoolFiles, writeAll } from './files.js'

/** Everything before this position is delivered. */
export interface Position {
  readonly segment: number
  readonly offset: number
}

const START: Position = { segment: 0, offset: 0 }
const NAME = 'position'
const BYTES = 24

/** Stores how far the spool is drained, in one small file that is overwritten in place. */
export interface PositionFile {
  /** The position when the file was opened; the start if the file was missing or unreadable. */
  readonly saved: Position
  /** Survives a power loss, too: up to a mebibyte was delivered since the last one. @throws the system's error */
  save(position: Position): Promise<void>
  close(): Promise<void>
  /** Closes it and removes it from the disk. */
  remove(): Promise<void>
}

/** @throws the system's error */
export async function openPosition(folder: string, files: SpoolFiles): Promise<PositionFile> {
  const path = join(folder, NAME)
  const exists = (await files.list(folder)).includes(NAME)
  const file = await (exists ? files.open(path) : files.create(path))
  const saved = exists ? await read(file) : START

  return {
    saved,
    async save(position) {
      await writeAll(file, encode(position), 0)
      await file.datasync()
    },
    close: () => file.close(),
    async remove() {
      await file.close()
      await files.remove(path)
    },
  }
}

async function read(file: SpoolFile): Promise<Position> {
  const bytes = Buffer.alloc(BYTES)
  await readAll(file, bytes, 0)
  const position = { segment: Number(bytes.readBigUInt64LE(0)), offset: Number(bytes.readBigUInt64LE(8)) }
  // A wrong position would skip records; restarting from the beginning only repeats some.
  return encode(position).equals(bytes) ? position : START
}

function encode({ segment, offset }: Position): Buffer {
  const bytes = Buffer.alloc(BYTES)
  bytes.writeBigUInt64LE(BigInt(segment), 0)
  bytes.writeBigUInt64LE(BigInt(offset), 8)
  createHash('sha256')
    .update('attribution-spool-position-1')
    .update(bytes.subarray(0, 16))
    .digest()
    .copy(bytes, 16, 0, 8)
  return bytes
}
