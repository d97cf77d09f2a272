import { observeOpenAI } from '@langfuse/openai'
import { LangfuseSpanProcessor } from '@langfuse/otel'
import OpenAI from 'openai'
import { callOpenai, OPENAI } from './calls.mjs'
import { tracing } from './telemetry.mjs'

const provider = tracing([], (exporter) => new LangfuseSpanProcessor({ exporter, publicKey: 'pk', secretKey: 'sk' }))
await callOpenai(observeOpenAI(new OpenAI(OPENAI)))
await provider.forceFlush()
await provider.shutdown()
