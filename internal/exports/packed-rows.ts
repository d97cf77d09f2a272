import { once } from 'node:events'
import { createGunzip } from 'node:zlib'
import { ExportFailed } from './unavailable.js'

const LINE_FEED = 0x0a
/** Chunk size when decompressing rows. */
const PIECE_BYTES = 256 * 1024

/**
 * Streams a gzip member (RFC 1952) of CSV lines through unchanged and counts its rows, so that the rows actually in the
 * file are counted. Values contain no control characters, so every line feed ends a row. Empty input has no rows.
 *
 * @param counted receives the number of rows at the end
 * @throws ExportFailed when the input is not a complete gzip member; also any error of the source
 */
export async function* countingRows(
  packed: AsyncIterable<Uint8Array>,
  counted: { rows: number },
): AsyncGenerator<Uint8Array> {
  const unpacking = createGunzip({ chunkSize: PIECE_BYTES })
  unpacking.on('data', (lines: Buffer) => {
    for (let at = lines.indexOf(LINE_FEED); at >= 0; at = lines.indexOf(LINE_FEED, at + 1)) counted.rows++
  })
  const ended = once(unpacking, 'end')
  // The error is thrown where `ended` is awaited below.
  ended.catch(() => undefined)
  try {
    let bytes = 0
    for await (const part of packed) {
      // The write callback is never called for bytes that cannot be decompressed.
      await unpacked(Promise.race([ended, new Promise((done) => unpacking.write(part, done))]))
      bytes += part.length
      yield part
    }
    if (bytes === 0) return
    unpacking.end()
    await unpacked(ended)
  } finally {
    unpacking.destroy()
  }
}

async function unpacked(work: Promise<unknown>): Promise<void> {
  await work.catch((cause: unknown) => {
    throw new ExportFailed('internal_error', { cause })
  })
}
