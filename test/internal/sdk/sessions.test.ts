import { EventEmitter } from 'node:events'
import { beforeEach, expect, test } from 'vitest'
import type { Attribution } from '../../../internal/sdk/attribution.js'
import { recordedCalls } from '../../support/recorded-calls.js'

let sent: Record<string, unknown>[]
let attribution: Attribution
beforeEach(() => {
  ;({ attribution, sent } = recordedCalls())
})

test('each answer of a realtime session is a call of its model, and each transcript of that which transcribes', async () => {
  const session = Object.assign(new EventEmitter(), {
    url: new URL('wss://api.openai.com/v1/realtime?model=gpt-realtime'),
  })
  expect(attribution.wrap(session)).toBe(session)
  const usage = { input_tokens: 5, output_tokens: 7, input_token_details: { audio_tokens: 5 } }
  for (const event of [
    { type: 'session.created', session: { model: 'gpt-realtime-2026-08-28' } },
    { type: 'response.created', response: { id: 'resp_1', usage: null } },
    { type: 'response.done', response: { id: 'resp_1', usage } },
    TRANSCRIBED,
    { type: 'session.updated', session: { audio: { input: { transcription: { model: 'gpt-4o-transcribe' } } } } },
    TRANSCRIBED,
    { type: 'session.updated', session: { input_audio_transcription: { model: 'whisper-1' } } },
    TRANSCRIBED,
  ]) {
    session.emit('event', event)
  }
  await attribution.flush()

  const call = { provider: 'openai', requested_model: 'gpt-realtime-2026-08-28', outcome: 'success' }
  expect(sent).toMatchObject([
    { ...call, response_id: 'resp_1', provider_usage: usage },
    { ...call, requested_model: 'unknown', provider_usage: { type: 'duration', seconds: 3 } },
    { ...call, requested_model: 'gpt-4o-transcribe' },
    { ...call, requested_model: 'whisper-1' },
  ])
})
const TRANSCRIBED = {
  type: 'conversation.item.input_audio_transcription.completed',
  usage: { type: 'duration', seconds: 3 },
}

test("each message of Google's Live API with a usage is a call", async () => {
  const messages: unknown[] = []
  const connect = async ({ callbacks }: { callbacks: { onmessage: (message: object) => void } }) => {
    callbacks.onmessage({ serverContent: {} })
    callbacks.onmessage({ usageMetadata: { promptTokenCount: 3, responseTokenCount: 4 } })
    return 'session'
  }
  const client = attribution.wrap({ apiClient: { apiCall: fetch }, live: { connect } })
  const parameters = { model: 'gemini-live-2.5', callbacks: { onmessage: (message: object) => messages.push(message) } }
  expect(await client.live.connect(parameters as never)).toBe('session')
  await attribution.flush()

  expect(messages).toHaveLength(2)
  expect(sent).toMatchObject([
    { requested_model: 'gemini-live-2.5', provider: 'gemini', provider_usage: { responseTokenCount: 4 } },
  ])
})
