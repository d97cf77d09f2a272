/**
 * What the owner of an event id knows about it, in one byte: its answer to a claim, and the flags of the event in its
 * index. The upper two bits are the kind, the lower six a partition (at most 64, `internal/config/settings.ts`).
 */
export type EventAnswer = number

/** Nobody had the event: it goes where its trace or id says. */
export const FIRST = 0
/** As `FIRST`, as far as the owner knows: its index is loading, it has no broker, or it did not answer in time. */
export const UNSURE = 1
const TAKEN = 0x40
/** The log or the read model holds the event. */
export const STORED = 0x80
const RELEASED = 0xc0
const KIND = 0xc0
const PARTITION = 0x3f

/** A request has claimed the event for a partition, and has perhaps stored it there. */
export const takenBy = (partition: number): EventAnswer => TAKEN | partition

/**
 * The request that took the event could not store it, or is unsure: the next one counts as the first, in that
 * partition.
 */
export const releasedBy = (partition: number): EventAnswer => RELEASED | partition

export const isTaken = (answer: EventAnswer): boolean => (answer & KIND) === TAKEN
export const isStored = (answer: EventAnswer): boolean => (answer & KIND) === STORED
export const isReleased = (answer: EventAnswer): boolean => (answer & KIND) === RELEASED

/** Where an event with this answer goes. @param own where it would go by itself */
export const partitionFor = (answer: EventAnswer, own: number): number =>
  isTaken(answer) || isReleased(answer) ? answer & PARTITION : own

/** @returns whether it is an answer to a claim of a gateway with this number of partitions */
export const isEventAnswer = (byte: number, partitions: number): boolean =>
  byte === FIRST || byte === UNSURE || byte === STORED || (byte >= TAKEN && partitionFor(byte, partitions) < partitions)
