/** Bytes of one event at most, whether it comes alone or within a bulk body. */
export const EVENT_BYTES_MAX = 64 * 1024

/** Events of one bulk body at most. Shippers limit their batches by bytes, and drop what is too much. */
export const BULK_EVENTS_MAX = 30_000

/** Bytes of a bulk body at most, as it comes and again unpacked: those of Vector have 10 MB unless it is told. */
export const BULK_BYTES_MAX = 16 * 1024 * 1024
