import type { GrowingBytes } from './growing-bytes.js'

/**
 * Copies a body as it comes. What nobody reads of it is left out, so that prompts and answers take no memory, however
 * long they are.
 */
export interface BodyCopy {
  /** What is kept so far. */
  readonly kept: GrowingBytes
  /** Values that were passed over: what it cost to look at the body, however small it was packed. */
  readonly steps: number
  /** @param sentBytes how many have been sent so far, of which these are unpacked */
  write(chunk: Buffer, sentBytes: number): void
  /** After the last chunk. */
  end(): void
}

/** Leaves nothing out, up to a length. */
export class WholeCopy implements BodyCopy {
  readonly kept: GrowingBytes
  readonly steps = 0
  private readonly bytesMax: number

  constructor(kept: GrowingBytes, bytesMax = Number.POSITIVE_INFINITY) {
    this.kept = kept
    this.bytesMax = bytesMax
  }

  write(chunk: Buffer): void {
    this.kept.add(chunk, 0, Math.min(chunk.length, this.bytesMax - this.kept.length))
  }

  end(): void {
    // Nothing is left open.
  }
}
