import { GROUP_BYTES_MAX } from '../../../streams/invocations.js'
import { SENDER_BYTES } from '../keys/admitted-keys.js'
import type { Commit, LogWriter } from './log-writer.js'

interface Waiting {
  /** As `AdmittedKeys` writes them. */
  readonly payload: Uint8Array
  readonly settle: (stored: Commit) => void
}

/**
 * Stores the Idempotency-Keys of groups, one message at a time: those of the groups that the log takes meanwhile share
 * the next one. The broker syncs each message, and every gateway reads it.
 */
export class SharedKeys {
  private readonly write: LogWriter['storeKeys']
  private readonly onWaiting: () => void
  private readonly waiting: Waiting[] = []
  private isWriting = false

  /**
   * @param write never rejects
   * @param onWaiting asks for `flush`, soon: with what else is to be written, so that one write takes both
   */
  constructor(write: LogWriter['storeKeys'], onWaiting: () => void) {
    this.write = write
    this.onWaiting = onWaiting
  }

  /** @param payload of one sender, the same in all calls; at most `GROUP_BYTES_MAX` */
  store(payload: Uint8Array): Promise<Commit> {
    if (!this.isWriting) this.onWaiting()
    return new Promise((settle) => this.waiting.push({ payload, settle }))
  }

  /** Begins the next message, unless one is on its way. */
  flush(): void {
    if (!this.isWriting && this.waiting.length > 0) void this.writeNext()
  }

  private async writeNext(): Promise<void> {
    this.isWriting = true
    const taken = this.takeMessage()
    const payload = Buffer.concat(taken.map(({ payload }, i) => (i === 0 ? payload : payload.subarray(SENDER_BYTES))))
    const stored = await this.write(payload)
    this.isWriting = false
    if (this.waiting.length > 0) this.onWaiting()
    for (const { settle } of taken) settle(stored)
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
