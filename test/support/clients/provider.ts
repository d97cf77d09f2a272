import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import type { Bill } from './recording.js'

/** A provider on loopback that answers as OpenAI, Anthropic and Google do, and keeps a ledger. */
export interface Provider {
  readonly url: string
  /** What it billed for calls below `/c/<name>/`. */
  readonly billsOf: (name: string) => readonly Bill[]
  readonly close: () => Promise<void>
}

/** A call as it came, and its number, from which all counts follow: no two calls have the same. */
interface Call {
  readonly n: number
  readonly path: string
  // biome-ignore lint/suspicious/noExplicitAny: a request of somebody else's API
  readonly body: any
}

interface Answer {
  readonly bill: Bill
  readonly whole: object
  /** Events of the stream, by their names where the API gives them names. */
  readonly events?: readonly (readonly [name: string | undefined, data: object | string])[]
}

export async function startProvider(): Promise<Provider> {
  const bills = new Map<string, Bill[]>()
  let calls = 0
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://provider')
    const [, name = '', path = ''] = /^\/c\/([^/]+)(\/.*)$/.exec(pathname) ?? []
    const call = { n: ++calls, path, body: await bodyOf(request) }
    const answer = answerTo(call)
    if (answer === undefined) return end(response, 404, call, { error: { message: 'none', type: 'not_found_error' } })
    if (isToFail(call)) return end(response, 500, call, { error: { message: 'failed', type: 'server_error' } })
    bills.set(name, [...(bills.get(name) ?? []), answer.bill])
    if (answer.events === undefined || !isStream(call)) return end(response, 200, call, answer.whole)
    response.writeHead(200, { 'content-type': 'text/event-stream', ...idsOf(call) })
    for (const [event, data] of answer.events) {
      const text = typeof data === 'string' ? data : JSON.stringify(data)
      response.write(`${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`)
    }
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    billsOf: (name) => bills.get(name) ?? [],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a request of somebody else's API
async function bodyOf(request: IncomingMessage): Promise<any> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  const text = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8')
  return text.startsWith('{') ? JSON.parse(text) : {}
}

const idsOf = ({ n }: Call) => ({ 'x-request-id': `req_fake${n}`, 'request-id': `req_fake${n}` })

function end(response: ServerResponse, status: number, call: Call, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', ...idsOf(call) })
  response.end(JSON.stringify(body))
}

/** A caller asks for a failure by a word in its prompt. */
const isToFail = ({ body }: Call): boolean => JSON.stringify(body).includes('FAIL500')
const isStream = ({ body, path }: Call): boolean => body.stream === true || path.includes(':stream')

function answerTo(call: Call): Answer | undefined {
  const { path } = call
  if (path.endsWith('/chat/completions')) return chat(call)
  if (path.endsWith('/responses')) return responses(call)
  if (path.endsWith('/embeddings')) return embeddings(call)
  if (path.endsWith('/messages')) return messages(call)
  if (/\/models\/[^/:]+:(stream)?generateContent$/i.test(path)) return gemini(call)
  return undefined
}

const SAID = 'Hello'
const nowS = (): number => Math.floor(Date.now() / 1000)
const isReasoning = (model: string): boolean => /^(o\d|gpt-5)/.test(model)

function chat({ n, body }: Call): Answer {
  const model: string = body.model
  const served = model === 'gpt-4o' ? 'gpt-4o-2024-08-06' : model
  const [input, output, cached, reasoning] = [1000 + n, 100 + n, 256, isReasoning(model) ? 30 : 0]
  const tier: string = body.service_tier ?? 'default'
  const bill: Bill = {
    n,
    api: 'chat',
    provider: 'openai',
    model,
    ...(served !== model && { served }),
    input,
    output,
    cacheRead: cached,
    ...(reasoning > 0 && { reasoning }),
    ...((tier === 'flex' || tier === 'priority') && { tier }),
    ...(body.stream === true && { stream: true }),
  }
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
  }
  const base = { id: `chatcmpl-fake${n}`, created: nowS(), model: served, service_tier: tier }
  const chunk = { ...base, object: 'chat.completion.chunk' }
  const choice = { index: 0, logprobs: null }
  const message = { role: 'assistant', content: SAID, refusal: null }
  const isTold = body.stream_options?.include_usage === true
  return {
    bill,
    whole: { ...base, object: 'chat.completion', choices: [{ ...choice, message, finish_reason: 'stop' }], usage },
    events: [
      [
        undefined,
        { ...chunk, choices: [{ ...choice, delta: { role: 'assistant', content: SAID }, finish_reason: null }] },
      ],
      [undefined, { ...chunk, choices: [{ ...choice, delta: {}, finish_reason: 'stop' }] }],
      ...(isTold ? [[undefined, { ...chunk, choices: [], usage }] as const] : []),
      [undefined, '[DONE]'],
    ],
  }
}

function responses({ n, body }: Call): Answer {
  const model: string = body.model
  const [input, output, cached, reasoning] = [1000 + n, 100 + n, 256, 30]
  const tier: string = body.service_tier ?? 'default'
  const item = {
    ...{ id: `msg_fake${n}`, type: 'message', status: 'completed', role: 'assistant' },
    content: [{ type: 'output_text', text: SAID, annotations: [], logprobs: [] }],
  }
  const whole = {
    ...{ id: `resp_fake${n}`, object: 'response', created_at: nowS(), status: 'completed', error: null, model },
    ...{ incomplete_details: null, instructions: null, max_output_tokens: null, parallel_tool_calls: true },
    ...{ previous_response_id: null, reasoning: { effort: null, summary: null }, store: false, temperature: 1 },
    ...{ text: { format: { type: 'text' } }, tool_choice: 'auto', tools: [], top_p: 1, truncation: 'disabled' },
    ...{ user: null, metadata: {}, service_tier: tier, output: [item] },
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + output,
    },
  }
  const place = { item_id: item.id, output_index: 0, content_index: 0 }
  const part = { type: 'output_text', text: '', annotations: [] }
  const events = [
    { type: 'response.created', response: { ...whole, status: 'in_progress', output: [], usage: null } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...place, part },
    { type: 'response.output_text.delta', ...place, delta: SAID },
    { type: 'response.output_text.done', ...place, text: SAID },
    { type: 'response.content_part.done', ...place, part: item.content[0] },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: whole },
  ]
  return {
    bill: {
      ...{ n, api: 'responses', provider: 'openai', model, input, output, cacheRead: cached, reasoning },
      ...((tier === 'flex' || tier === 'priority') && { tier }),
      ...(body.stream === true && { stream: true }),
    },
    whole,
    events: events.map((data, at) => [data.type, { ...data, sequence_number: at }] as const),
  }
}

function embeddings({ n, body }: Call): Answer {
  const inputs: readonly unknown[] = Array.isArray(body.input) ? body.input : [body.input]
  const floats = [0, 0.25, 0.5, 0.75]
  const embedding =
    body.encoding_format === 'base64' ? Buffer.from(Float32Array.from(floats).buffer).toString('base64') : floats
  return {
    bill: { n, api: 'embeddings', provider: 'openai', model: body.model, input: 1000 + n, output: 0 },
    whole: {
      object: 'list',
      model: body.model,
      data: inputs.map((_, index) => ({ object: 'embedding', index, embedding })),
      usage: { prompt_tokens: 1000 + n, total_tokens: 1000 + n },
    },
  }
}

function messages({ n, body }: Call): Answer {
  const [uncached, read, written5m, written1h, output] = [500 + n, 2000, 200, 100, 100 + n]
  const usage = {
    input_tokens: uncached,
    cache_creation_input_tokens: written5m + written1h,
    cache_read_input_tokens: read,
    cache_creation: { ephemeral_5m_input_tokens: written5m, ephemeral_1h_input_tokens: written1h },
    output_tokens: output,
    service_tier: 'standard',
  }
  const whole = {
    ...{ id: `msg_fake${n}`, type: 'message', role: 'assistant', model: body.model, stop_reason: 'end_turn' },
    ...{ stop_sequence: null, content: [{ type: 'text', text: SAID }], usage },
  }
  const begun = { ...whole, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } }
  const events = [
    { type: 'message_start', message: begun },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: SAID } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: output },
    },
    { type: 'message_stop' },
  ]
  return {
    bill: {
      ...{ n, api: 'messages', provider: 'anthropic', model: body.model, output },
      ...{ input: uncached + read + written5m + written1h, cacheRead: read },
      ...{ cacheWrite: written5m + written1h, cacheWrite1h: written1h },
      ...(body.stream === true && { stream: true }),
    },
    whole,
    events: events.map((data) => [data.type, data] as const),
  }
}

function gemini({ n, path }: Call): Answer {
  const model = /\/models\/([^/:]+):/.exec(path)?.[1] ?? ''
  const [input, cached, said, thought] = [1000 + n, 256, 100 + n, 30]
  const usageMetadata = {
    promptTokenCount: input,
    candidatesTokenCount: said,
    totalTokenCount: input + said + thought,
    cachedContentTokenCount: cached,
    thoughtsTokenCount: thought,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
  }
  const whole = {
    candidates: [{ content: { role: 'model', parts: [{ text: SAID }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata,
    modelVersion: model,
    responseId: `gem-fake${n}`,
  }
  return {
    bill: {
      ...{ n, api: 'gemini', provider: 'gcp.gemini', model, input, cacheRead: cached },
      ...{ output: said + thought, reasoning: thought },
      ...(path.includes(':stream') && { stream: true }),
    },
    whole,
    events: [[undefined, whole]],
  }
}
