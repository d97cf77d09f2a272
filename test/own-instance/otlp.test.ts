import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Attributes, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Broker } from '../../internal/broker/connect.js'
import { environmentIn, freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { connectStore } from '../../internal/store/client.js'
import { type Ask, askAs } from '../support/ask.js'
import type { ShownRecord } from '../support/attributed.js'
import { connectTo } from '../support/instance.js'
import { logging, type SdkOptions, tracing } from '../support/otlp-sdk.js'
import { launchService, type RunningService } from '../support/service.js'
import { textsIn, tracesInBroker, tracesInFiles, tracesInStore } from '../support/traces.js'

/** The OpenTelemetry SDK in front of the running product: which records its spans make, and what is kept of them. */

const CANARY = `canary${randomBytes(12).toString('hex')}`
/** In a field that is kept, so that a search which finds nothing is known to search. */
const KEPT = `kept${randomBytes(12).toString('hex')}`

const MESSAGES = JSON.stringify([{ role: 'user', content: `Tell nobody: ${CANARY}`.repeat(50) }])
const COUNTS = { input: 1200, output: 80, cached: 1000 }

/** One call in each convention, with the canary in every attribute that carries content. */
const CALLS: Readonly<Record<string, Attributes>> = {
  openai: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.response.model': 'gpt-4o-2024-08-06',
    'gen_ai.usage.input_tokens': COUNTS.input,
    'gen_ai.usage.output_tokens': COUNTS.output,
    'gen_ai.usage.cache_read.input_tokens': COUNTS.cached,
    'gen_ai.input.messages': MESSAGES,
    'gen_ai.output.messages': MESSAGES,
    'gen_ai.system_instructions': MESSAGES,
    'gen_ai.tool.definitions': MESSAGES,
    'gen_ai.retrieval.documents': [CANARY, MESSAGES],
  },
  openinference: {
    'openinference.span.kind': 'LLM',
    'llm.system': 'openai',
    'llm.model_name': 'gpt-4o',
    'llm.token_count.prompt': COUNTS.input,
    'llm.token_count.completion': COUNTS.output,
    'llm.token_count.prompt_details.cache_read': COUNTS.cached,
    'llm.cost.total': 0.0042,
    'llm.input_messages.0.message.content': CANARY,
    'llm.output_messages.0.message.content': MESSAGES,
    'llm.prompts': MESSAGES,
    'llm.invocation_parameters': JSON.stringify({ stop: CANARY }),
    'input.value': MESSAGES,
    'output.value': CANARY,
  },
  openllmetry: {
    'llm.request.type': 'chat',
    'gen_ai.system': 'OpenAI',
    'gen_ai.request.model': 'gpt-4o',
    'llm.usage.prompt_tokens': COUNTS.input,
    'llm.usage.completion_tokens': COUNTS.output,
    'gen_ai.usage.cache_read_input_tokens': COUNTS.cached,
    'traceloop.association.properties.customer': 'acme',
    'gen_ai.prompt.0.content': CANARY,
    'gen_ai.completion.0.content': MESSAGES,
    'traceloop.entity.input': MESSAGES,
    'traceloop.entity.output': CANARY,
  },
}
const CONTENT_OF_AGENTS: Attributes = {
  'input.value': MESSAGES,
  'gen_ai.tool.call.arguments': CANARY,
  'gen_ai.memory.content': CANARY,
}

let service: RunningService
let broker: Broker
let ask: Ask
let sdk: Omit<SdkOptions, 'encoding'>

beforeAll(async () => {
  const intakePort = await freePort()
  service = await launchService({ args: ['--intake-port', String(intakePort), '--log-level', 'trace'] })
  broker = await connectTo(service)
  const { api_key: apiKey } = service.credentials
  ask = askAs(service.baseUrl, { 'x-api-key': apiKey })
  const made = await ask('POST', '/api/v1/directory/services', { name: 'search', owner: 'team-search' })
  expect(made.status).toBe(201)
  const resource = { 'service.name': 'search', 'deployment.environment.name': KEPT, 'process.command_line': CANARY }
  sdk = { url: `http://127.0.0.1:${intakePort}`, apiKey, resource }
})

afterAll(async () => {
  await service.stop()
  rmSync(service.dataDir, { recursive: true, force: true })
})

/** One span of each convention below an agent, in one trace. @returns the trace's id */
async function sendAgentRun(encoding: SdkOptions['encoding']): Promise<string> {
  const { tracer, provider, outcomes } = tracing({ ...sdk, encoding })
  const agent = tracer.startSpan(`invoke_agent ${CANARY}`, {
    attributes: { ...CONTENT_OF_AGENTS, 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.usage.input_tokens': 3600 },
  })
  const within = trace.setSpan(ROOT_CONTEXT, agent)
  for (const [name, attributes] of Object.entries(CALLS)) {
    const call = tracer.startSpan(`${name} ${CANARY}`, { attributes }, within)
    call.addEvent('gen_ai.user.message', { content: CANARY, 'gen_ai.event.content': MESSAGES })
    call.recordException(new Error(CANARY))
    call.addLink({ context: agent.spanContext(), attributes: { note: CANARY } })
    call.setStatus({ code: SpanStatusCode.UNSET, message: CANARY })
    call.end()
  }
  const tool = tracer.startSpan(
    'execute_tool',
    { attributes: { ...CONTENT_OF_AGENTS, 'gen_ai.operation.name': 'execute_tool' } },
    within,
  )
  tool.end()
  agent.end()
  await provider.shutdown()
  expect(outcomes).toEqual([true])
  return agent.spanContext().traceId
}

async function recordsOf(traceId: string, count: number): Promise<readonly ShownRecord[]> {
  for (const end = Date.now() + 60_000; ; await sleep(50)) {
    const { status, json } = await ask('GET', `/v1/attribution?filter[trace_id][eq]=${traceId}`)
    if (status === 200 && json.data.length >= count) return json.data
    expect(Date.now(), JSON.stringify(json)).toBeLessThan(end)
  }
}

test.each(['protobuf', 'json'] as const)(
  '%s: each call of an agent is a record with its model, tokens, cost, service and owner',
  async (encoding) => {
    const traceId = await sendAgentRun(encoding)
    const records = await recordsOf(traceId, 3)

    expect(records).toHaveLength(3)
    for (const record of records) {
      expect(record).toMatchObject({
        provider: 'openai',
        service: 'search',
        owner: 'team-search',
        input_tokens: COUNTS.input,
        output_tokens: COUNTS.output,
      })
      expect(record.interpretation).toMatchObject({
        confidence_band: 'chargeback_ready',
        export_eligibility: 'eligible',
      })
    }
    expect(records.map(({ served_model: model }) => model).sort()).toEqual(['gpt-4o', 'gpt-4o', 'gpt-4o-2024-08-06'])
    // 200 input tokens, 1,000 cached ones and 80 output tokens at the book's 2.50, 1.25 and 10 USD a million.
    expect(records.map(({ cost_usd, cost_basis }) => `${cost_basis} ${cost_usd}`).sort()).toEqual([
      'client_estimate 0.0042',
      'price_book 0.00255',
      'price_book 0.00255',
    ])
    const { json: whole } = await ask('GET', `/v1/attribution/${records[0].id}`)
    expect(whole.event_tags).toMatchObject({ environment: KEPT })
  },
)

test('no content of spans and log records is in a file, a log, a stream or a table', async () => {
  for (const encoding of ['protobuf', 'json'] as const) {
    const { logger, provider, outcomes } = logging({ ...sdk, encoding }, 'com.anthropic.claude_code.events')
    const events = [
      ['claude_code.user_prompt', { 'event.name': 'user_prompt', prompt: CANARY }],
      [MESSAGES, { 'event.name': 'gen_ai.client.inference.operation.details', ...CALLS['openai'] }],
      [
        'claude_code.api_request',
        {
          'event.name': 'api_request',
          model: 'claude-sonnet-4-5-20250929',
          input_tokens: 10,
          output_tokens: 5,
          request_id: `req_${encoding}`,
          'session.id': `session-${encoding}`,
          prompt: CANARY,
        },
      ],
    ] as const
    for (const [body, attributes] of events) logger.emit({ body, attributes })
    await provider.shutdown()
    expect(outcomes).toEqual([true])
    expect(await recordsOf(`session-${encoding}`, 1)).toMatchObject([
      {
        provider: 'anthropic',
        cost_usd: '0',
        cost_basis: 'notional',
        interpretation: { export_eligibility: 'notional' },
      },
    ])
  }
  // Bodies that are refused, too.
  const refused = await fetch(`${sdk.url}/v1/traces`, {
    method: 'POST',
    headers: { 'x-api-key': sdk.apiKey, 'content-type': 'application/json' },
    body: `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"${CANARY}","attributes":[{"key":"${CANARY}",`,
  })
  const answer = await refused.text()
  expect([refused.status, textsIn(answer, [CANARY])]).toEqual([400, []])

  const inBroker = await tracesInBroker(broker, [CANARY, KEPT])
  await broker.close()
  const told = environmentIn(service.dataDir)
  const database = told['ATTRIBUTION_STORE_DATABASE'] ?? 'attribution'
  const store = connectStore({
    url: told['ATTRIBUTION_STORE_URL'] ?? '',
    user: told['ATTRIBUTION_STORE_USER'] ?? 'attribution',
    password: told['ATTRIBUTION_STORE_PASSWORD'] ?? '',
    database,
  })
  const inStore = await tracesInStore(store, database, [CANARY, KEPT])
  await store.close()
  await service.stop()
  const inFiles = tracesInFiles(service.dataDir, [CANARY, KEPT])
  const all = [...inBroker, ...inStore, ...inFiles]

  expect(all.filter((found) => found.startsWith(CANARY))).toEqual([])
  // What is to be kept is found wherever was looked.
  expect(inBroker).toContainEqual(expect.stringMatching(/ in invocations\./))
  expect(inStore).toContainEqual(expect.stringMatching(/ in attributions\./))
  expect(inFiles).toContainEqual(expect.stringMatching(/INVOCATIONS.*\.blk$/))
})
