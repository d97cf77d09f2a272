/** The same where no version is known to be closed by then: looking for each one costs as much as the rest of a scan. */
export const BEGUN_BY_SNAPSHOT = 'valid_from <= fromUnixTimestamp64Milli({snapshot:Int64})'

/**
 * The one condition by which a query sees records as of a snapshot: those versions that were valid then (design section
 * 6). The instant comes from `broker/watermark.ts`, or from a cursor that was minted with one.
 *
 * For the `WHERE` of a query over `attributions`, or a sorted copy of it, beside the tenant's own predicate; its
 * parameters are `snapshotParams`.
 */
export const AS_OF_SNAPSHOT = `${BEGUN_BY_SNAPSHOT}
  AND (id, valid_from) NOT IN (
    SELECT id, valid_from FROM closed
    WHERE tenant_id = {tenant:String} AND closed_at <= fromUnixTimestamp64Milli({snapshot:Int64}))`

/** @param snapshotMs milliseconds since the epoch */
export const snapshotParams = (tenantId: string, snapshotMs: number) => ({ tenant: tenantId, snapshot: snapshotMs })
