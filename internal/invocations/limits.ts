/** Bytes of one event at most, whether it comes alone or within a bulk body. */
export const EVENT_BYTES_MAX = 64 * 1024

/** Events of one bulk body at most. */
export const BULK_EVENTS_MAX = 5_000

/** Bytes of a bulk body at most, as it comes and again after inflation. */
export const BULK_BYTES_MAX = 5 * 1024 * 1024
