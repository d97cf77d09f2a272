import type { JetStreamManager, StoredMsg } from '@nats-io/jetstream'
import { headers, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node'
import { readMessages } from './log.js'

/** A message that a stream got after its snapshot. */
export interface TailMessage {
  readonly sequence: number
  readonly subject: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Base64. */
  readonly data: string
}

/** Published again at once: a broker that takes 50 ms to sync each has all of them within the time for an answer. */
const MESSAGES_AT_ONCE = 100
const BYTES_AT_ONCE = 8 * 1024 * 1024

/** The messages of a stream behind a sequence, up to the last one that it has now, in order. */
export async function readTail(
  manager: JetStreamManager,
  stream: string,
  after: number,
): Promise<{ readonly lastSequence: number; readonly messages: readonly TailMessage[] }> {
  const { last_seq: lastSequence } = (await manager.streams.info(stream)).state
  const messages: TailMessage[] = []
  for await (const batch of messagesAfter(manager, { stream, subject: '>' }, after, lastSequence)) {
    for (const { seq: sequence, subject, header, data } of batch) {
      messages.push({ sequence, subject, headers: pairsOf(header), data: Buffer.from(data).toString('base64') })
    }
  }
  return { lastSequence, messages }
}

/** Messages of a subject behind a sequence, up to a hundred at once, in order. @param last none behind this one */
export async function* messagesAfter(
  manager: JetStreamManager,
  of: { readonly stream: string; readonly subject: string },
  after: number,
  last: number,
): AsyncGenerator<readonly StoredMsg[]> {
  for (let from = after + 1; from <= last; ) {
    const range = { ...of, from, messagesMax: MESSAGES_AT_ONCE, bytesMax: BYTES_AT_ONCE }
    const read = await readMessages(manager, range)
    const newest = read.at(-1)
    if (newest === undefined) return
    yield read.filter(({ seq }) => seq <= last)
    from = newest.seq + 1
  }
}

export const pairsOf = (header: MsgHdrs | undefined): [string, string][] =>
  [...(header ?? [])].flatMap(([name, values]) => values.map((value): [string, string] => [name, value]))

/**
 * What a publisher expected of the stream then, which it has not now; with which messages it was stored together; and
 * what the broker adds itself.
 */
const DROPPED = /^nats-(expected-|batch-|stream$|subject$|sequence$|time-stamp$|last-sequence$|num-pending$)/i

/** Publishes the messages of a tail into the stream that was restored from the snapshot. */
export async function replayTail(
  connection: NatsConnection,
  { subject, headers: pairs, data }: TailMessage,
): Promise<void> {
  await publishAgain(connection, subject, pairs, Buffer.from(data, 'base64'))
}

/** Publishes a message of another copy of its stream. @returns its sequence here */
export async function publishAgain(
  connection: NatsConnection,
  subject: string,
  pairs: TailMessage['headers'],
  data: Uint8Array,
): Promise<number> {
  const header = headers()
  for (const [name, value] of pairs) if (!DROPPED.test(name)) header.append(name, value)
  const answer = await connection.request(subject, data, { headers: header, timeout: 10_000 })
  const { error, seq } = answer.json<{ readonly error?: { readonly description: string }; readonly seq: number }>()
  if (error !== undefined) throw new Error(`a message of ${subject} could not be restored: ${error.description}`)
  return seq
}
