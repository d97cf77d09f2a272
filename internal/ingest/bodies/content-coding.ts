import type { Transform } from 'node:stream'
import { createGunzip, createInflate } from 'node:zlib'
import { problem } from '../../problems/problem-catalogue.js'
import { WINDOW_BYTES_MAX, ZstdUnpacker } from './zstd.js'

/** For `Accept-Encoding`: what a body may be packed with. */
export const CODINGS = 'gzip, deflate, zstd'
export const OTHER_CODING = problem(
  'UNSUPPORTED_MEDIA_TYPE',
  `Send the body uncompressed or with one Content-Encoding of: ${CODINGS}.`,
  { acceptEncoding: CODINGS },
)

/** Unpacked bytes that come at once, between which others have their turn. */
const CHUNK_BYTES = 64 * 1024

/** What unpacks a body, off the event loop where Node can, and the memory that it takes. */
export interface Unpacker {
  readonly coding: 'gzip' | 'deflate' | 'zstd'
  readonly create: () => Transform
  readonly bytes: number
}

/** A window of 32 KiB, and what is unpacked. */
const INFLATE_BYTES = 2 * CHUNK_BYTES
const gzip: Unpacker = { coding: 'gzip', create: () => createGunzip({ chunkSize: CHUNK_BYTES }), bytes: INFLATE_BYTES }

/** By Content-Encoding. */
const UNPACKERS: Readonly<Record<string, Unpacker>> = {
  gzip,
  'x-gzip': gzip,
  deflate: { coding: 'deflate', create: () => createInflate({ chunkSize: CHUNK_BYTES }), bytes: INFLATE_BYTES },
  zstd: { coding: 'zstd', create: () => new ZstdUnpacker(), bytes: WINDOW_BYTES_MAX },
}

/** @returns `plain` where nothing is to be unpacked; undefined for another coding, or several */
export function unpackerOf(contentEncoding: string): Unpacker | 'plain' | undefined {
  const coding = contentEncoding.trim().toLowerCase()
  if (coding === '' || coding === 'identity') return 'plain'
  return Object.hasOwn(UNPACKERS, coding) ? UNPACKERS[coding] : undefined
}
