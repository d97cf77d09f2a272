import { SLICE_BYTES } from './telemetry.js'

/**
 * When the reader of a request is to pause, as it is asked: each time that it has read a slice since. What it reads
 * again, after it has looked for something behind, counts again.
 */
export function endsOfSlices(reader: { readonly at: number }): () => boolean {
  let [readBytes, from] = [0, 0]
  return () => {
    readBytes += Math.max(0, reader.at - from)
    from = reader.at
    if (readBytes < SLICE_BYTES) return false
    readBytes = 0
    return true
  }
}
