/** The client library in front of models of the AI SDK: as its middleware, and as the `fetch` of its providers. */
import assert from 'node:assert/strict'

const [ai, openaiName, anthropicName] = process.argv.slice(2)
const { ATTRIBUTION_CLIENT, ATTRIBUTION_URL, ATTRIBUTION_API_KEY, OTEL_SERVICE_NAME, PROVIDER } = process.env
const { Attribution } = await import(ATTRIBUTION_CLIENT)
const { generateText, streamText, embed, wrapLanguageModel } = await import(ai)
const { createOpenAI } = await import(openaiName)
const { createAnthropic } = await import(anthropicName)
const attribution = new Attribution({
  baseUrl: ATTRIBUTION_URL,
  apiKey: ATTRIBUTION_API_KEY,
  context: { service: OTEL_SERVICE_NAME },
})

function modelsOf(base, fetch) {
  const openai = createOpenAI({ baseURL: `${base}/v1`, apiKey: 'k', fetch })
  const anthropic = createAnthropic({ baseURL: `${base}/v1`, apiKey: 'k', fetch })
  const models = [openai('gpt-5-mini'), openai.chat('gpt-4o'), anthropic('claude-sonnet-4-5')]
  return { models, embedding: openai.embedding('text-embedding-3-small') }
}

async function parts(stream) {
  const all = []
  for await (const part of stream) all.push(part.type)
  return all
}
const answers = async ({ models, embedding }) => {
  const all = []
  for (const model of models) {
    all.push((await generateText({ model, prompt: 'hi' })).text)
    all.push(await parts(streamText({ model, prompt: 'hi' }).fullStream))
  }
  return [...all, (await embed({ model: embedding, value: 'hi' })).embedding]
}

const expected = await answers(modelsOf(`${PROVIDER}-unwrapped`))
assert.deepEqual(await answers(modelsOf(PROVIDER, attribution.fetch())), expected)

// An own `fetch` does not make one call two.
const { models } = modelsOf(PROVIDER, attribution.fetch())
for (const [at, model] of models.entries()) {
  const wrapped = wrapLanguageModel({ model, middleware: attribution.middleware() })
  assert.equal((await generateText({ model: wrapped, prompt: 'hi' })).text, expected[2 * at])
  assert.deepEqual(await parts(streamText({ model: wrapped, prompt: 'hi' }).fullStream), expected[2 * at + 1])
}
await attribution.close()
