import type { Place } from '../../residency/residency.js'

export interface ByteRange {
  readonly first: number
  readonly last: number
}

/**
 * Storage of export files. A key is a path, `<tenant id>/<job id>/<name>`. Writes are atomic: a blob exists completely
 * or not at all, and writing it again replaces it.
 *
 * All methods reject when the store is unavailable.
 */
export interface BlobStore {
  /** Location of the store, for the residency check. */
  readonly place: Place
  /** Streams a blob into the store with bounded memory. @returns its size in bytes */
  write(key: string, parts: AsyncIterable<Uint8Array>): Promise<number>
  /**
   * Writes a small blob unless there is one, atomically: of several callers, one succeeds.
   *
   * @returns whether it was written; always true in an S3-compatible store that ignores `If-None-Match`
   */
  create(key: string, bytes: Uint8Array): Promise<boolean>
  /** @param signal gives up the wait for the store @returns undefined when the blob does not exist */
  size(key: string, signal?: AbortSignal): Promise<number | undefined>
  /**
   * Streams a blob.
   *
   * @param range first and last byte, both inclusive; default: the whole blob
   * @param signal ends it with an error
   */
  read(key: string, range?: ByteRange, signal?: AbortSignal): AsyncIterable<Uint8Array>
  /** The share in use of the disk; undefined when the store has no limit of its own. */
  usedShare(): Promise<number | undefined>
  /** Deletes every blob under a prefix, which ends with a slash. Safe to repeat. */
  removeUnder(prefix: string): Promise<void>
}
