import { INVOCATIONS, invocationsSubject } from '../../../streams/invocations.js'
import { readCheckpoint } from '../../broker/checkpoint.js'
import { type AdmittedInvocation, type Position, WAS_DUPLICATE } from '../../invocations/invocation-group.js'
import type { RecordSource } from '../../store/queries/records/sources.js'
import type { Checkpoint } from './checkpoint.js'
import { decodeOrSkip, type HeldDeps, heldInvocations } from './held-invocations.js'
import type { SeenEvent } from './seen-events.js'

export interface OtherPartitionsDeps extends HeldDeps {
  /** The partitions that the log has messages of. */
  readonly held: () => Promise<Iterable<number>>
  /** The configured number of partitions. */
  readonly partitions: number
  /** The sources of these events, for those that have had a record since an instant. */
  readonly recordSourcesOf: (ids: readonly Uint8Array[], sinceMs: number) => Promise<readonly RecordSource[]>
  /** Id of the log that is read now. */
  readonly logId: number
}

/** An event that another partition's facts stage has not processed yet. */
interface Pending {
  /** Of the message that holds it. */
  readonly sequence: number
  readonly position: Position
}

/** What was read of another partition's mailbox, from its checkpoint on. */
interface Mailbox {
  readUpTo: number
  /** By the hex of the event's id, in the order of the messages. */
  readonly events: Map<string, Pending>
}

/** As for the admission of events. */
const WINDOW_MS = 7 * 24 * 60 * 60 * 1000
/** Events kept per mailbox, some 200 bytes each; the rest of it is read again for each batch. */
const EVENTS_MAX = 100_000

/**
 * Looks for events in the partitions that one partition does not read. An event is another partition's if that one
 *
 * - has processed it: inference or pools hold it, or it has a record, wherever it was in the log
 * - will process it, and it is before this one in the log, which has one order over all partitions
 *
 * Of an event that several partitions have, the first one is thus kept, unless a later one was faster. None
 * waits for another: two partitions that wait for each other's batches would never end.
 */
export class OtherPartitions {
  private readonly own: number
  private readonly deps: OtherPartitionsDeps
  private readonly mailboxes = new Map<number, Mailbox>()

  constructor(own: number, deps: OtherPartitionsDeps) {
    this.own = own
    this.deps = deps
  }

  /** Frees what was read. */
  forget(): void {
    this.mailboxes.clear()
  }

  /**
   * For each event, whether another partition has it first.
   *
   * @throws Error when the log or the read model does not answer
   */
  async haveFirst(events: readonly SeenEvent[], nowMs: number): Promise<readonly boolean[]> {
    const missing = new Map(events.map((event) => [hexOf(event.id), event]))
    const others = [...(await this.deps.held())].filter((partition) => partition !== this.own)
    // What partitions beyond the configured number had, each partition knows (`recordSourcesSince`).
    if (others.length === 0 && this.deps.partitions === 1) return events.map(() => false)
    // In this order: an event that moves on meanwhile is found in one of the places, or in two.
    for (const partition of others) await this.findPending(partition, missing)
    for (const partition of others) {
      if (missing.size === 0) break
      for await (const { id } of heldInvocations(partition, this.deps)) missing.delete(hexOf(id))
    }
    const { logId, recordSourcesOf } = this.deps
    const ids = [...missing.values()].map(({ id }) => id)
    for (const { id, logId: log, position } of ids.length === 0 ? [] : await recordSourcesOf(ids, nowMs - WINDOW_MS)) {
      const event = missing.get(hexOf(id))
      // The batch is repeated, and has stored its own record.
      const isItself = event !== undefined && log === logId && isSame(position, event.position)
      if (!isItself) missing.delete(hexOf(id))
    }
    return events.map(({ id }) => !missing.has(hexOf(id)))
  }

  /** Removes the events that are earlier in a partition's mailbox of the facts stage. */
  private async findPending(partition: number, missing: Map<string, SeenEvent>): Promise<void> {
    const { readLog, checkpoints } = this.deps
    const upTo = Math.max(0, ...[...missing.values()].map(({ position }) => position.sequence))
    const { done = 0 } = (await readCheckpoint<Checkpoint>(checkpoints, `a.${partition}`)) ?? {}
    const mailbox = this.mailboxOf(partition, done)
    for (const [id, { position }] of mailbox.events) removeIfEarlier(missing, id, position)
    const subject = invocationsSubject('a', partition)
    for (let from = mailbox.readUpTo + 1; from < upTo; ) {
      const range = { stream: INVOCATIONS.name, subject, from, messagesMax: 500, bytesMax: 8 * 1024 * 1024 }
      const entries = await readLog(range)
      for (const { data, sequence } of entries) {
        const invocations = decodeOrSkip(data, sequence).filter((invocation) => !isForKeyAlone(invocation))
        for (const { id, position } of invocations) removeIfEarlier(missing, hexOf(id), position)
        if (mailbox.readUpTo !== from - 1 || mailbox.events.size + invocations.length > EVENTS_MAX) {
          from = sequence + 1
          continue
        }
        for (const { id, position } of invocations) {
          const hex = hexOf(id)
          if (!mailbox.events.has(hex)) mailbox.events.set(hex, { sequence, position })
        }
        mailbox.readUpTo = sequence
        from = sequence + 1
      }
      if (entries.length === 0) break
    }
  }

  /** What was read of a mailbox, without what its partition has processed since. */
  private mailboxOf(partition: number, done: number): Mailbox {
    let mailbox = this.mailboxes.get(partition)
    if (mailbox === undefined) {
      mailbox = { readUpTo: done, events: new Map() }
      this.mailboxes.set(partition, mailbox)
    }
    for (const [id, { sequence }] of mailbox.events) {
      if (sequence > done) break
      mailbox.events.delete(id)
    }
    mailbox.readUpTo = Math.max(mailbox.readUpTo, done)
    return mailbox
  }
}

/** The entry records a key; the event itself is elsewhere. */
const isForKeyAlone = ({ key }: AdmittedInvocation): boolean => key !== undefined && (key.flags & WAS_DUPLICATE) !== 0

function removeIfEarlier(missing: Map<string, SeenEvent>, id: string, position: Position): void {
  const event = missing.get(id)
  if (event !== undefined && isEarlier(position, event.position)) missing.delete(id)
}

const isEarlier = (one: Position, other: Position): boolean =>
  one.sequence < other.sequence || (one.sequence === other.sequence && one.index < other.index)

const isSame = (one: Position, other: Position): boolean => one.sequence === other.sequence && one.index === other.index

const hexOf = (id: Uint8Array): string => Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')
