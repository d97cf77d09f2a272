import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { embed, generateText, streamText } from 'ai'
import { tracing } from './telemetry.mjs'

const provider = tracing()
const { PROVIDER } = process.env
const openai = createOpenAI({ baseURL: `${PROVIDER}/v1`, apiKey: 'sk-x' })
const anthropic = createAnthropic({ baseURL: `${PROVIDER}/v1`, apiKey: 'sk-x' })
const google = createGoogleGenerativeAI({ baseURL: `${PROVIDER}/v1beta`, apiKey: 'x' })
const experimental_telemetry = { isEnabled: true, functionId: 'answer-question', metadata: { userId: 'u-9' } }
const models = [openai('gpt-5-mini'), openai.chat('gpt-4o'), anthropic('claude-sonnet-4-5'), google('gemini-2.5-flash')]

for (const model of models) {
  await generateText({ model, prompt: 'hi', experimental_telemetry })
  await streamText({ model, prompt: 'hi', experimental_telemetry }).consumeStream()
}
await embed({ model: openai.embedding('text-embedding-3-small'), value: 'hi', experimental_telemetry })
await provider.shutdown()
