/** A text of Parquet's key-value metadata, which ClickHouse does not write. */

const MAGIC = 'PAR1'
/** At the end of a file: the last byte of the footer, its length in four bytes, and the magic. */
const TRAILER_BYTES = 9

/**
 * Adds key-value metadata to a Parquet file as it streams by. The footer is a struct in Thrift's compact protocol, whose
 * fields may come in any order: field 5 (`key_value_metadata`) is written at its end, before the byte that ends it.
 *
 * @throws Error when the input does not end as a Parquet file does
 */
export async function* withMetadata(
  file: AsyncIterable<Uint8Array>,
  metadata: Readonly<Record<string, string>>,
): AsyncGenerator<Uint8Array> {
  let tail: Uint8Array = new Uint8Array(0)
  for await (const part of file) {
    const all = tail.length === 0 ? part : Buffer.concat([tail, part])
    const kept = Math.max(0, all.length - TRAILER_BYTES)
    if (kept > 0) yield all.subarray(0, kept)
    tail = all.subarray(kept)
  }
  const trailer = Buffer.from(tail)
  if (trailer.length !== TRAILER_BYTES || trailer[0] !== 0 || trailer.toString('latin1', 5) !== MAGIC)
    throw new Error('this is no Parquet file')
  const field = fieldOf(Object.entries(metadata))
  trailer.writeUInt32LE(trailer.readUInt32LE(1) + field.length, 1)
  yield Buffer.concat([field, trailer])
}

const BINARY = 8
const LIST = 9
const STRUCT = 12
const KEY_VALUE_METADATA = 5

/** A field's header has its number as the difference to the one before it, or, here first, by itself (zigzag). */
const fieldOf = (pairs: readonly (readonly [string, string])[]): Buffer =>
  Buffer.concat([
    Buffer.from([LIST, KEY_VALUE_METADATA << 1, (pairs.length << 4) | STRUCT]),
    ...pairs.map(([key, value]) => Buffer.concat([textOf(key), textOf(value), Buffer.from([0])])),
  ])

/** The next field of a struct, a text of less than 128 bytes. */
function textOf(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.from([(1 << 4) | BINARY, bytes.length]), bytes])
}
