import fc from 'fast-check'
import { expect, test } from 'vitest'
import { factsOfRequest, sentRequest } from '../../../internal/sdk/request.js'

const CHATS = 'https://api.openai.com/v1/chat/completions'
const facts = (url: string, init: RequestInit) => factsOfRequest(sentRequest(url, { method: 'POST', ...init }))
const asking = (body: string, headers = {}) => facts(CHATS, { body, headers }).asking

test('a streamed chat asks for its usage, and for nothing else', () => {
  const options = fc.option(fc.dictionary(fc.string(), fc.jsonValue()), { nil: undefined })
  const more = fc.dictionary(fc.constantFrom('a', 'messages', 'x"stream_options"'), fc.jsonValue({ maxDepth: 3 }))
  fc.assert(
    fc.property(options, more, fc.constantFrom(0, 1), (stream_options, others, indent) => {
      const said = { role: 'user', content: 'stream_options', tools: [{ stream_options: {}, model: 'inner' }] }
      const asked = { ...others, said, model: 'm', stream_options, stream: true }
      const { model, asking } = facts(CHATS, { body: JSON.stringify(asked, undefined, indent) })

      expect(model).toBe('m')
      if (stream_options !== undefined && 'include_usage' in stream_options) expect(asking).toBeUndefined()
      else expect(JSON.parse(asking ?? '')).toEqual(withUsage(asked))
    }),
  )
})
const withUsage = (asked: { readonly stream_options?: object | undefined }): object =>
  JSON.parse(JSON.stringify({ ...asked, stream_options: { ...asked.stream_options, include_usage: true } }))

test('a request stays as it is that states its length, is signed, asks itself, is not streamed or is no chat', () => {
  const body = '{"model":"m","stream":true}'

  expect(asking(body)).toBeDefined()
  expect(asking(body, { 'content-length': '27' })).toBeUndefined()
  expect(asking(body, { authorization: 'AWS4-HMAC-SHA256 Credential=x' })).toBeUndefined()
  // OpenRouter's own way to ask.
  expect(asking('{"model":"m","stream":true,"usage":{"include":true}}')).toBeUndefined()
  expect(asking('{"model":"m","stream":false}')).toBeUndefined()
  expect(asking('{"model":"m","inner":{"stream":true}}')).toBeUndefined()
  expect(facts('https://api.openai.com/v1/responses', { body }).asking).toBeUndefined()
})

test('the model is that of the body, else of the path; a request that sends nothing to a model has none', () => {
  const google = 'https://generativelanguage.googleapis.com/v1beta/models'

  expect(facts(`${google}/gemini-2.5-flash:generateContent`, { body: '{}' }).model).toBe('gemini-2.5-flash')
  expect(facts(CHATS, { body: '{"messages":[{"model":"x"}]}' }).model).toBeUndefined()
  expect(facts(CHATS, { body: new FormData() }).model).toBeUndefined()
  const form = new FormData()
  form.set('model', 'whisper-1')
  expect(facts('https://api.openai.com/v1/audio/transcriptions', { body: form }).model).toBe('whisper-1')
  const bedrock = 'https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-haiku-4-5-v1%3A0/invoke'
  expect(facts(bedrock, { body: '{}' }).model).toBe('anthropic.claude-haiku-4-5-v1:0')
  expect(factsOfRequest(sentRequest(`${google}/gemini-2.5-flash`, undefined)).model).toBeUndefined()
})

test('no body makes it throw', () => {
  fc.assert(fc.property(fc.string(), (text) => void facts(CHATS, { body: `{${text}` })))
})
