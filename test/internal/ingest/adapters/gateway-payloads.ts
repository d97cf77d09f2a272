/** Payloads of gateways in their recorded shapes, with a canary wherever content is. */
import { CANARY } from './litellm-payload.js'

type Payload = Record<string, unknown>

export const kongPayload = (fields: Payload = {}, proxy: Payload = {}): Payload => ({
  workspace: '7d1e0c0a-0a53-4f0f-9c79-2a7b2b8d8a11',
  workspace_name: 'default',
  upstream_uri: '/v1/chat/completions',
  started_at: 1_795_254_600_250,
  latencies: { proxy: 900, kong: 12, request: 1_040, receive: 3 },
  request: { id: '9ec9264afbbbad5fe5c64877d92eeb04', uri: '/chat', headers: { 'x-note': CANARY }, size: 323 },
  response: { status: 200, headers: { 'x-note': CANARY } },
  consumer: { id: 'c1', username: 'search-app', custom_id: '7' },
  service: { id: 's1', name: 'llm' },
  route: { id: 'r1', name: 'chat' },
  ai: {
    proxy: {
      usage: {
        prompt_tokens: 120,
        prompt_tokens_details: { cached_tokens: 20, audio_tokens: 0 },
        completion_tokens: 40,
        completion_tokens_details: { reasoning_tokens: 8, audio_tokens: 0 },
        total_tokens: 160,
        time_to_first_token: 200,
        cost: 0.000042,
      },
      meta: {
        request_model: 'gpt-4o-mini',
        response_model: 'gpt-4o-mini-2024-07-18',
        provider_name: 'openai',
        request_mode: 'oneshot',
        llm_latency: 900,
      },
      payload: { request: `{"messages":"${CANARY}"}`, response: CANARY },
      cache: { cache_status: 'Miss' },
      ...proxy,
    },
    sanitizer: { identified: CANARY },
  },
  ...fields,
})

export const envoyPayload = (fields: Payload = {}): Payload => ({
  start_time: '2026-11-21T09:50:00.250Z',
  method: 'POST',
  'x-envoy-origin-path': '/v1/chat/completions',
  response_code: 200,
  duration: 1_040,
  'x-request-id': '0a6b1d0c-9b1f-4c6c-9a59-2f9b6f0f8c11',
  'gen_ai.request.model': 'gpt-4o-mini',
  'gen_ai.response.model': 'gpt-4o-mini-2024-07-18',
  'gen_ai.provider.name': 'default/openai-eu/route/chat/rule/0/ref/0',
  'gen_ai.usage.input_tokens': '120',
  'gen_ai.usage.cached_input_tokens': '-',
  'gen_ai.usage.output_tokens': '40',
  'gen_ai.usage.total_tokens': '160',
  'session.id': '-',
  'user.id': 'ana@example.com',
  request_body: CANARY,
  ...fields,
})

/** Of `default.log` of Portkey 1.15, for a call of Anthropic. */
export const portkeyPayload = (fields: Payload = {}, answer: Payload = {}, request: Payload = {}): Payload => ({
  request: {
    json: { model: 'claude-sonnet-4-5', max_tokens: 5, messages: [{ role: 'user', content: CANARY }] },
    text: CANARY,
    isStreamingRequest: false,
    isTransformed: false,
    headers: {
      'content-length': '91',
      'user-agent': 'curl/8',
      'x-portkey-config': `{"provider":"anthropic","api_key":"${CANARY}"}`,
      'x-portkey-trace-id': 'tr-1',
    },
    ...request,
  },
  response: {
    json: {
      id: 'msg_1',
      object: 'chat.completion',
      created: 1_795_254_600,
      model: 'claude-sonnet-4-5-20250929',
      provider: 'anthropic',
      choices: [{ index: 0, message: { role: 'assistant', content: CANARY } }],
      usage: {
        prompt_tokens: 552,
        completion_tokens: 152,
        total_tokens: 3_004,
        prompt_tokens_details: { cached_tokens: 2_000 },
        cache_read_input_tokens: 2_000,
        cache_creation_input_tokens: 300,
      },
      ...answer,
    },
    text: CANARY,
    statusCode: 200,
    isTransformed: false,
  },
  provider: 'anthropic',
  requestType: 'chatComplete',
  metadata: { _user: 'ada@example.com', service: 'search', feature: 'chat' },
  ...fields,
})

export const bedrockPayload = (fields: Payload = {}, input: Payload = {}): Payload => ({
  schemaType: 'ModelInvocationLog',
  schemaVersion: '1.0',
  timestamp: '2026-11-21T09:50:00Z',
  accountId: '123456789012',
  identity: { arn: 'arn:aws:sts::123456789012:assumed-role/search-service/i-0abc' },
  region: 'eu-central-1',
  requestId: '915a6a04-3f83-4c70-a277-7fbf7ea546b3',
  operation: 'Converse',
  modelId: 'arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.anthropic.claude-3-haiku-20240307-v1:0',
  input: {
    inputContentType: 'application/json',
    inputBodyJson: { messages: [{ role: 'user', content: [{ text: CANARY }] }] },
    inputTokenCount: 35,
    cacheReadInputTokenCount: 900,
    cacheWriteInputTokenCount: 65,
    ...input,
  },
  output: { outputContentType: 'application/json', outputBodyJson: { output: CANARY }, outputTokenCount: 40 },
  requestMetadata: { feature: 'chat' },
  ...fields,
})

export const apimPayload = (fields: Payload = {}): Payload => ({
  TenantId: 't',
  TimeGenerated: '2026-11-21T09:50:00.25Z',
  Region: 'West Europe',
  CorrelationId: '5f7c4a1e-2a1b-4f0c-8f5d-1d2e3f4a5b6c',
  SequenceNumber: '0',
  DeploymentName: 'fast',
  ModelName: 'gpt-4o-mini',
  PromptTokens: '120',
  CompletionTokens: 40,
  TotalTokens: 160,
  RequestMessages: CANARY,
  ResponseMessages: CANARY,
  IsStreamCompletion: 'False',
  ApimSubscriptionId: 'search-app',
  ApiId: 'openai',
  Type: 'ApiManagementGatewayLlmLog',
  ...fields,
})

export const cloudEventPayload = (fields: Payload = {}, data: Payload = {}): Payload => ({
  specversion: '1.0',
  id: 'A234-1234-1234',
  source: '/gateways/eu-1',
  type: 'com.example.model.call',
  time: '2026-11-21T09:50:00.250Z',
  subject: 'search',
  datacontenttype: 'application/json',
  data: {
    provider: 'openai',
    requested_model: 'gpt-4o-mini',
    input_tokens: 120,
    output_tokens: 40,
    estimated_cost_usd: '0.00004',
    tags: { environment: 'prod', prompt: CANARY },
    messages: CANARY,
    ...data,
  },
  ...fields,
})
