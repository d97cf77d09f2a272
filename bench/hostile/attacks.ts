import { randomBytes, randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import type { HttpServiceClient } from '../../internal/local/replay/client.js'

/** What a tenant may send and ask, at its largest. */
export interface Hostile {
  readonly client: HttpServiceClient
  readonly secret: string
  readonly intakePort: number
}

export interface Attack {
  readonly name: string
  /** Repeated until the time is over. */
  readonly strike: (hostile: Hostile, signal: AbortSignal) => Promise<void>
}

const SERVICES = 9_900
const NAMES = 600
/** Each of five words of 32 places: as many as the limit of globs of a tenant allows. */
const RULES = 200

const longName = (kind: string, n: number): string => `${kind}-${'payments-gateway-'.repeat(3)}${n.toString(36)}`

/** A directory of long names, events that state others, and rules that match slowly. */
export async function prepare({ client }: Hostile): Promise<void> {
  const services = Array.from({ length: SERVICES }, (_, n) => ({ name: longName('s', n), owner: 'team' }))
  const file = client.put(
    '/api/v1/directory/import?keep_missing=true',
    'application/json',
    JSON.stringify({ services }),
  )
  let job = JSON.parse(await accepted(file)) as { readonly id: string; readonly status: string }
  while (job.status === 'running') {
    await sleep(500)
    job = JSON.parse(await accepted(client.get(`/api/v1/directory/imports/${job.id}`))) as typeof job
  }
  for (let n = 0; n < RULES; n++) {
    const when = [{ field: 'team', match: 'glob', value: `*${'a'.repeat(120)}${n.toString(36).padStart(3, 'b')}*` }]
    const rule = { name: `rule-${n}`, when, set: { service: longName('s', n) } }
    await accepted(client.post('/api/v1/mapping-rules', 'application/json', JSON.stringify(rule)))
  }
  const events = Array.from({ length: NAMES }, (_, n) => eventOf({ attributed_service: longName('t', n) }))
  await accepted(client.post('/api/v1/invocations', 'application/x-ndjson', linesOf(events)))
}

export const eventOf = (fields: object) => ({
  event_id: randomUUID(),
  ingestion_timestamp: new Date().toISOString(),
  ingestion_layer: 'gateway',
  provider: 'openai',
  requested_model: 'gpt-4o-mini',
  input_tokens: 200,
  output_tokens: 50,
  ...fields,
})

const linesOf = (events: readonly object[]): string => events.map((event) => JSON.stringify(event)).join('\n')

async function accepted(sent: ReturnType<HttpServiceClient['post']>): Promise<string> {
  const { status, body } = await sent
  if (status >= 300) throw new Error(`refused (${status}): ${body.slice(0, 300)}`)
  return body
}

/** As large as the largest limit, and unlike any other: nothing of it can be remembered. */
const slowTags = () => ({ team: `${'a'.repeat(119)}${randomBytes(4).toString('hex')}${'a'.repeat(119)}` })

export const ATTACKS: readonly Attack[] = [
  {
    name: 'a page of unknown names',
    strike: async ({ client }) => void (await client.get('/api/v1/directory/unknown-names?limit=200')),
  },
  {
    name: 'a record with suggestions',
    async strike({ client }, signal) {
      const { data } = await client.page(50, undefined)
      for (const { id } of data) if (!signal.aborted) await client.get(`/v1/attribution/${id}`)
    },
  },
  {
    name: 'events for slow rules',
    async strike({ client }) {
      const events = Array.from({ length: 1_000 }, () => eventOf({ tags: slowTags() }))
      await client.post('/api/v1/invocations', 'application/x-ndjson', linesOf(events))
    },
  },
  {
    name: 'a body of 16 MiB that is hardly JSON',
    async strike({ client }) {
      for (const unit of ['{', '}', '\n', '{"a":1},']) {
        await client.post('/api/v1/invocations', 'application/json', unit.repeat((16 * 1024 * 1024) / unit.length))
      }
    },
  },
  { name: 'OTLP of half a million empty spans', strike: (hostile) => otlp(hostile, emptySpans()) },
  {
    name: '2,000 half-sent heads',
    strike: (hostile, signal) => hold(hostile, 2_000, 'GET / HTTP/1.1\r\nHost: a\r\n', signal),
  },
  { name: 'six half-sent bodies of 30 MiB', strike: (hostile, signal) => halfBodies(hostile, signal) },
]

async function otlp({ intakePort, secret }: Hostile, body: Buffer<ArrayBuffer>): Promise<void> {
  const headers = { 'x-api-key': secret, 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' }
  await fetch(`http://127.0.0.1:${intakePort}/v1/traces`, { method: 'POST', headers, body }).then((answer) =>
    answer.text(),
  )
}

/** 18 kB: a field that nobody reads pays for what is packed tightly. */
function emptySpans(): Buffer<ArrayBuffer> {
  const spans = Buffer.alloc(1_000_000, Buffer.from([0x12, 0]))
  return gzipSync(Buffer.concat([bytesField(7, randomBytes(17_000)), bytesField(1, bytesField(2, spans))]))
}

function bytesField(field: number, bytes: Buffer): Buffer {
  const length: number[] = []
  for (let rest = bytes.length; ; rest >>>= 7) {
    length.push(rest > 127 ? (rest & 127) | 128 : rest)
    if (rest <= 127) break
  }
  return Buffer.concat([Buffer.from([field * 8 + 2, ...length]), bytes])
}

/** Opens connections from an address of its own, and opens anew those that are closed. */
async function hold(
  { intakePort: port }: Hostile,
  count: number,
  head: string | Buffer,
  signal: AbortSignal,
): Promise<void> {
  const sockets = new Set<Socket>()
  while (!signal.aborted) {
    while (sockets.size < count) {
      const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
      socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
      socket.write(head)
      sockets.add(socket)
    }
    await sleep(100)
  }
  for (const socket of sockets) socket.destroy()
}

function halfBodies(hostile: Hostile, signal: AbortSignal): Promise<void> {
  const call = `{"id":"${randomUUID()}","call_type":"acompletion","metadata":{"a":"${'b'.repeat(400)}"}},`
  const body = `[${call.repeat(Math.floor((30 * 1024 * 1024) / call.length))}`
  const head =
    `POST /intake/litellm HTTP/1.1\r\nHost: a\r\nX-API-Key: ${hostile.secret}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length + 1}\r\n\r\n`
  return hold(hostile, 6, Buffer.from(head + body), signal)
}
