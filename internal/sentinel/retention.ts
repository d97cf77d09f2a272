const DAY_MS = 24 * 60 * 60 * 1000

/** Calls before this instant are past the tenant's retention: whole days, so that reports never show part of a day. */
export const retentionCutoff = (nowMs: number, days: number): number =>
  Math.floor(nowMs / DAY_MS) * DAY_MS - days * DAY_MS
