import Anthropic from '@anthropic-ai/sdk'
import { callAnthropic } from './calls.mjs'
import { tracing } from './telemetry.mjs'

const provider = tracing()
await callAnthropic(Anthropic)
await provider.shutdown()
