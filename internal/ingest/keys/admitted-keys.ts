import type { KeyHash } from '../../ids/key-hash.js'
import { type AdmissionKey, KEY_FINGERPRINT_BYTES, KEY_HASH_BYTES } from '../../invocations/invocation-group.js'
import type { Fingerprint } from '../../repeats/key-table.js'

/**
 * The form of one message of KEYS: who wrote it, then per key its hash, the fingerprint of the body and the flags of
 * the answer.
 */
export const SENDER_BYTES = 8
export const ADMITTED_KEY_BYTES = KEY_HASH_BYTES + KEY_FINGERPRINT_BYTES + 1

/** The keys of a group of events, as they are added to it. */
export class AdmittedKeys {
  private bytes = Buffer.allocUnsafe(SENDER_BYTES + 16 * ADMITTED_KEY_BYTES)
  private length = SENDER_BYTES

  /** @param sender of this process alone */
  constructor(sender: Uint8Array) {
    this.bytes.set(sender)
  }

  add({ hash, fingerprint, flags }: AdmissionKey): void {
    if (this.length + ADMITTED_KEY_BYTES > this.bytes.length) {
      this.bytes = Buffer.concat([this.bytes, Buffer.allocUnsafe(this.bytes.length)])
    }
    const { bytes, length } = this
    for (let i = 0; i < KEY_HASH_BYTES; i++) bytes[length + i] = hash[i] as number
    for (let i = 0; i < KEY_FINGERPRINT_BYTES; i++) bytes[length + KEY_HASH_BYTES + i] = fingerprint[i] as number
    bytes[length + KEY_HASH_BYTES + KEY_FINGERPRINT_BYTES] = flags
    this.length += ADMITTED_KEY_BYTES
  }

  /** The message; undefined for a group without keys. */
  get payload(): Uint8Array | undefined {
    return this.length === SENDER_BYTES ? undefined : this.bytes.subarray(0, this.length)
  }
}

/** One key, reused for each. */
export interface ReadKey {
  readonly hash: KeyHash
  readonly fingerprint: Fingerprint
  flags: number
}

export const isOfSender = (payload: Uint8Array, sender: Uint8Array): boolean =>
  Buffer.compare(payload.subarray(0, SENDER_BYTES), sender) === 0

/** Reads a message. What does not fit the form is left out: it was written by another version. */
export function* readAdmittedKeys(payload: Uint8Array): Generator<ReadKey> {
  const key: ReadKey = { hash: new Int32Array(4), fingerprint: new Int32Array(2), flags: 0 }
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.length)
  for (let at = SENDER_BYTES; at + ADMITTED_KEY_BYTES <= bytes.length; at += ADMITTED_KEY_BYTES) {
    for (let i = 0; i < 4; i++) key.hash[i] = bytes.readInt32LE(at + 4 * i)
    for (let i = 0; i < 2; i++) key.fingerprint[i] = bytes.readInt32LE(at + KEY_HASH_BYTES + 4 * i)
    key.flags = bytes[at + KEY_HASH_BYTES + KEY_FINGERPRINT_BYTES] as number
    yield key
  }
}
