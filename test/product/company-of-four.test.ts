import { beforeAll, expect, test } from 'vitest'
import { type Ask, askAs } from '../support/ask.js'
import { listedAll, type ShownRecord } from '../support/attributed.js'
import { tracesJson } from '../support/otlp.js'
import { intakeOfProduct, newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/**
 * Four people of four teams behind one credential, which services use, too: a call that states only its caller is that
 * person's team's, whatever it came through.
 */

let service: Instance
let ask: Ask
beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
})

const PEOPLE = ['ada', 'bea', 'cem', 'dan']
const NOW_MS = Date.now() - 60_000
const NOW = new Date(NOW_MS).toISOString()

/** A call that states its caller alone, as each intake takes it. Its model tells it from the others. */
const CALLS: Readonly<Record<string, (model: string, identity: string) => readonly [path: string, body: unknown]>> = {
  otlp: (model, identity) => [
    'v1/traces',
    tracesJson([
      {
        traceId: Buffer.from(model.padEnd(16, '.')).toString('hex'),
        startMs: NOW_MS,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': 'openai',
          'gen_ai.request.model': model,
          'gen_ai.usage.input_tokens': 10,
          'gen_ai.usage.output_tokens': 1,
          'user.id': identity,
        },
      },
    ]),
  ],
  litellm: (model, identity) => [
    'intake/litellm',
    {
      litellm_call_id: model,
      call_type: 'acompletion',
      status: 'success',
      custom_llm_provider: 'openai',
      model,
      prompt_tokens: 10,
      completion_tokens: 1,
      startTime: NOW_MS / 1_000,
      metadata: { user_api_key_user_id: identity },
    },
  ],
  kong: (model, identity) => [
    'intake/kong',
    {
      ai: {
        'ai-proxy': {
          usage: { prompt_tokens: 10, completion_tokens: 1 },
          meta: { request_model: model, provider_name: 'openai' },
        },
      },
      request: { id: model },
      started_at: NOW_MS,
      consumer: { username: identity },
    },
  ],
  envoy: (model, identity) => [
    'intake/envoy',
    {
      'gen_ai.request.model': model,
      'gen_ai.provider.name': 'openai',
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 1,
      'user.id': identity,
      'x-request-id': model,
      start_time: NOW,
    },
  ],
  'bedrock-log': (model, identity) => [
    'intake/bedrock-log',
    {
      timestamp: NOW,
      requestId: model,
      modelId: model,
      identity: { arn: `arn:aws:sts::111122223333:assumed-role/people/${identity}` },
      input: { inputTokenCount: 10 },
      output: { outputTokenCount: 1 },
    },
  ],
  apim: (model, identity) => [
    'intake/apim',
    {
      TimeGenerated: NOW,
      CorrelationId: model,
      SequenceNumber: 0,
      DeploymentName: model,
      PromptTokens: 10,
      CompletionTokens: 1,
      ApimSubscriptionId: identity,
    },
  ],
  cloudevents: (model, identity) => [
    'intake/cloudevents',
    {
      id: model,
      source: 'test',
      time: NOW,
      data: { provider: 'openai', requested_model: model, input_tokens: 10, attributed_identity: identity },
    },
  ],
}

const addressOf = (person: string): string => `${person}@example.com`

async function send(path: string, body: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${service.credentials.api_key}`, 'content-type': 'application/json' }
  const answer = await fetch(`${intakeOfProduct()}/${path}`, { method: 'POST', body: JSON.stringify(body), headers })
  expect(await answer.text()).not.toMatch(/"rejected":[1-9]|Rejected/)
}

/** Sends a person's call through each intake, and natively. @returns the records, by intake */
async function recordsOf(person: string): Promise<ReadonlyMap<string, ShownRecord>> {
  const identity = addressOf(person)
  const [native] = await listedAll(ask, [{ ingestion_timestamp: NOW, attributed_identity: identity }])
  const found = new Map<string, ShownRecord>([['native', native]])
  for (const [intake, callOf] of Object.entries(CALLS)) await send(...callOf(modelOf(person, intake), identity))
  while (found.size <= Object.keys(CALLS).length) {
    const { json } = await ask('GET', '/v1/attribution?limit=100')
    for (const intake of Object.keys(CALLS)) {
      const model = modelOf(person, intake)
      const record = json.data.find(({ requested_model }: ShownRecord) => requested_model === model)
      if (record !== undefined) found.set(intake, record)
    }
  }
  return found
}
const modelOf = (person: string, intake: string): string => `${person}-${intake}`

test('a call that states only its caller is the caller’s team’s, through each intake', async () => {
  for (const person of PEOPLE) {
    const made = await ask('POST', '/api/v1/directory/identities', { name: addressOf(person), owner: `team-${person}` })
    expect(made.status).toBe(201)
  }
  // The credential's calls, most of them of one service.
  const stated = (name: string) => ({ ingestion_timestamp: NOW, attributed_service: name })
  await listedAll(ask, [...Array.from({ length: 14 }, () => stated('search')), stated('chat')])

  for (const person of PEOPLE.slice(0, 2)) {
    for (const [intake, { service, owner, interpretation }] of await recordsOf(person)) {
      expect([intake, service, owner, interpretation.evidence_basis]).toEqual([
        ...[intake, 'unassigned', `team-${person}`, 'owner_resolved'],
      ])
    }
  }
})

test('without their row in the directory it is unallocated, and says why', async () => {
  const { json } = await ask('GET', `/api/v1/directory/identities?name=${addressOf('cem')}`)
  expect((await ask('DELETE', `/api/v1/directory/identities/${json.data[0].id}`)).status).toBe(204)

  for (const [intake, { id, service, owner }] of await recordsOf('cem')) {
    expect([intake, service, owner]).toEqual([intake, 'unallocated', 'unallocated'])
    const { json: shown } = await ask('GET', `/v1/attribution/${id}`)
    expect(shown.explanation.summary).toMatch(
      /^The call states its caller alone, of whom the directory knows neither a service nor an owner, /,
    )
  }
})
