import type { JetStreamManager } from '@nats-io/jetstream'
import { readLog } from '../../internal/broker/log.js'
import { decodeGroup } from '../../internal/invocations/invocation-group.js'
import { INVOCATIONS } from '../../streams/invocations.js'
import type { LoadResult } from './load.js'

/** Events that admission has put into the log, read back and counted one by one. */
export class StoredEvents {
  private readonly manager: JetStreamManager
  private readonly ids = new Set<string>()
  private from = 1
  private events = 0

  constructor(manager: JetStreamManager) {
    this.manager = manager
  }

  /**
   * Reads the events since the last call and compares them with the generator's answers.
   *
   * @throws Error when an event that was answered with 202 is missing, when there are more than were sent, or when
   *   one is there twice
   */
  async check(results: readonly LoadResult[]): Promise<number> {
    const before = this.events
    const groups = await this.readOn()
    const stored = this.events - before
    const least = results.reduce((sum, { accepted }) => sum + accepted, 0)
    const most = results.reduce((sum, { unseenMax }) => sum + unseenMax, least)
    if (stored < least || stored > most) {
      throw new Error(
        `the log holds ${stored} events, but ${least} were answered with 202 and at most ${most} were sent`,
      )
    }
    if (this.ids.size !== this.events) throw new Error(`${this.events - this.ids.size} events are in the log twice`)
    return groups === 0 ? 0 : stored / groups
  }

  private async readOn(): Promise<number> {
    let groups = 0
    for (;;) {
      const entries = await readLog(this.manager, {
        stream: INVOCATIONS.name,
        subject: 'invocations.a.*',
        from: this.from,
        messagesMax: 256,
        bytesMax: 16 * 1024 * 1024,
      })
      const last = entries.at(-1)
      if (last === undefined) return groups
      for (const { data, sequence } of entries) {
        const group = decodeGroup(data, sequence)
        for (const { invocation } of group) this.ids.add(invocation.eventId)
        this.events += group.length
      }
      groups += entries.length
      this.from = last.sequence + 1
    }
  }
}

/** The same for a server that stores one message an event. */
export async function checkMessages(
  manager: JetStreamManager,
  stream: string,
  results: readonly LoadResult[],
): Promise<void> {
  const { state } = await manager.streams.info(stream)
  const least = results.reduce((sum, { accepted }) => sum + accepted, 0)
  const most = results.reduce((sum, { unseenMax }) => sum + unseenMax, least)
  if (state.messages < least || state.messages > most) {
    throw new Error(
      `${stream} holds ${state.messages} messages, but ${least} were answered with 202 and at most ${most} sent`,
    )
  }
}
