/**
 * Keys and event ids are divided into slots by their hash, and each slot has one owner among the gateways. So the share
 * of a gateway is a list of numbers, which a query can name: the read model then sends a gateway its share, and nothing
 * else.
 */

/** Five gateways own 819 slots each, give or take 26 (3 %). A list of all fits into the address of a request. */
export const OWNER_SLOTS = 4_096

/** Numbers of slots, ascending. */
export type Slots = readonly number[]

export const ALL_SLOTS: Slots = Array.from({ length: OWNER_SLOTS }, (_, slot) => slot)

/**
 * The slot of a key: twelve bits of the third word, which neither tables nor filters address by. The read model does
 * the same in SQL (`internal/store/queries/owner-slots.ts`).
 *
 * @param at index of the key's first of four words
 */
export const slotOf = (key: Int32Array, at = 0): number => (key[at + 2] ?? 0) & (OWNER_SLOTS - 1)
