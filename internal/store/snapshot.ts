/**
 * Who reads as of an older snapshot may miss versions that were replaced since, and removed (`compaction.ts`): walks through
 * pages end by then, exports begin anew.
 */
export const SNAPSHOT_AGE_MS_MAX = 5 * 60 * 60 * 1000

/** The same where no version is known to be closed by then: looking for each one costs as much as the rest of a scan. */
export const BEGUN_BY_SNAPSHOT = 'valid_from <= fromUnixTimestamp64Milli({snapshot:Int64})'

/**
 * `identity`: else the primary index is asked, granule by granule, which of up to 1,000 closed versions lie there, to leave out
 * what holds nothing else (16 ms for ten million records, and nothing ever is).
 */
const asOfSnapshot = (which: string): string => `${BEGUN_BY_SNAPSHOT}
  AND (identity(id), identity(valid_from)) NOT IN (
    SELECT id, valid_from FROM closed
    WHERE ${which} AND closed_at <= fromUnixTimestamp64Milli({snapshot:Int64}))`

/**
 * The one condition by which a query sees records as of a snapshot: those versions that were valid then (design section
 * 6). The instant comes from `broker/watermark.ts`, or from a cursor that was minted with one.
 *
 * For the `WHERE` of a query over `attributions`, or a sorted copy of it, beside the tenant's own predicate; its
 * parameters are `snapshotParams`.
 */
export const AS_OF_SNAPSHOT = asOfSnapshot('tenant_id = {tenant:String}')

/**
 * The same for a window of records: what was closed outside of it need not be held against anything, which costs a third of a
 * second a million versions, and most of the memory of a query.
 *
 * @param window a condition over the times of a record, which never change; the query's own `WHERE` has it beside
 */
export const asOfSnapshotWithin = (window: string): string => asOfSnapshot(`tenant_id = {tenant:String} AND ${window}`)

/** A record's id, given as the parameter `id` in 32 hex digits. */
export const OF_ID = 'id = CAST(unhex({id:String}) AS FixedString(16))'

/** The same for `OF_ID`: what else of the tenant is closed need not be read. */
export const OF_ID_AS_OF_SNAPSHOT = `${OF_ID} AND ${asOfSnapshot(`tenant_id = {tenant:String} AND ${OF_ID}`)}`

/** @param snapshotMs milliseconds since the epoch */
export const snapshotParams = (tenantId: string, snapshotMs: number) => ({ tenant: tenantId, snapshot: snapshotMs })
