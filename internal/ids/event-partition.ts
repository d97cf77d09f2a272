/**
 * The partition of an event, by its own id: all that arrives with one id is in one partition, whatever gateway, trace or
 * order, so that one actor decides which is the first. `ofPartition` of `store/queries/records/sources.ts` is the same
 * in SQL. Two bytes: 256 is no multiple of 48, and some of 48 partitions would have a fifth more than others.
 *
 * @param id the 16 bytes that `inv_` and `attr_` share: a hash of the tenant's secret and the event id
 */
export const partitionOf = (id: Uint8Array, partitions: number): number =>
  (((id[14] ?? 0) << 8) | (id[15] ?? 0)) % partitions
