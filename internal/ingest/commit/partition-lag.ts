/** Messages of a partition are remembered at least this far apart: a lag is known to within it. */
const SAMPLE_EVERY_MS = 100
/** Four minutes of samples; beyond that the oldest are kept, and newer ones are not taken. */
const SAMPLES_MAX = 2_400

interface Sample {
  readonly sequence: number
  readonly atMs: number
}

/**
 * How long the messages that this gateway wrote have waited for stage A, per partition: the time since the first one
 * was written that the checkpoint has not passed.
 */
export class PartitionLag {
  private readonly doneOf: (partition: number) => number
  private readonly samples: Sample[][]

  /** @param doneOf the sequence up to which stage A has processed a partition */
  constructor(partitions: number, doneOf: (partition: number) => number) {
    this.doneOf = doneOf
    this.samples = Array.from({ length: partitions }, () => [])
  }

  /** The log has a message of a partition at a sequence. */
  stored(partition: number, sequence: number, nowMs: number): void {
    const samples = this.samples[partition]
    if (samples === undefined || samples.length >= SAMPLES_MAX) return
    const last = samples.at(-1)
    if (last === undefined || nowMs - last.atMs >= SAMPLE_EVERY_MS) samples.push({ sequence, atMs: nowMs })
  }

  /** Milliseconds; 0 when nothing waits. */
  ageMs(partition: number, nowMs: number): number {
    const samples = this.samples[partition] ?? []
    const done = this.doneOf(partition)
    const firstWaiting = samples.findIndex(({ sequence }) => sequence > done)
    samples.splice(0, firstWaiting === -1 ? samples.length : firstWaiting)
    const first = samples[0]
    return first === undefined ? 0 : Math.max(0, nowMs - first.atMs)
  }
}
