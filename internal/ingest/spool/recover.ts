import type { SpoolFiles } from './files.js'
import type { SpoolIncident } from './incident.js'
import type { Position } from './position.js'
import { readRecords } from './read-records.js'
import { type Segment, segmentNumber, segmentPath } from './segment.js'

/**
 * Recovers the segments that an earlier process left in the folder: removes delivered segments, truncates a torn write
 * at the end of the last one, and counts the intact records. Reads every byte once, a chunk at a time.
 *
 * @param delivered how far the folder is drained
 * @returns the segments that hold records, oldest first
 * @throws the system's error
 */
export async function recoverSegments(
  folder: string,
  files: SpoolFiles,
  delivered: Position,
  onIncident: (incident: SpoolIncident) => void,
): Promise<Segment[]> {
  const numbers = (await files.list(folder))
    .map(segmentNumber)
    .filter((number) => number !== undefined)
    .sort((a, b) => a - b)
  const segments: Segment[] = []
  for (const number of numbers) {
    const from = number < delivered.segment ? Infinity : number === delivered.segment ? delivered.offset : 0
    const segment = await recoverSegment(folder, number, from, number === numbers.at(-1), files, onIncident)
    if (segment.records > 0) segments.push(segment)
    else await files.remove(segment.path)
  }
  return segments
}

async function recoverSegment(
  folder: string,
  number: number,
  from: number,
  isLast: boolean,
  files: SpoolFiles,
  onIncident: (incident: SpoolIncident) => void,
): Promise<Segment> {
  const path = segmentPath(folder, number)
  const size = await files.size(path)
  const segment: Segment = { number, path, size, deliveredTo: Math.min(from, size), records: 0 }
  const file = await files.open(path)
  try {
    for await (const found of readRecords(file, segment.deliveredTo, size)) {
      if (found.kind === 'record') {
        segment.records++
        continue
      }
      const { offset, end } = found
      const where = { segment: number, offset, bytes: end - offset }
      // Only the last write can be torn; the drain detects and reports damage elsewhere.
      if (!isLast || end < size) continue
      await file.truncate(offset)
      await file.datasync()
      segment.size = offset
      onIncident({ kind: 'torn_tail_cut', ...where })
    }
  } finally {
    await file.close()
  }
  return segment
}
