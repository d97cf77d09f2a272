import type { ClickHouseClient } from '@clickhouse/client'
import { StoreAway } from './failures.js'

/** Memory that a query may use to sort; beyond it ClickHouse sorts on disk. */
const SORT_BYTES_MAX = 256 * 1024 ** 2

/**
 * Streams the rows of a query whose columns have fixed lengths, in RowBinary. For millions of rows, where JSON costs
 * several times as much. Applies backpressure.
 *
 * @param rowBytes of one row
 * @param read makes a row of the bytes that begin at an offset; the bytes stay as they are and may be kept
 * @throws when the store is unavailable or fails, also in the middle of an answer; rows yielded before are valid
 */
export async function* streamFixedRows<Row>(
  store: ClickHouseClient,
  query: string,
  params: Readonly<Record<string, unknown>>,
  rowBytes: number,
  read: (bytes: Buffer, at: number) => Row,
): AsyncGenerator<Row> {
  const { stream, response_headers: headers } = await store.exec({
    query: `${query} FORMAT RowBinary`,
    query_params: { ...params },
    clickhouse_settings: { readonly: '2', max_bytes_before_external_sort: String(SORT_BYTES_MAX) },
  })
  const exceptionTag = headers['x-clickhouse-exception-tag']
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    // After the first rows ClickHouse appends an error to them, as text that ends with the tag of this answer.
    if (typeof exceptionTag === 'string' && endsWith(bytes, `${exceptionTag}\r\n__exception__\r\n`)) {
      throw new StoreAway('the store failed in the middle of an answer')
    }
    const end = bytes.length - (bytes.length % rowBytes)
    for (let at = 0; at < end; at += rowBytes) yield read(bytes, at)
    rest = bytes.subarray(end)
  }
  if (rest.length > 0) throw new StoreAway('the store ended an answer in the middle of a row')
}

/** A UInt64 or DateTime64 of at most 2^53 - 1. */
export const readUint64 = (bytes: Buffer, at: number): number =>
  bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32

const endsWith = (bytes: Buffer, text: string): boolean =>
  bytes.length >= text.length && bytes.toString('latin1', bytes.length - text.length) === text
