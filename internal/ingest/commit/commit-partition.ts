import type { TenantIds } from '../../ids/ids.js'

/**
 * The partition of an event: by its trace if it has one, so that one actor gets all events of a workflow, else by its
 * own id. The result is the same on every gateway of an instance, and after a restart.
 *
 * Seeded with the tenant's secret, so that equal trace ids of two tenants need not share a partition. That is no
 * defence against a producer who wants all its events in one partition: it need only send one trace.
 *
 * @param id the 16 bytes of the event's own id
 */
export function partitionOf(
  { sip }: TenantIds,
  traceId: string | null | undefined,
  id: Uint8Array,
  partitions: number,
): number {
  if (partitions === 1) return 0
  if (traceId === undefined || traceId === null) return (id[15] ?? 0) % partitions
  if (traceId !== lastTraceId || sip.k0lo !== lastSeed) {
    lastTraceId = traceId
    lastSeed = sip.k0lo
    lastHash = hashOf(traceId, lastSeed)
  }
  return lastHash % partitions
}

/** `partitionOf` for an ASCII trace id given as the bytes from `start` to `end`. */
export function partitionOfTrace(
  { sip }: TenantIds,
  bytes: Uint8Array,
  start: number,
  end: number,
  partitions: number,
): number {
  if (partitions === 1) return 0
  let hash = sip.k0lo
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), FNV_PRIME)
  return finalized(hash) % partitions
}

/** The latest trace: the next event often has the same one. */
let lastTraceId = ''
let lastSeed = 0
let lastHash = hashOf('', 0)

/** FNV-1a over the UTF-16 units of a text, then MurmurHash3's finalizer, which carries every bit into the lowest. */
function hashOf(text: string, seed: number): number {
  let hash = seed
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME)
  return finalized(hash)
}

const FNV_PRIME = 0x01000193

function finalized(sum: number): number {
  let hash = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
