import type { StreamConfig, StreamState } from '@nats-io/jetstream'
import type { Msg, NatsConnection } from '@nats-io/transport-node'

/** Snapshots of streams as the broker makes and takes them (ADR-5 of NATS): configuration, messages and sequences. */
export interface StreamSnapshot {
  readonly config: StreamConfig
  readonly state: StreamState
  /** The broker's own form of the stream, which `restoreStream` gives back. */
  readonly chunks: AsyncIterable<Uint8Array>
}

const CHUNK_BYTES = 256 * 1024
const ANSWER_MS_MAX = 30_000

interface ApiAnswer {
  readonly error?: { readonly description: string }
}

/**
 * Begins a snapshot of a stream with its consumers; it goes on being written to meanwhile. The chunks must be read to
 * their end, each without a long pause.
 *
 * @throws Error when the broker refuses, or stops sending
 */
export async function snapshotStream(connection: NatsConnection, stream: string): Promise<StreamSnapshot> {
  const inbox = `_INBOX.snapshot.${stream}.${process.pid}.${Date.now()}`
  const arriving = connection.subscribe(inbox, { timeout: ANSWER_MS_MAX })
  const answer = await request<{ readonly config: StreamConfig; readonly state: StreamState }>(
    connection,
    `$JS.API.STREAM.SNAPSHOT.${stream}`,
    JSON.stringify({ deliver_subject: inbox, chunk_size: CHUNK_BYTES, no_consumers: false, jsck: true }),
  ).catch((cause: unknown) => {
    arriving.unsubscribe()
    throw cause
  })
  return { ...answer, chunks: chunksOf(arriving, stream) }
}

async function* chunksOf(arriving: AsyncIterable<Msg>, stream: string): AsyncGenerator<Uint8Array> {
  for await (const message of arriving) {
    if (message.data.length === 0) {
      // The end; with a status when it is not complete.
      const { code = 0, description } = message.headers ?? {}
      if (code !== 0 && code !== 204) throw new Error(`the snapshot of ${stream} ended early: ${code} ${description}`)
      return
    }
    yield message.data
    // The broker sends the next ones once some are acknowledged.
    message.respond()
  }
  throw new Error(`the snapshot of ${stream} ended early`)
}

/** Creates a stream from a snapshot. @throws Error when it exists, or the broker refuses it */
export async function restoreStream(
  connection: NatsConnection,
  { config, state, chunks }: StreamSnapshot,
): Promise<void> {
  const { deliver_subject: subject } = await request<{ readonly deliver_subject: string }>(
    connection,
    `$JS.API.STREAM.RESTORE.${config.name}`,
    JSON.stringify({ config, state }),
  )
  for await (const chunk of chunks) await connection.request(subject, chunk, { timeout: ANSWER_MS_MAX })
  const { error } = (await connection.request(subject, '', { timeout: ANSWER_MS_MAX })).json<ApiAnswer>()
  if (error !== undefined) throw new Error(`${config.name} could not be restored: ${error.description}`)
}

async function request<T>(connection: NatsConnection, subject: string, body: string): Promise<T> {
  const answer = (await connection.request(subject, body, { timeout: ANSWER_MS_MAX })).json<T & ApiAnswer>()
  if (answer.error !== undefined) throw new Error(`${subject}: ${answer.error.description}`)
  return answer
}
