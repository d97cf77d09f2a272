/** The same calls for each instrumentation of the SDKs: plain, streamed with and without usage, embedded, failed. */

const { PROVIDER } = process.env
const messages = [{ role: 'user', content: 'hi' }]

/** Options of a client of OpenAI. */
export const OPENAI = { baseURL: `${PROVIDER}/v1`, apiKey: 'sk-x', maxRetries: 0 }

export async function callOpenai(client) {
  await client.chat.completions.create({ model: 'gpt-4o', messages })
  await drain(
    client.chat.completions.create({
      model: 'gpt-4o-mini',
      messages,
      stream: true,
      stream_options: { include_usage: true },
    }),
  )
  await drain(client.chat.completions.create({ model: 'gpt-4o-mini', messages, stream: true }))
  await client.responses.create({ model: 'gpt-5-mini', input: 'hi' })
  await drain(client.responses.create({ model: 'gpt-5-mini', input: 'hi', stream: true }))
  await client.embeddings.create({ model: 'text-embedding-3-small', input: 'hi' })
  await client.chat.completions.create({ model: 'gpt-5-mini', messages, service_tier: 'flex' })
  await client.chat.completions
    .create({ model: 'gpt-4o', messages: [{ role: 'user', content: 'FAIL500' }] })
    .catch(() => undefined)
}

export async function callAnthropic(Anthropic) {
  const client = new Anthropic({ baseURL: PROVIDER, apiKey: 'sk-x', maxRetries: 0 })
  const call = { model: 'claude-sonnet-4-5', max_tokens: 100, messages }
  await client.messages.create(call)
  await drain(client.messages.create({ ...call, stream: true }))
}

async function drain(stream) {
  for await (const _ of await stream);
}
