import { isOfCall, tellingName } from '../received/field-names.js'

/** Of one span or log record; of one with more, the first ones. */
const KEYS_MAX = 48
/** Longer keys are none of a convention. */
const KEY_BYTES_MAX = 80

/**
 * The keys of a span or log record that are not listed: where they stand in the bytes of the request, so that nothing
 * is
 * decoded unless somebody asks. Only keys; their values are skipped as bytes.
 */
export class UnreadKeys {
  private bytes: Buffer = NO_BYTES
  private readonly ends = new Int32Array(2 * KEYS_MAX)
  private count = 0

  add(bytes: Buffer, start: number, end: number): void {
    if (this.count === KEYS_MAX || end - start > KEY_BYTES_MAX) return
    this.bytes = bytes
    this.ends[2 * this.count] = start
    this.ends[2 * this.count + 1] = end
    this.count++
  }

  clear(): void {
    this.count = 0
  }

  /** Names that seem to state usage, a model, a provider or a cost. */
  *tellingNames(): Generator<string> {
    for (let i = 0; i < this.count; i++) {
      const name = tellingName(this.keyAt(i))
      if (name !== undefined) yield name
    }
  }

  /** Whether one of them states what a call of a model used, or which model. */
  get areOfCall(): boolean {
    for (let i = 0; i < this.count; i++) if (this.mayBeOfCall(i) && isOfCall(this.keyAt(i))) return true
    return false
  }

  private keyAt(i: number): string {
    return this.bytes.toString('latin1', this.ends[2 * i], this.ends[2 * i + 1])
  }

  /** Whether a key has "oke" (token), "ode" (model) or "sag" (usage): nearly all keys of other spans have none. */
  private mayBeOfCall(i: number): boolean {
    const { bytes } = this
    const end = (this.ends[2 * i + 1] as number) - 2
    for (let at = this.ends[2 * i] as number; at < end; at++) {
      const byte = bytes[at]
      if (byte === LETTER_O) {
        const next = bytes[at + 1]
        if ((next === LETTER_K || next === LETTER_D) && bytes[at + 2] === LETTER_E) return true
      } else if (byte === LETTER_S && bytes[at + 1] === LETTER_A && bytes[at + 2] === LETTER_G) return true
    }
    return false
  }
}

const NO_BYTES = Buffer.alloc(0)
const [LETTER_A, LETTER_D, LETTER_E, LETTER_G, LETTER_K, LETTER_O, LETTER_S] = Buffer.from('adegkos')
