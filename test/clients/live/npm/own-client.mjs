/**
 * The client library around one version of an SDK. Each method is called unwrapped and wrapped: both must answer the
 * same. What the wrapped calls cost is compared with the ledger by the test that runs this.
 *
 * Arguments: a form of SDK, and the package of its version.
 */
import assert from 'node:assert/strict'

const [form, name] = process.argv.slice(2)
const { ATTRIBUTION_CLIENT, ATTRIBUTION_URL, ATTRIBUTION_API_KEY, OTEL_SERVICE_NAME, PROVIDER } = process.env
const { Attribution } = await import(ATTRIBUTION_CLIENT)
const attribution = new Attribution({
  baseUrl: ATTRIBUTION_URL,
  apiKey: ATTRIBUTION_API_KEY,
  context: { service: OTEL_SERVICE_NAME },
})
const sdk = await import(name)

const said = [{ role: 'user', content: 'hi' }]
const chat = { model: 'gpt-4o', messages: said }
const response = { model: 'gpt-5-mini', input: 'hi' }
const message = { model: 'claude-sonnet-4-5', max_tokens: 100, messages: said }
const question = { model: 'gemini-2.5-flash', contents: 'hi' }

/** What a method answered, as values: parts of a stream, and the names of the classes that are handed out. */
async function parts(stream) {
  const all = [stream.constructor.name]
  for await (const part of stream) all.push(part)
  return all
}
const raw = (answer, text) => [
  [answer.status, answer.ok, answer.bodyUsed, new URL(answer.url).pathname.replace(/^\/c\/[^/]+/, '')],
  [answer.constructor.name, answer.body.constructor.name],
  text.replace(/\d+/g, '0'),
]
const thrown = (promise) => promise.then(assert.fail, (error) => [error.constructor.name, error.status, error.message])
const both = async ({ data, response: { status }, ...rest }) => [data, status, Object.keys(rest)]

const OPENAI = {
  create: (client) => client.chat.completions.create(chat),
  'create, streamed': async (client) => parts(await client.chat.completions.create({ ...chat, stream: true })),
  'create, streamed with usage': async (client) =>
    parts(await client.chat.completions.create({ ...chat, stream: true, stream_options: { include_usage: true } })),
  'create, streamed, as text': async (client) => {
    const answer = await client.chat.completions.create({ ...chat, stream: true }).asResponse()
    return raw(answer, await answer.text())
  },
  'create, withResponse': async (client) => both(await client.chat.completions.create(chat).withResponse()),
  'create, asResponse': async (client) => {
    const answer = await client.chat.completions.create(chat).asResponse()
    return [raw(answer, ''), await answer.json()]
  },
  'create, split': async (client) =>
    Promise.all((await client.chat.completions.create({ ...chat, stream: true })).tee().map(parts)),
  'create, flex': (client) => client.chat.completions.create({ ...chat, model: 'gpt-5-mini', service_tier: 'flex' }),
  parse: (client) => client.chat.completions.parse(chat),
  stream: (client) => client.chat.completions.stream(chat).finalChatCompletion(),
  'stream, events': async (client) => parts(client.chat.completions.stream(chat)),
  'withOptions, create': (client) => client.withOptions({ timeout: 9_000 }).chat.completions.create(chat),
  responses: (client) => client.responses.create(response),
  'responses, streamed': async (client) => parts(await client.responses.create({ ...response, stream: true })),
  'responses, parse': (client) => client.responses.parse(response),
  'responses, stream': (client) => client.responses.stream(response).finalResponse(),
  embeddings: (client) => client.embeddings.create({ model: 'text-embedding-3-small', input: 'hi' }),
  fails: (client) =>
    thrown(client.chat.completions.create({ ...chat, messages: [{ role: 'user', content: 'FAIL500' }] })),
  'is not found': (client) => thrown(client.post('/nothing', { body: chat })),
}

const ANTHROPIC = {
  create: (client) => client.messages.create(message),
  'create, streamed': async (client) => parts(await client.messages.create({ ...message, stream: true })),
  'create, withResponse': async (client) => both(await client.messages.create(message).withResponse()),
  'create, asResponse': async (client) => {
    const answer = await client.messages.create(message).asResponse()
    return raw(answer, await answer.text())
  },
  stream: (client) => client.messages.stream(message).finalMessage(),
  'stream, events': async (client) => parts(client.messages.stream(message)),
  'beta, create': (client) => client.beta.messages.create(message),
  'beta, stream': (client) => client.beta.messages.stream(message).finalMessage(),
  'withOptions, create': (client) => client.withOptions({ maxRetries: 1 }).messages.create(message),
  fails: (client) => thrown(client.messages.create({ ...message, messages: [{ role: 'user', content: 'FAIL500' }] })),
}

const GOOGLE = {
  generateContent: (client) => client.models.generateContent(question),
  generateContentStream: async (client) => parts(await client.models.generateContentStream(question)),
  'chats, sendMessage': (client) => client.chats.create({ model: question.model }).sendMessage({ message: 'hi' }),
  fails: (client) => thrown(client.models.generateContent({ ...question, contents: 'FAIL500' })),
}

const FORMS = {
  openai: [OPENAI, (base) => new sdk.OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 })],
  anthropic: [ANTHROPIC, (base) => new sdk.Anthropic({ baseURL: base, apiKey: 'k', maxRetries: 0 })],
  google: [GOOGLE, (base) => new sdk.GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: base } })],
}

/** Each call has numbers and times of its own. */
const plain = (value) =>
  JSON.parse(
    JSON.stringify(value, (key, each) =>
      typeof each === 'number' || /^(headers|sdkHttpResponse)$/.test(key) ? 0 : each,
    ).replace(/fake\d+/g, 'fake'),
  )

const [methods, clientOf] = FORMS[form]
const unwrapped = clientOf(`${PROVIDER}-unwrapped`)
const wrapped = attribution.wrap(clientOf(PROVIDER))
for (const [method, call] of Object.entries(methods)) {
  const expected = plain(await call(unwrapped))
  assert.deepEqual(plain(await call(wrapped)), expected, method)
  console.log(method)
}
await attribution.close()
