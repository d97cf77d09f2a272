/** A provider on loopback that answers as OpenAI and Anthropic do, for their real clients. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { atEnd } from '../../support/run/at-end.js'

export interface Provider {
  readonly url: string
  /** Bodies of the requests, as they came. */
  readonly requests: Readonly<Record<string, unknown>>[]
}

const CHAT_USAGE = {
  prompt_tokens: 1_200,
  completion_tokens: 300,
  prompt_tokens_details: { cached_tokens: 1_000, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 128 },
}
const RESPONSES_USAGE = {
  input_tokens: 700,
  output_tokens: 80,
  input_tokens_details: { cached_tokens: 64 },
  output_tokens_details: { reasoning_tokens: 16 },
}
const MESSAGE_USAGE = {
  input_tokens: 100,
  output_tokens: 250,
  cache_read_input_tokens: 2_000,
  cache_creation_input_tokens: 500,
  cache_creation: { ephemeral_5m_input_tokens: 400, ephemeral_1h_input_tokens: 100 },
  server_tool_use: { web_search_requests: 2 },
  service_tier: 'standard',
}
export const SECRET_TEXT = 'a-completion-that-must-stay-here'

const chat = { id: 'chatcmpl-1', object: 'chat.completion', model: 'gpt-4o-mini-2024-07-18', service_tier: 'default' }
const chunk = (choices: readonly object[], usage: object | null = null) => ({
  ...chat,
  object: 'chat.completion.chunk',
  choices,
  usage,
})
const delta = (content: string) => [{ index: 0, delta: { content } }]
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-haiku-4-5-20251001' }

function answerTo(path: string, body: Readonly<Record<string, unknown>>): object | readonly object[] {
  const isStreamed = body['stream'] === true
  const asksForUsage = (body['stream_options'] as { include_usage?: boolean } | undefined)?.include_usage === true
  if (path === '/chat/completions' && isStreamed) {
    const parts = [chunk(delta(SECRET_TEXT)), chunk(delta(' and more'))]
    return asksForUsage ? [...parts, chunk([], CHAT_USAGE)] : parts
  }
  if (path === '/chat/completions') {
    return { ...chat, choices: [{ index: 0, message: { role: 'assistant', content: SECRET_TEXT } }], usage: CHAT_USAGE }
  }
  const response = { id: 'resp_1', object: 'response', model: 'gpt-4o-2024-08-06', output: [] }
  if (path === '/responses' && isStreamed) {
    return [
      { type: 'response.created', sequence_number: 0, response: { ...response, usage: null } },
      { type: 'response.output_text.delta', sequence_number: 1, delta: SECRET_TEXT },
      { type: 'response.completed', sequence_number: 2, response: { ...response, usage: RESPONSES_USAGE } },
    ]
  }
  if (path === '/responses') return { ...response, usage: RESPONSES_USAGE }
  if (path === '/embeddings') {
    return { object: 'list', model: 'text-embedding-3-small', data: [], usage: { prompt_tokens: 9, total_tokens: 9 } }
  }
  if (path === '/v1/messages' && isStreamed) {
    return [
      { type: 'message_start', message: { ...message, content: [], usage: { ...MESSAGE_USAGE, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: SECRET_TEXT } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 250 } },
      { type: 'message_stop' },
    ]
  }
  return { ...message, content: [{ type: 'text', text: SECRET_TEXT }], usage: MESSAGE_USAGE }
}

export async function startProvider(): Promise<Provider> {
  const requests: Readonly<Record<string, unknown>>[] = []
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (bytes: Buffer) => chunks.push(bytes))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8'))
      requests.push(body)
      if (body.model === 'broken') return void response.writeHead(400, { 'content-type': 'application/json' }).end('{}')
      const answer = answerTo(request.url ?? '', body)
      if (!Array.isArray(answer)) {
        return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      if (body.model === 'endless') return void response.write(`data: ${JSON.stringify(answer[0])}\n\n`)
      for (const part of answer) {
        const name = 'type' in part ? `event: ${part.type}\n` : ''
        response.write(`${name}data: ${JSON.stringify(part)}\n\n`)
      }
      response.end(request.url === '/v1/messages' ? '' : 'data: [DONE]\n\n')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}
