/**
 * The partition of a trace among the trace actors, of which one sees all calls of a workflow. FNV-1a over tenant and
 * trace, then MurmurHash3's finalizer, which carries every bit into the lowest.
 */
export function tracePartition(tenantId: string, traceId: string, partitions: number): number {
  let hash = FNV_OFFSET
  for (const text of [tenantId, traceId]) {
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % partitions
}

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193
