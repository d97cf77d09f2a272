import { canonicalProvider } from '../../records/provider-names.js'
import type { Outcome } from '../../text/call-words.js'
import type { Selected, Wanted } from '../../text/select-json.js'
import { readUsage } from '../../usage/read-usage.js'
import { eventIdOf } from '../intake/event-id.js'
import type { IntakeRequest } from '../intake/intake-route.js'
import { type JsonSource, lacks, type Mapped, mappedEvent, skipped } from '../intake/json-source.js'
import { CLAIMED } from './claims.js'
import { aboveZero, callerTags, countOf, instantOf, nameOf, tagsOf, timeText } from './fields.js'

const WANTED = {
  'gen_ai.request.model': 'value',
  'gen_ai.original.model': 'value',
  'gen_ai.response.model': 'value',
  'gen_ai.provider.name': 'value',
  'gen_ai.usage.input_tokens': 'value',
  'gen_ai.usage.cached_input_tokens': 'value',
  'gen_ai.usage.cache_creation_input_tokens': 'value',
  'gen_ai.usage.output_tokens': 'value',
  'gen_ai.usage.reasoning_tokens': 'value',
  'gen_ai.usage.total_tokens': 'value',
  'session.id': 'value',
  'user.id': 'value',
  'x-request-id': 'value',
  'user-agent': 'value',
  start_time: 'value',
  duration: 'value',
  response_code: 'value',
} as const satisfies Wanted

/**
 * The access log of Envoy AI Gateway: one JSON object per request, `-` for what is absent. Its input tokens include
 * cached ones. It states no cost, and nobody whom Envoy has authenticated: attributes come from headers of the caller.
 */
export const envoy: JsonSource = { name: 'envoy', wanted: WANTED, map: fromEnvoy }

export function fromEnvoy(payload: Selected, { caller }: IntakeRequest): Mapped {
  const served = nameOf(payload['gen_ai.response.model'])
  const model = nameOf(payload['gen_ai.original.model'], payload['gen_ai.request.model']) ?? served
  if (model === undefined) return skipped('no_model_call')
  const id = nameOf(payload['x-request-id'])
  if (id === undefined) return lacks('/x-request-id', 'must be the id of the request')
  const time = timeText(instantOf(payload['start_time']))
  if (time === undefined) return lacks('/start_time', 'must be a time')

  const input = countOf(payload['gen_ai.usage.input_tokens'])
  const output = countOf(payload['gen_ai.usage.output_tokens'])
  const code = countOf(payload['response_code'])
  if ((code ?? 0) >= 400 && (input ?? 0) + (output ?? 0) === 0) return skipped('failed_without_usage')
  const identity = nameOf(payload['user.id'])
  const provider = providerOf(payload['gen_ai.provider.name'])
  // Zeros of every count are what Envoy writes where a stream ended without its usage: unknown, not free.
  const usage = readUsage(
    {
      input,
      output,
      total: aboveZero(countOf(payload['gen_ai.usage.total_tokens'])),
      cacheRead: aboveZero(countOf(payload['gen_ai.usage.cached_input_tokens'])),
      cacheWrite: aboveZero(countOf(payload['gen_ai.usage.cache_creation_input_tokens'])),
      reasoning: aboveZero(countOf(payload['gen_ai.usage.reasoning_tokens'])),
    },
    { surface: 'envoy', provider, model },
  )
  return mappedEvent({
    event_id: eventIdOf(caller.tenantId, 'envoy', id),
    ingestion_layer: 'gateway',
    ingestion_timestamp: time,
    provider,
    requested_model: model,
    served_model: served,
    ...usage,
    latency_ms: countOf(payload['duration']),
    outcome: outcomeOf(code),
    attributed_identity: identity,
    attribution_confidence: identity === undefined ? undefined : CLAIMED,
    tags: tagsOf([['session', payload['session.id']], ...callerTags([['user-agent', payload['user-agent']]])]),
  })
}

/** Envoy writes 0 where the client went away before the answer began. */
function outcomeOf(code: number | undefined): Outcome | undefined {
  if (code === undefined) return undefined
  if (code === 0) return 'cancelled'
  return code >= 400 ? 'error' : 'success'
}

/** Envoy names the path of its backend (`default/openai-eu/…`): the provider is the first word in it that is one. */
function providerOf(value: unknown): string {
  const name = nameOf(value)
  if (name === undefined) return 'unknown'
  if (canonicalProvider(name) !== undefined) return name
  const parts = name.split('/').flatMap((part) => [part, ...part.split(/[-_]/)])
  return parts.find((part) => canonicalProvider(part) !== undefined) ?? name
}
