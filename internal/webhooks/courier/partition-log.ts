import type { CheckpointHold, Progress } from '../../broker/checkpoint.js'
import { DeliveryWindow, type WindowProgress } from './window.js'

/** Checkpoint of a log of deliveries. That of a partition's first log also names the partition's owner. */
export interface DeliveryProgress extends Progress, WindowProgress {
  readonly owner?: string
}

/**
 * Limits of deliveries that are read and not settled, per log: a partition has two. The last read may exceed them.
 */
const UNSETTLED_MAX = 8_000
const UNSETTLED_BYTES_MAX = 16 * 1024 * 1024
/**
 * Deliveries from the first unsettled one to the last one read. Far larger than `UNSETTLED_MAX`: while one endpoint
 * keeps a delivery waiting, deliveries to other endpoints are read and settled behind it. The checkpoint holds one bit
 * per delivery, at most 11 KiB of text.
 */
const WINDOW_SPAN_MAX = 64 * 1024

/** One of a partition's two logs (deliveries, due retries) while this process owns the partition. */
export class PartitionLog {
  readonly stream: string
  readonly subject: string
  readonly hold: CheckpointHold<DeliveryProgress>
  readonly window: DeliveryWindow
  /** Deliveries read and not settled. */
  unsettled = 0
  unsettledBytes = 0
  /** When reading stopped at a limit, by `performance.now()`; undefined after the log has been read to its end. */
  stalledSince: number | undefined
  /** Whether the window has changed since the checkpoint was written. */
  isChanged = false

  constructor(stream: string, subject: string, hold: CheckpointHold<DeliveryProgress>) {
    this.stream = stream
    this.subject = subject
    this.hold = hold
    this.window = new DeliveryWindow(hold.value)
  }

  /** How many more deliveries may be read now; 0 at a limit. */
  get readableCount(): number {
    if (this.unsettledBytes >= UNSETTLED_BYTES_MAX) return 0
    return Math.max(0, Math.min(UNSETTLED_MAX - this.unsettled, WINDOW_SPAN_MAX - this.window.span))
  }

  /** Whether the window's span is what limits reading: an early delivery is unsettled, with many settled behind it. */
  get isSpanFull(): boolean {
    return this.window.span >= WINDOW_SPAN_MAX
  }

  countRead(bytes: number): void {
    this.unsettled++
    this.unsettledBytes += bytes
  }

  settle(index: number, bytes: number): void {
    this.window.settle(index)
    this.unsettled--
    this.unsettledBytes -= bytes
    this.isChanged = true
  }

  /** Settles a whole message that cannot be decoded, so that it is not read again. */
  skip(sequence: number): void {
    this.window.settle(this.window.read(sequence, 1))
    this.isChanged = true
  }
}
