import { GROUP_BYTES_MAX } from '../../../streams/invocations.js'
import { KEYS_SUBJECT } from '../../../streams/keys.js'
import { SENDER_BYTES } from '../keys/admitted-keys.js'
import type { Appended } from '../spool/appender.js'
import type { SpoolRecord } from '../spool/spool-record.js'

interface Waiting {
  /** As `AdmittedKeys` writes them. */
  readonly payload: Uint8Array
  readonly messageId: string
  readonly settle: (stored: Appended) => void
}

/**
 * Stores the Idempotency-Keys of groups, one message at a time: those of the groups that the log takes meanwhile share
 * the next one. The broker syncs each message, and every gateway reads it.
 */
export class SharedKeys {
  private readonly deliver: (record: SpoolRecord) => Promise<Appended>
  private readonly waiting: Waiting[] = []
  private isDelivering = false

  /** @param deliver never rejects */
  constructor(deliver: (record: SpoolRecord) => Promise<Appended>) {
    this.deliver = deliver
  }

  /**
   * @param payload of one sender, the same in all calls; at most `GROUP_BYTES_MAX`
   * @param messageId of the message, if these keys are its first
   */
  store(payload: Uint8Array, messageId: string): Promise<Appended> {
    return new Promise((settle) => {
      this.waiting.push({ payload, messageId, settle })
      if (this.isDelivering) return
      this.isDelivering = true
      // Groups that the log acknowledged together are known by then.
      queueMicrotask(() => void this.deliverAll())
    })
  }

  private async deliverAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const [first, ...others] = this.takeMessage()
      if (first === undefined) return
      const payload = Buffer.concat([first.payload, ...others.map((other) => other.payload.subarray(SENDER_BYTES))])
      const stored = await this.deliver({ subject: KEYS_SUBJECT, payload, messageId: first.messageId })
      for (const { settle } of [first, ...others]) settle(stored)
    }
    this.isDelivering = false
  }

  /** As many as one message can have, at least one. */
  private takeMessage(): Waiting[] {
    let bytes = 0
    const over = this.waiting.findIndex(({ payload }) => {
      bytes += payload.length
      return bytes > GROUP_BYTES_MAX
    })
    return this.waiting.splice(0, over === -1 ? this.waiting.length : Math.max(over, 1))
  }
}
