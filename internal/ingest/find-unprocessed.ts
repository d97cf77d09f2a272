import type { JetStreamManager } from '@nats-io/jetstream'
import { INVOCATIONS, invocationsSubject, type Mailbox, mailboxes, STAGES } from '../../streams/invocations.js'
import { readLogToItsEnd } from '../broker/log.js'
import { partitionsHeld } from '../broker/partitions.js'
import { partitionOf } from '../ids/event-partition.js'
import { idHex } from '../ids/ids.js'
import { identifyEntries, namesAny } from '../invocations/invocation-group.js'

/** Of one mailbox: an event is usually in it for less than a second. */
const SEARCHED_BYTES_MAX = 8 * 1024 * 1024
const SEARCHED_MESSAGES_MAX = 1_000
/** Of one mailbox at a time, in memory. */
const READ_BYTES_MAX = 1024 * 1024
/** At a time. */
const SEARCHES_MAX = 4

export interface FindUnprocessedDeps {
  readonly manager: JetStreamManager
  /** The sequence up to which a mailbox is processed, or an earlier one. */
  readonly doneOf: (checkpoint: string) => number
  /** Of the log. */
  readonly partitions: number
}

/**
 * Finds out whether an event is in the mailboxes of the stages: admitted, and not processed yet.
 *
 * The answer is undefined when a mailbox holds more than is searched and the event was not in what was, and while there
 * are many searches.
 */
export function unprocessedSearch(deps: FindUnprocessedDeps): (id: Uint8Array) => Promise<boolean | undefined> {
  let searches = 0
  return async (id) => {
    if (searches === SEARCHES_MAX) return undefined
    searches++
    try {
      return await isUnprocessed(id, deps)
    } finally {
      searches--
    }
  }
}

async function isUnprocessed(id: Uint8Array, deps: FindUnprocessedDeps): Promise<boolean | undefined> {
  let isComplete = true
  const own = partitionOf(id, deps.partitions)
  for (const searched of inOrder(mailboxes(await partitionsHeld(deps.manager, deps.partitions)), own)) {
    const found = await Promise.all(searched.map((mailbox) => isIn(mailbox, id, deps)))
    if (found.includes(true)) return true
    if (found.includes(undefined)) isComplete = false
  }
  return isComplete ? false : undefined
}

/**
 * In the order in which events pass: one that moves on meanwhile is found in the next mailbox. Stage A passes events of
 * other partitions on to their own.
 */
function inOrder(all: readonly Mailbox[], own: number): readonly (readonly Mailbox[])[] {
  return STAGES.flatMap((stage) => {
    const ofStage = all.filter((mailbox) => mailbox.stage === stage)
    if (stage !== 'a') return [ofStage]
    return [ofStage.filter(({ partition }) => partition !== own), ofStage.filter(({ partition }) => partition === own)]
  })
}

async function isIn(
  { stage, partition }: Mailbox,
  id: Uint8Array,
  { manager, doneOf }: FindUnprocessedDeps,
): Promise<boolean | undefined> {
  const hex = idHex(id)
  const isWanted = (found: string): boolean => found === hex
  let from = doneOf(`${stage}.${partition}`) + 1
  for (let [messages, bytes] = [0, 0]; messages < SEARCHED_MESSAGES_MAX && bytes < SEARCHED_BYTES_MAX; ) {
    const entries = await readLogToItsEnd(manager, {
      stream: INVOCATIONS.name,
      subject: invocationsSubject(stage, partition),
      from,
      messagesMax: SEARCHED_MESSAGES_MAX - messages,
      bytesMax: READ_BYTES_MAX,
    })
    const last = entries.at(-1)
    if (last === undefined) return false
    for (const { data } of entries) {
      if (namesAny(data, isWanted) && identifyEntries(data).some((event) => idHex(event.id) === hex)) {
        return true
      }
      bytes += data.length
    }
    messages += entries.length
    from = last.sequence + 1
  }
  return undefined
}
