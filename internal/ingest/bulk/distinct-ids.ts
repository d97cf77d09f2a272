import { ID_BYTES } from '../../ids/ids.js'

/** Detects repeated 16-byte ids within one request, and keeps the ids. Their bytes must be as good as random. */
export class DistinctIds {
  private count = 0
  private readonly bytes: Uint8Array
  /** Open addressing: 1 + the index of an id, 0 for none. */
  private readonly slots: Uint16Array

  /** @param idsMax how many will be added at most, up to 32,768 */
  constructor(idsMax: number) {
    this.bytes = new Uint8Array(idsMax * ID_BYTES)
    this.slots = new Uint16Array(2 ** Math.ceil(Math.log2(2 * idsMax + 2)))
  }

  /** @returns its index, from 0; -1 if it was added before */
  add(id: Uint8Array): number {
    const { bytes, slots } = this
    const mask = slots.length - 1
    // The first four bytes are the tenant's.
    let slot = ((id[4] as number) | ((id[5] as number) << 8) | ((id[6] as number) << 16)) & mask
    for (let held = slots[slot] as number; held !== 0; held = slots[slot] as number) {
      if (this.isAt(held - 1, id)) return -1
      slot = (slot + 1) & mask
    }
    const place = this.count++
    for (let i = 0; i < ID_BYTES; i++) bytes[place * ID_BYTES + i] = id[i] as number
    slots[slot] = place + 1
    return place
  }

  /** Copies the id at an index. */
  read(place: number, into: Uint8Array): void {
    for (let i = 0; i < ID_BYTES; i++) into[i] = this.bytes[place * ID_BYTES + i] as number
  }

  private isAt(place: number, id: Uint8Array): boolean {
    for (let i = 0; i < ID_BYTES; i++) if (this.bytes[place * ID_BYTES + i] !== id[i]) return false
    return true
  }
}
