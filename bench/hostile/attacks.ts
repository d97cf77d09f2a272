import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { bytesField } from '../../internal/ingest/otlp/otlp-answers.js'
import type { HttpServiceClient } from '../../internal/local/replay/client.js'
import { callGrpc } from './grpc-calls.js'
import { fromElsewhere, hold } from './held-connections.js'

/** The product, and a key of the tenant that attacks it. */
export interface Target {
  readonly baseUrl: string
  readonly secret: string
  readonly intakePort: number
  readonly grpcPort: number
}

/** One attack, and for how long. */
export interface Order {
  readonly attack: string
  readonly target: Target
  readonly ms: number
}
/** The environment variable that holds it. */
export const ORDER = 'ATTACK'

interface Hostile extends Target {
  readonly client: HttpServiceClient
}

const SERVICES = 9_900
const NAMES = 600
/** Each of five words of 32 places: as many as the limit of globs of a tenant allows. */
const RULES = 200

const longName = (kind: string, n: number): string => `${kind}-${'payments-gateway-'.repeat(3)}${n.toString(36)}`

/** A directory of long names, events that state others, and rules that match slowly. */
export async function prepare(client: HttpServiceClient): Promise<void> {
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

/** Its backlog stays in the lane for minutes. */
export const SLOWEST = 'events for slow rules'

/** What a tenant may send and ask, at its largest; repeated until the time is over. */
export const ATTACKS: Readonly<Record<string, (hostile: Hostile) => Promise<void>>> = {
  'a page of unknown names': async ({ client }) => void (await client.get('/api/v1/directory/unknown-names?limit=200')),
  'a record with suggestions': async ({ client }) => {
    const { data } = await client.page(50, undefined)
    for (const { id } of data) await client.get(`/v1/attribution/${id}`)
  },
  'a body of 16 MiB that is hardly JSON': async ({ client }) => {
    for (const unit of ['{', '}', '\n', '{"a":1},']) {
      await client.post('/api/v1/invocations', 'application/json', unit.repeat((16 * 1024 * 1024) / unit.length))
    }
  },
  'OTLP of half a million empty spans': (hostile) => otlp(hostile, emptySpans()),
  'a body that inflates a thousandfold': inflating,
  'four endless bodies': endlessBody,
  '2,048 calls of gRPC at once': (hostile) => callGrpc(hostile, true),
  '2,048 half-sent calls of gRPC': (hostile) => callGrpc(hostile, false),
  '2,000 half-sent heads': ({ intakePort }) => hold(intakePort, 500, 'GET / HTTP/1.1\r\nHost: a\r\n'),
  'eight half-sent bodies of 30 MiB': halfBodies,
  // Last: whatever came next would be beside its backlog.
  [SLOWEST]: async ({ client }) => {
    const events = Array.from({ length: 1_000 }, () => eventOf({ tags: slowTags() }))
    await client.post('/api/v1/invocations', 'application/x-ndjson', linesOf(events))
  },
}

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

/** 64 MiB of calls without an id, in 64 kB. */
const INFLATING = gzipSync(Buffer.alloc(64 * 1024 * 1024, '{"call_type":"acompletion"}\n'))

async function inflating({ intakePort, secret }: Hostile): Promise<void> {
  const headers = { 'x-api-key': secret, 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' }
  const address = `http://127.0.0.1:${intakePort}/intake/litellm`
  await fetch(address, { method: 'POST', headers, body: INFLATING }).then((answer) => answer.text())
}

/** Calls that are sent as fast as they are taken, until the service ends the connection. */
async function endlessBody({ intakePort, secret }: Hostile): Promise<void> {
  const socket = fromElsewhere(intakePort)
  const closed = once(socket.on('error', () => undefined).resume(), 'close')
  const chunk = `10000\r\n${'{"call_type":"acompletion"}\n'.repeat(4_000).slice(0, 0x10000)}\r\n`
  socket.write(
    `POST /intake/litellm HTTP/1.1\r\nHost: a\r\nX-API-Key: ${secret}\r\n` +
      'Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n',
  )
  const goesOn = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  }
  socket.on('drain', goesOn)
  goesOn()
  await closed
}

function halfBodies({ intakePort, secret }: Hostile): Promise<never> {
  const call = `{"id":"${randomUUID()}","call_type":"acompletion","metadata":{"a":"${'b'.repeat(400)}"}},`
  const body = `[${call.repeat(Math.floor((30 * 1024 * 1024) / call.length))}`
  const head =
    `POST /intake/litellm HTTP/1.1\r\nHost: a\r\nX-API-Key: ${secret}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length + 1}\r\n\r\n`
  return hold(intakePort, 2, Buffer.from(head + body))
}
