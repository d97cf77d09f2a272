import type { Place } from '../../residency/residency.js'

/**
 * Where the files of exports lie. A key is a path of names, `<tenant id>/<job id>/<name>`. A blob is there whole or not
 * at all, and a repeat of a write leaves what it writes.
 *
 * Everything rejects when the store is away.
 */
export interface BlobStore {
  /** Where it is, for residency. */
  readonly place: Place
  /** Writes a blob as it comes, with bounded memory. @returns its bytes */
  write(key: string, parts: AsyncIterable<Uint8Array>): Promise<number>
  /** @returns undefined when there is no such blob */
  size(key: string): Promise<number | undefined>
  /** Reads bytes as they come. @param range of the first and the last byte; the whole without it */
  read(key: string, range?: { readonly first: number; readonly last: number }): AsyncIterable<Uint8Array>
  /** Removes every blob whose key begins with a prefix that ends at a slash. Safe to repeat. */
  removeUnder(prefix: string): Promise<void>
}
