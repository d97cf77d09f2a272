import { join } from 'node:path'

/** One append-only file of the spool. */
export interface Segment {
  /** Rises with each segment and is never used again. */
  readonly number: number
  readonly path: string
  /** Where its good, durable bytes end. */
  size: number
  /** Everything before this offset is delivered. */
  deliveredTo: number
  /** Records after that offset. */
  records: number
}

export const SEGMENT_SUFFIX = '.spool'
const SEGMENT_NAME = /^(\d{16})\.spool$/

export const segmentPath = (folder: string, number: number): string =>
  join(folder, `${String(number).padStart(16, '0')}${SEGMENT_SUFFIX}`)

/** @returns the number in a segment's file name; undefined for other files */
export function segmentNumber(name: string): number | undefined {
  const digits = SEGMENT_NAME.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** Bytes on disk: delivered records count until their segment is removed. */
export const bytesOf = (segments: readonly Segment[]): number => segments.reduce((sum, { size }) => sum + size, 0)

/** Records that wait for delivery. */
export const recordsOf = (segments: readonly Segment[]): number =>
  segments.reduce((sum, { records }) => sum + records, 0)
