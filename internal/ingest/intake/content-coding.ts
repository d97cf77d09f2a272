import type { Transform } from 'node:stream'
import { createGunzip, createInflate } from 'node:zlib'
import { createZstdUnpacker } from './zstd.js'

/** For `Accept-Encoding`: what a body may be packed with. */
export const CODINGS = 'gzip, deflate, zstd'

/** Unpacked bytes that come at once, between which others have their turn. */
const CHUNK_BYTES = 64 * 1024

/** By Content-Encoding: what unpacks a body, off the event loop where Node can. */
const UNPACKERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip({ chunkSize: CHUNK_BYTES }),
  'x-gzip': () => createGunzip({ chunkSize: CHUNK_BYTES }),
  deflate: () => createInflate({ chunkSize: CHUNK_BYTES }),
  zstd: () => createZstdUnpacker(CHUNK_BYTES),
}

/** @returns `plain` where nothing is to be unpacked; undefined for another coding, or several */
export function unpackerOf(contentEncoding: string): (() => Transform) | 'plain' | undefined {
  const coding = contentEncoding.trim().toLowerCase()
  if (coding === '' || coding === 'identity') return 'plain'
  return Object.hasOwn(UNPACKERS, coding) ? UNPACKERS[coding] : undefined
}
