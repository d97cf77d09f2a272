const DAY_MS = 24 * 60 * 60 * 1000

/** Calls that were made before are older than a tenant keeps them: whole days, so that no day is told of in part. */
export const retentionCutoff = (nowMs: number, days: number): number =>
  Math.floor(nowMs / DAY_MS) * DAY_MS - days * DAY_MS
