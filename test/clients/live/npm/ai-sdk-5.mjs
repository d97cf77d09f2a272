import { embed, generateText, streamText } from 'ai-5'
import { createAnthropic } from 'ai-5-anthropic'
import { createOpenAI } from 'ai-5-openai'
import { tracing } from './telemetry.mjs'

const provider = tracing()
const { PROVIDER } = process.env
const openai = createOpenAI({ baseURL: `${PROVIDER}/v1`, apiKey: 'sk-x' })
const anthropic = createAnthropic({ baseURL: `${PROVIDER}/v1`, apiKey: 'sk-x' })
const experimental_telemetry = { isEnabled: true, functionId: 'answer-question', metadata: { userId: 'u-9' } }

for (const model of [openai('gpt-5-mini'), openai.chat('gpt-4o'), anthropic('claude-sonnet-4-5')]) {
  await generateText({ model, prompt: 'hi', experimental_telemetry })
  await streamText({ model, prompt: 'hi', experimental_telemetry }).consumeStream()
}
await embed({ model: openai.textEmbeddingModel('text-embedding-3-small'), value: 'hi', experimental_telemetry })
await provider.shutdown()
