import { setTimeout as sleep } from 'node:timers/promises'
import type { Deliver, Drained } from '../../internal/ingest/spool/spool.js'
import type { SpoolRecord } from '../../internal/ingest/spool/spool-record.js'
import type { Random } from '../../internal/local/sandbox/random.js'

const TOGETHER_MAX = 20

/** The spool of a simulated gateway: its disk survives the process. */
export class SimulatedSpool {
  readonly folder = 'simulated'
  private readonly waiting: SpoolRecord[] = []
  private appending = 0
  private readonly random: Random

  constructor(random: Random) {
    this.random = random
  }

  get bytes(): number {
    return this.waiting.reduce((sum, { payload }) => sum + payload.length, 0)
  }
  get count(): number {
    return this.waiting.length
  }
  get isEmpty(): boolean {
    return this.count === 0 && this.appending === 0
  }
  hasCapacityFor(): boolean {
    return true
  }

  async append(records: readonly SpoolRecord[]): Promise<{ kind: 'stored' }> {
    const copies = records.map((record) => ({ ...record, payload: Uint8Array.from(record.payload) }))
    this.appending++
    await sleep(this.random.share() * 20)
    this.waiting.push(...copies)
    await sleep(this.random.share() * 5)
    this.appending--
    return { kind: 'stored' }
  }

  async *records(): AsyncGenerator<SpoolRecord> {
    yield* this.waiting
  }

  /** As its process left it: what that was writing when it died is on the disk, or is not. */
  afterDeath(): SimulatedSpool {
    const left = new SimulatedSpool(this.random)
    left.waiting.push(...this.waiting)
    return left
  }

  async drain(deliver: Deliver): Promise<Drained> {
    for (let delivered = 0; ; ) {
      const together = this.waiting.slice(0, TOGETHER_MAX)
      if (together.length === 0) return { kind: 'empty', delivered }
      const taken = await deliver(together)
      this.waiting.splice(0, taken)
      delivered += taken
      if (taken < together.length) return { kind: 'refused', delivered }
    }
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
