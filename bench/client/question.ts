import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Attribution } from '../../internal/sdk/attribution.js'
import { provenance } from '../machine.js'
import { writeResult } from '../results.js'
import { table } from '../table.js'

/**
 * Question: what does the client library cost its caller per call, and how much memory does it take while the service
 * cannot be reached?
 *
 * The same calls are made with a `fetch` that answers at once and with the same one wrapped, in turns: a chat with 4 KB
 * of prompt and 2 KB of answer, and one streamed in a hundred parts, which state a null usage or do not. What cannot be
 * reached shows in the last row: the same stream, each part of which something waits for and does not look at. The caller's
 * time ends when it has its answer; what the client does in the turn of the event loop behind it is shown apart. No
 * collection falls into a call, and the slowest hundredth is as many times slower than the median with the client as
 * without it: other load on the machine shows in the p99 several times over. Then a million calls are recorded at a
 * service that refuses every connection.
 */
export interface ClientOptions {
  readonly checkout: string
  readonly calls: number
  readonly awayCalls: number
}

const BAR_US = 50
const WARM_UP = 2_000
const URL_OF_CHATS = 'https://api.openai.com/v1/chat/completions'
const encoder = new TextEncoder()
const usage = { prompt_tokens: 1_000, completion_tokens: 500, prompt_tokens_details: { cached_tokens: 256 } }
const facts = { id: 'chatcmpl-1', object: 'chat.completion', model: 'gpt-4o-2024-08-06', service_tier: 'default' }
const ANSWER = JSON.stringify({ ...facts, choices: [{ index: 0, message: { content: 'word '.repeat(400) } }], usage })
const said = { ...facts, choices: [{ index: 0, delta: { content: 'word' } }] }
const PART = encoder.encode(`data: ${JSON.stringify(said)}\n\n`)
/** As OpenAI sends them once it is asked for the usage; the client takes it out. */
const PART_WITH_NULL = encoder.encode(`data: ${JSON.stringify({ ...said, usage: null })}\n\n`)
const LAST = encoder.encode(`data: ${JSON.stringify({ ...facts, choices: [], usage })}\n\ndata: [DONE]\n\n`)
const PARTS = 100
const messages = [{ role: 'user', content: 'a prompt '.repeat(450) }]

interface Form {
  readonly name: string
  readonly body: string
  readonly answer: () => Response
  readonly read: (response: Response) => Promise<unknown>
}
const FORMS: readonly Form[] = [
  {
    name: 'chat',
    body: JSON.stringify({ model: 'gpt-4o', messages }),
    answer: () => new Response(ANSWER, { headers: { 'content-type': 'application/json' } }),
    read: (response) => response.json(),
  },
  streamOf(`stream of ${PARTS} parts`, PART),
  streamOf(`stream of ${PARTS} parts with a null usage`, PART_WITH_NULL),
]
const FLOOR = streamOf(`${PARTS} parts, only waited for`, PART)

function streamOf(name: string, part: Uint8Array): Form {
  return {
    name,
    body: JSON.stringify({ model: 'gpt-4o', messages, stream: true }),
    answer: () => new Response(partsOf(part), { headers: { 'content-type': 'text/event-stream' } }),
    async read({ body }) {
      const reader = (body as ReadableStream).getReader()
      while (!(await reader.read()).done);
    },
  }
}

function partsOf(part: Uint8Array): ReadableStream {
  let left = PARTS
  return new ReadableStream(
    {
      pull(controller) {
        // Each part is its reader's, as from a socket.
        controller.enqueue((left-- > 0 ? part : LAST).slice())
        if (left < 0) controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}

/** The smallest observer that there can be. */
const waiting =
  (original: typeof fetch): typeof fetch =>
  async (...args) => {
    const { body } = await original(...args)
    const reader = (body as ReadableStream).getReader()
    const read = () => reader.read().then((part) => part)
    return { body: { getReader: () => ({ read }) } } as unknown as Response
  }

interface Measured {
  readonly name: string
  /** Median of the call alone. */
  readonly plain_us: number
  readonly median_us: number
  readonly p99_us: number
  /** On average, once the caller has its answer: the record, and its share of the sending. */
  readonly later_us: number
}

export async function client({ checkout, calls, awayCalls }: ClientOptions): Promise<void> {
  const attribution = new Attribution({ baseUrl: 'http://service', apiKey: 'k', fetch: accepting })
  const measured: Measured[] = []
  for (const form of FORMS) measured.push(await overheadOf(form, calls, (plain) => attribution.fetch({}, plain)))
  measured.push(await overheadOf(FLOOR, calls, waiting))
  await attribution.close()
  const memoryMb = await memoryWhileAway(awayCalls)
  const file = join(checkout, 'bench', 'results', 'client.json')
  const bars = { bar_us: BAR_US, calls, away_calls: awayCalls }
  writeResult(file, { ...provenance(checkout), ...bars, overhead: measured, away_mb: memoryMb })
  const rows = measured.map(({ name, plain_us, median_us, p99_us, later_us }) => [
    name,
    ...[plain_us, median_us, p99_us, later_us].map((us) => us.toFixed(1)),
  ])
  process.stdout.write(
    `\nµs of processor time that the client adds to a call; bar of p99 ${BAR_US}\n\n` +
      `${table([['', 'call alone', 'adds: median', 'p99', 'later, mean'], ...rows])}\n` +
      `${memoryMb.toFixed(1)} MB more after ${awayCalls} calls while the service cannot be reached\n`,
  )
}

/** Of processor times in order: the wrapped call's less the plain one's at the same place. */
async function overheadOf(form: Form, calls: number, wrap: (plain: typeof fetch) => typeof fetch): Promise<Measured> {
  const plain: typeof fetch = async () => form.answer()
  const wrapped = wrap(plain)
  const times = { plain: new Float64Array(calls), wrapped: new Float64Array(calls) }
  const later = { plain: 0, wrapped: 0 }
  for (let at = -WARM_UP; at < calls; at++) {
    for (const [name, fetching] of [
      ['plain', plain],
      ['wrapped', wrapped],
    ] as const) {
      const headers = new Headers({ authorization: 'Bearer k', 'content-type': 'application/json' })
      // Processor time: on a machine with other load, the time of the clock is mostly that of others.
      const before = process.cpuUsage()
      await form.read(await fetching(URL_OF_CHATS, { method: 'POST', body: form.body, headers }))
      const answered = process.cpuUsage()
      await turn()
      if (at < 0) continue
      times[name][at] = usBetween(before, answered)
      later[name] += usBetween(answered, process.cpuUsage())
    }
  }
  times.plain.sort()
  times.wrapped.sort()
  const at = (share: number): number => {
    const place = Math.floor(share * (calls - 1))
    return (times.wrapped[place] as number) - (times.plain[place] as number)
  }
  return {
    name: form.name,
    plain_us: times.plain[Math.floor(0.5 * (calls - 1))] as number,
    median_us: at(0.5),
    p99_us: at(0.99),
    later_us: (later.wrapped - later.plain) / calls,
  }
}

const usBetween = (from: NodeJS.CpuUsage, to: NodeJS.CpuUsage): number => to.user + to.system - from.user - from.system

/** After a collection: what is still held. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  collect()
  return process.memoryUsage().heapUsed
}

const accepting: typeof fetch = async () => new Response('{"rejected":0}', { status: 202 })

async function memoryWhileAway(calls: number): Promise<number> {
  const away = new Attribution({
    baseUrl: 'http://service',
    apiKey: 'k',
    fetch: () => Promise.reject(new TypeError('fetch failed')),
    onProblem: () => undefined,
  })
  const fetching = away.fetch({}, async () => new Response(ANSWER, { headers: { 'content-type': 'application/json' } }))
  const before = heapBytes()
  const [{ body }] = FORMS as readonly [Form]
  for (let call = 0; call < calls; call++) {
    // As between calls of an application: what only a turn of the event loop does.
    if (call % 1_000 === 0) await turn()
    await (await fetching(URL_OF_CHATS, { method: 'POST', body })).json()
  }
  const { waiting, lost } = away.counts
  if (waiting + lost !== calls) throw new Error(`of ${calls} calls, ${waiting} wait and ${lost} are lost`)
  return (heapBytes() - before) / 1_000_000
}
