/**
 * Reads as of an older snapshot may miss versions that were replaced since and removed (`compaction.ts`): cursors
 * expire by then, and exports restart.
 */
export const SNAPSHOT_AGE_MS_MAX = 5 * 60 * 60 * 1000

/** For scans in which no version is known to be closed by the snapshot: checking each row would double their cost. */
export const BEGUN_BY_SNAPSHOT = 'valid_from <= fromUnixTimestamp64Milli({snapshot:Int64})'

/**
 * `identity` keeps ClickHouse from checking each granule of the primary index against up to 1,000 closed versions,
 * which takes 16 ms for ten million records and never excludes a granule.
 */
const asOfSnapshot = (which: string): string => `${BEGUN_BY_SNAPSHOT}
  AND (identity(id), identity(valid_from)) NOT IN (
    SELECT id, valid_from FROM closed
    WHERE ${which} AND closed_at <= fromUnixTimestamp64Milli({snapshot:Int64}))`

/**
 * The one condition by which a query sees records as of a snapshot: those versions that were valid then
 * (`deploy/decisions/snapshots.md`). The instant comes from `broker/watermark.ts`, or from a cursor that was minted
 * with one.
 *
 * For the `WHERE` of a query over `attributions`, or a sorted copy of it, beside the tenant's own predicate; its
 * parameters are `snapshotParams`.
 */
export const AS_OF_SNAPSHOT = asOfSnapshot('tenant_id = {tenant:String}')

/** Records of a period. Parameters: `from` (inclusive) and `to` (exclusive), in milliseconds since the epoch. */
export const IN_PERIOD = `event_time >= fromUnixTimestamp64Milli({from:Int64})
                          AND event_time < fromUnixTimestamp64Milli({to:Int64})`

/**
 * The same for a window of records. Ignoring versions closed outside of it saves a third of a second per million
 * versions, and most of the memory of a query.
 *
 * @param window a condition over the times of a record, which never change; the query's `WHERE` must contain it too
 */
export const asOfSnapshotWithin = (window: string): string => asOfSnapshot(`tenant_id = {tenant:String} AND ${window}`)

/** A record's id, given as the parameter `id` in 32 hex digits. */
export const OF_ID = 'id = CAST(unhex({id:String}) AS FixedString(16))'

/** The same for `OF_ID`: does not read other closed versions of the tenant. */
export const OF_ID_AS_OF_SNAPSHOT = `${OF_ID} AND ${asOfSnapshot(`tenant_id = {tenant:String} AND ${OF_ID}`)}`

/** @param snapshotMs milliseconds since the epoch */
export const snapshotParams = (tenantId: string, snapshotMs: number) => ({ tenant: tenantId, snapshot: snapshotMs })
