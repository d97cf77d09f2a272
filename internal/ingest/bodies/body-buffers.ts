/** Shorter and longer bodies have buffers of their own that are used once. */
const BYTES_MIN = 64 * 1024
const BYTES_MAX = 4 * 1024 * 1024
/** Of buffers that wait for the next body. */
const IDLE_BYTES_MAX = 16 * 1024 * 1024

/**
 * Buffers for bodies, which are used again. A new one per body costs more than its memory: V8 collects young objects
 * each time that 32 MB of buffers have been made, while those of all requests under way are alive and are copied.
 */
export class BodyBuffers {
  /** By the binary logarithm of their length. */
  private readonly idle = new Map<number, Buffer[]>()
  private idleBytes = 0

  /** @returns a buffer of at least this length, with bytes of an earlier body in it */
  take(bytes: number): Buffer {
    const length = Math.max(BYTES_MIN, 2 ** Math.ceil(Math.log2(bytes)))
    const known = this.idle.get(length)?.pop()
    if (known === undefined) return Buffer.allocUnsafeSlow(length)
    this.idleBytes -= length
    return known
  }

  give(buffer: Buffer): void {
    const { length } = buffer
    if (length > BYTES_MAX || this.idleBytes + length > IDLE_BYTES_MAX) return
    const others = this.idle.get(length)
    if (others === undefined) this.idle.set(length, [buffer])
    else others.push(buffer)
    this.idleBytes += length
  }
}

/** The buffers of one request. */
export class TakenBuffers {
  private readonly all: BodyBuffers
  private taken: Buffer[] = []

  constructor(all: BodyBuffers) {
    this.all = all
  }

  take(bytes: number): Buffer {
    const buffer = this.all.take(bytes)
    this.taken.push(buffer)
    return buffer
  }

  /** @returns a longer buffer that begins with the same bytes; the shorter one is given back */
  longer(buffer: Buffer, size: number, bytes: number): Buffer {
    const longer = this.take(bytes)
    buffer.copy(longer, 0, 0, size)
    const at = this.taken.indexOf(buffer)
    if (at >= 0) for (const shorter of this.taken.splice(at, 1)) this.all.give(shorter)
    return longer
  }

  giveBack(): void {
    for (const buffer of this.taken) this.all.give(buffer)
    this.taken = []
  }
}
