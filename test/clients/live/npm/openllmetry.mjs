import { OpenAIInstrumentation } from '@traceloop/instrumentation-openai'
import OpenAI from 'openai'
import { callOpenai, OPENAI } from './calls.mjs'
import { tracing } from './telemetry.mjs'

const instrumentation = new OpenAIInstrumentation()
const provider = tracing([instrumentation])
instrumentation.manuallyInstrument(OpenAI)
await callOpenai(new OpenAI(OPENAI))
await provider.shutdown()
