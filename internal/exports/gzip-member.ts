import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createGzip } from 'node:zlib'

/** Lines of a table repeat most of what they say: the fastest level packs them nearly as well as the best. */
const LEVEL = constants.Z_BEST_SPEED
const BLOCK_BYTES = 256 * 1024

/**
 * Packs bytes into one gzip member (RFC 1952). Members that follow each other are one file. The same bytes give the same
 * member, however they come: the packer gets them in blocks of one size.
 */
export async function* gzipMember(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: LEVEL, chunkSize: BLOCK_BYTES })
  const fed = pipeline(Readable.from(inBlocks(parts), { objectMode: false, highWaterMark: 2 * BLOCK_BYTES }), gzip)
  // Its failure also ends the loop.
  fed.catch(() => undefined)
  for await (const packed of gzip) yield packed as Uint8Array
  await fed
}

async function* inBlocks(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let block = Buffer.allocUnsafe(BLOCK_BYTES)
  let filled = 0
  for await (const part of parts) {
    for (let at = 0; at < part.length; ) {
      const taken = part.subarray(at, at + BLOCK_BYTES - filled)
      block.set(taken, filled)
      at += taken.length
      filled += taken.length
      if (filled < BLOCK_BYTES) continue
      yield block
      // The packer may still read the one before.
      block = Buffer.allocUnsafe(BLOCK_BYTES)
      filled = 0
    }
  }
  if (filled > 0) yield block.subarray(0, filled)
}
