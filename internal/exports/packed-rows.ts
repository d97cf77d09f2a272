import { once } from 'node:events'
import { createGunzip } from 'node:zlib'
import { ExportFailed } from './unavailable.js'

const LINE_FEED = 0x0a
/** Rows are unpacked in pieces of so many bytes. */
const PIECE_BYTES = 256 * 1024

/**
 * Passes a gzip member (RFC 1952) of CSV lines on as it comes, and counts its rows: those that lie in the file, not those
 * that were asked for. Texts hold no control characters, so that each line feed ends a row. No bytes are no rows.
 *
 * @param counted has the rows at the end
 * @throws ExportFailed when it is no gzip member, or not a whole one; whatever its source throws
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
  // What fails is told by whoever waits for it below.
  ended.catch(() => undefined)
  try {
    let bytes = 0
    for await (const part of packed) {
      // Of bytes that it cannot unpack, nothing is called back.
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
