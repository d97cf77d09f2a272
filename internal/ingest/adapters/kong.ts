import type { Outcome } from '../../text/call-words.js'
import type { Selected, Wanted } from '../../text/select-json.js'
import { eventIdOf } from '../intake/event-id.js'
import type { IntakeRequest } from '../intake/intake-route.js'
import { type JsonSource, lacks, type Mapped, mappedEvent, skipped } from '../intake/json-source.js'
import { amountSteps, amountText } from './amount.js'
import { attributedBy } from './claims.js'
import { aboveZero, callerTags, countOf, instantOf, nameOf, objectOf, tagsOf, timeText, wholeInput } from './fields.js'

/** One AI plugin's entry. `prompt_tokens` includes the cached ones, as OpenAI counts, for every provider. */
const PLUGIN = {
  usage: {
    prompt_tokens: 'value',
    prompt_token: 'value',
    input_tokens: 'value',
    completion_tokens: 'value',
    completion_token: 'value',
    output_tokens: 'value',
    total_tokens: 'skip',
    cost: 'digits',
    prompt_tokens_details: { cached_tokens: 'value', audio_tokens: 'value' },
    completion_tokens_details: { reasoning_tokens: 'value', audio_tokens: 'value' },
  },
  meta: { request_model: 'value', response_model: 'value', provider_name: 'value' },
  cache: { cache_status: 'value' },
  payload: 'skip',
} as const satisfies Wanted

const PLUGINS = ['proxy', 'ai-proxy', 'ai-proxy-advanced'] as const

const WANTED = {
  ai: Object.fromEntries(PLUGINS.map((plugin) => [plugin, PLUGIN])),
  request: { id: 'value', headers: { 'user-agent': 'value' } },
  response: { status: 'value' },
  started_at: 'value',
  latencies: { request: 'value' },
  consumer: { username: 'value', custom_id: 'value' },
  service: { name: 'value' },
  route: { name: 'value' },
  workspace_name: 'value',
} as const satisfies Wanted

/** Kong's plugin `http-log` behind `ai-proxy` or `ai-proxy-advanced`. */
export const kong: JsonSource = { name: 'kong', wanted: WANTED, map: fromKong }

export function fromKong(payload: Selected, { caller }: IntakeRequest): Mapped {
  const plugins = objectOf(payload['ai'])
  const entry = PLUGINS.map((name) => plugins[name]).find((found) => found !== undefined)
  if (entry === undefined) return skipped('no_model_call')
  const { usage: stated, meta: described, cache } = objectOf(entry)
  const [usage, meta] = [objectOf(stated), objectOf(described)]
  const model = nameOf(meta['request_model'], meta['response_model'])
  if (model === undefined) return lacks('/ai/proxy/meta/request_model', 'must be the name of a model')
  const id = nameOf(objectOf(payload['request'])['id'])
  if (id === undefined) return lacks('/request/id', 'must be the id of the request')
  const startMs = countOf(payload['started_at']) ?? instantOf(payload['started_at'])
  const time = timeText(startMs)
  if (time === undefined) return lacks('/started_at', 'must be a time')

  const consumer = objectOf(payload['consumer'])
  const inputParts = objectOf(usage['prompt_tokens_details'])
  const outputParts = objectOf(usage['completion_tokens_details'])
  const cached = aboveZero(countOf(inputParts['cached_tokens']))
  const isFromCache = String(objectOf(cache)['cache_status']).toLowerCase() === 'hit'
  return mappedEvent({
    event_id: eventIdOf(caller.tenantId, 'kong', id),
    ingestion_layer: 'gateway',
    ingestion_timestamp: time,
    provider: nameOf(meta['provider_name']) ?? 'unknown',
    requested_model: model,
    served_model: nameOf(meta['response_model']),
    input_tokens: wholeInput(countOf(usage['prompt_tokens'], usage['prompt_token'], usage['input_tokens']), cached),
    output_tokens: countOf(usage['completion_tokens'], usage['completion_token'], usage['output_tokens']),
    cached_input_tokens: cached,
    reasoning_tokens: aboveZero(countOf(outputParts['reasoning_tokens'])),
    audio_input_tokens: aboveZero(countOf(inputParts['audio_tokens'])),
    audio_output_tokens: aboveZero(countOf(outputParts['audio_tokens'])),
    served_from_cache: isFromCache || undefined,
    // Of the prices in Kong's own configuration; without them it writes 0.
    estimated_cost_usd: isFromCache ? undefined : amountText(amountSteps(usage['cost'])),
    latency_ms: countOf(objectOf(payload['latencies'])['request']),
    outcome: outcomeOf(countOf(objectOf(payload['response'])['status'])),
    ...attributedBy({ identity: nameOf(consumer['username'], consumer['custom_id']) }, caller),
    tags: tagsOf([
      ['gateway_service', objectOf(payload['service'])['name']],
      ['gateway_route', objectOf(payload['route'])['name']],
      ['workspace', payload['workspace_name']],
      ...callerTags([['user-agent', objectOf(objectOf(payload['request'])['headers'])['user-agent']]]),
    ]),
  })
}

/** Kong writes 499 where the client closed the request. */
function outcomeOf(status: number | undefined): Outcome | undefined {
  if (status === undefined) return undefined
  if (status === 499) return 'cancelled'
  return status >= 400 ? 'error' : 'success'
}
