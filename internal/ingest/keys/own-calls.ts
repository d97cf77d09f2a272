import type { KeyHash } from '../../ids/key-hash.js'

/** 10 MB; at 1,000 requests/s a call is known for some four minutes. */
const PLACES = 2 ** 18
const HASH_WORDS = 4
const ID_BYTES = 16

/** An event that this gateway admitted under a key. */
export interface OwnCall {
  readonly tenantId: string
  /** 16 bytes. */
  readonly id: Uint8Array
}

/** The newest events that this gateway admitted under a key, by the key: to name one whose key another gateway took. */
export class OwnCalls {
  private readonly hashes = new Int32Array(PLACES * HASH_WORDS)
  private readonly ids = new Uint8Array(PLACES * ID_BYTES)
  private readonly tenantIds: string[] = new Array(PLACES).fill('')

  add(key: KeyHash, tenantId: string, id: Uint8Array): void {
    const place = placeOf(key)
    for (let i = 0; i < HASH_WORDS; i++) this.hashes[place * HASH_WORDS + i] = key[i] as number
    for (let i = 0; i < ID_BYTES; i++) this.ids[place * ID_BYTES + i] = id[i] as number
    this.tenantIds[place] = tenantId
  }

  /** @returns the call, once */
  take(key: KeyHash): OwnCall | undefined {
    const place = placeOf(key)
    const tenantId = this.tenantIds[place] ?? ''
    const isIt = key.every((word, i) => word === this.hashes[place * HASH_WORDS + i])
    if (tenantId === '' || !isIt) return undefined
    this.tenantIds[place] = ''
    return { tenantId, id: this.ids.slice(place * ID_BYTES, (place + 1) * ID_BYTES) }
  }
}

const placeOf = (key: KeyHash): number => (key[2] as number) & (PLACES - 1)
