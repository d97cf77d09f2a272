import { SERVICE_TIERS } from '../../text/call-words.js'
import { ByReader, type Selected, type Wanted } from '../../text/select-json.js'
import { numbersOf } from '../../usage/printed-numbers.js'
import { statedOfProviderUsage } from '../../usage/provider-usage.js'
import { readUsage } from '../../usage/read-usage.js'
import type { StatedUsage } from '../../usage/stated-usage.js'
import { eventIdOf } from '../intake/event-id.js'
import type { IntakeRequest } from '../intake/intake-route.js'
import { type JsonSource, lacks, type Mapped, mappedEvent, skipped } from '../intake/json-source.js'
import { assumptionsOf } from './assumptions.js'
import { callKey } from './call-key.js'
import { claimedBy } from './claims.js'
import { basisOfEnd, outcomeOfStatus } from './ends-of-calls.js'
import { callerTags, countOf, idOf, instantOf, nameOf, objectOf, tagsOf, timeText } from './fields.js'
import { modelOf, providerOfGateway } from './gateway-provider.js'

const USAGE = new ByReader((bytes, start, end) => numbersOf(bytes, start, end))

const WANTED = {
  request: {
    json: { model: 'value', service_tier: 'skip', messages: 'skip', input: 'skip' },
    text: 'skip',
    isStreamingRequest: 'value',
    isTransformed: 'skip',
    headers: { 'content-length': 'value', 'user-agent': 'value', 'x-portkey-trace-id': 'value' },
  },
  response: {
    json: {
      id: 'value',
      created: 'value',
      model: 'value',
      service_tier: 'value',
      choices: 'skip',
      usage: USAGE,
      usageMetadata: USAGE,
    },
    text: 'skip',
    statusCode: 'value',
    isTransformed: 'skip',
  },
  provider: 'value',
  requestType: 'value',
  metadata: 'scalars',
} as const satisfies Wanted

/**
 * What Portkey's gateway posts from its log hook (`default.log`, among the output guardrails of a config): one object per
 * request, with the prompt, the answer and its usage. It authenticates nobody: who called is what callers wrote. A
 * streamed answer comes without its usage.
 */
export const portkey: JsonSource = { name: 'portkey', wanted: WANTED, map: fromPortkey }

function fromPortkey(payload: Selected, { caller, receivedAtMs }: IntakeRequest): Mapped {
  const [request, response] = [objectOf(payload['request']), objectOf(payload['response'])]
  const answer = objectOf(response['json'])
  const served = modelOf(answer['model'])
  const model = modelOf(objectOf(request['json'])['model']) ?? served
  if (model === undefined) return skipped('no_model_call')
  const { provider, assumption } = providerOfGateway(payload['provider'], [model, served])
  const isStreamed = request['isStreamingRequest'] === true
  const stated = usageIn(answer)
  const usage = readUsage(stated, { surface: 'portkey', provider, model: served ?? model, isStreamed })
  const outcome = outcomeOfStatus(countOf(response['statusCode']))
  const isCounted = usage.input_tokens !== undefined || usage.output_tokens !== undefined
  if (outcome === 'error' && !isCounted) return skipped('failed_without_usage')
  // The hook runs once the answer is there, and states no time of its own.
  const time = timeText(instantOf(answer['created']) ?? receivedAtMs)
  if (time === undefined) return lacks('/response/json/created', 'must be a time')
  const [id, metadata, headers] = [idOf(answer['id']), objectOf(payload['metadata']), objectOf(request['headers'])]
  const facts = [
    // Not the time of arrival: it is another one when the hook sends it again.
    ...[
      answer['created'],
      provider,
      model,
      served,
      payload['requestType'],
      stated.input,
      stated.output,
      JSON.stringify(metadata),
    ],
    ...[headers['x-portkey-trace-id'], headers['content-length']],
  ]
  return mappedEvent({
    event_id: eventIdOf(caller.tenantId, 'portkey', callKey(id, facts)),
    ingestion_layer: 'gateway',
    ingestion_timestamp: time,
    provider,
    requested_model: model,
    served_model: served,
    ...usage,
    usage_basis: basisOfEnd(usage, outcome),
    response_id: id,
    service_tier: SERVICE_TIERS.find((tier) => tier === answer['service_tier']),
    outcome,
    ...claimedBy({ service: nameOf(metadata['service']), identity: nameOf(metadata['_user']) }, caller),
    tags: tagsOf(callerTags([['user-agent', headers['user-agent']], ...Object.entries(metadata)])),
    assumptions: assumptionsOf(usage.assumptions, assumption),
  })
}

/** Portkey writes the usage of most providers in OpenAI's form, whose counts are still the provider's. */
function usageIn(answer: Selected): StatedUsage {
  const stated = statedOfProviderUsage({ ...objectOf(answer['usage']), ...objectOf(answer['usageMetadata']) })
  return stated.api === 'openai' ? { ...stated, api: undefined } : stated
}
