import { GROUP_BYTES_MAX } from '../../../streams/invocations.js'
import { SENDER_BYTES } from '../keys/admitted-keys.js'
import type { LogWriter } from './log-writer.js'

interface Waiting {
  /** As `AdmittedKeys` writes them. */
  readonly payload: Uint8Array
  readonly onSent: () => void
}

/**
 * Sends the Idempotency-Keys of groups that the log has. Those of one event-loop turn share a message, which the broker
 * syncs, and which every gateway reads. No answer waits until KEYS has it: a gateway that dies before, together with the
 * broker, has its keys in the log (`log-tail.ts`).
 */
export class SharedKeys {
  private readonly write: LogWriter['storeKeys']
  private readonly onWaiting: () => void
  private waiting: Waiting[] = []
  /** Each ends within the time of one attempt and one write to a disk. */
  private readonly onTheirWay = new Set<Promise<void>>()

  /**
   * @param write hands the message to the connection before it returns; never rejects
   * @param onWaiting asks for `flush`, soon: with what else is to be written, so that one write takes both
   */
  constructor(write: LogWriter['storeKeys'], onWaiting: () => void) {
    this.write = write
    this.onWaiting = onWaiting
  }

  /**
   * Resolves once the connection has the keys.
   *
   * @param payload of one sender, the same in all calls; at most `GROUP_BYTES_MAX`
   */
  send(payload: Uint8Array): Promise<void> {
    this.onWaiting()
    return new Promise((onSent) => this.waiting.push({ payload, onSent }))
  }

  flush(): void {
    while (this.waiting.length > 0) {
      const taken = this.takeMessage()
      const written = this.write(
        Buffer.concat(taken.map(({ payload }, i) => (i === 0 ? payload : payload.subarray(SENDER_BYTES)))),
      )
      this.onTheirWay.add(written)
      void written.then(() => this.onTheirWay.delete(written))
      for (const { onSent } of taken) onSent()
    }
  }

  /** Resolves when KEYS, or the spool, has all keys that were sent before. */
  async delivered(): Promise<void> {
    await Promise.all(this.onTheirWay)
  }

  /** As many as one message can have, at least one. */
  private takeMessage(): Waiting[] {
    let bytes = 0
    const over = this.waiting.findIndex(({ payload }) => {
      bytes += payload.length
      return bytes > GROUP_BYTES_MAX
    })
    const count = over === -1 ? this.waiting.length : Math.max(over, 1)
    return this.waiting.splice(0, count)
  }
}
