import { createRequire } from 'node:module'
import { OpenAIInstrumentation } from '@opentelemetry/instrumentation-openai'
import { tracing } from './telemetry.mjs'

// It patches modules as they are required.
const provider = tracing([new OpenAIInstrumentation()])
const { default: OpenAI } = createRequire(import.meta.url)('openai')
const { callOpenai, OPENAI } = await import('./calls.mjs')
await callOpenai(new OpenAI(OPENAI))
await provider.shutdown()
