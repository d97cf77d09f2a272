import type { Selected, WantedMembers } from '../../text/select-json.js'
import { readUsage } from '../../usage/read-usage.js'
import { eventIdOf } from '../intake/event-id.js'
import type { IntakeRequest } from '../intake/intake-route.js'
import { type JsonSource, lacks, type Mapped, mappedEvents, type PartOfEvent, skipped } from '../intake/json-source.js'
import { amountSteps, amountText } from './amount.js'
import { assumptionsOf } from './assumptions.js'
import { callKey } from './call-key.js'
import { attributedBy } from './claims.js'
import { basisOfEnd, outcomeOfStatus } from './ends-of-calls.js'
import { aboveZero, callerTags, countOf, idOf, instantOf, nameOf, objectOf, tagsOf, timeText } from './fields.js'
import { modelOf, providerOfGateway } from './gateway-provider.js'
import { withShippedLines } from './shipped-lines.js'

/** One AI plugin's entry. `prompt_tokens` includes the cached ones, as OpenAI counts, for every provider. */
const PLUGIN = {
  usage: {
    prompt_tokens: 'value',
    prompt_token: 'value',
    input_tokens: 'value',
    completion_tokens: 'value',
    completion_token: 'value',
    output_tokens: 'value',
    total_tokens: 'value',
    cost: 'digits',
    prompt_tokens_details: { cached_tokens: 'value', audio_tokens: 'value' },
    completion_tokens_details: { reasoning_tokens: 'value', audio_tokens: 'value' },
  },
  meta: { request_model: 'value', response_model: 'value', provider_name: 'value', llm_latency: 'value' },
  cache: { cache_status: 'value' },
  payload: 'skip',
} as const satisfies WantedMembers

/**
 * The plugins that forward the request itself: the first of them that is there is the call that the client asked for.
 */
const MAIN_PLUGINS = ['proxy', 'ai-proxy', 'ai-proxy-advanced'] as const

const WANTED = {
  ai: { payload: 'skip', '*': PLUGIN },
  request: { id: 'value', headers: { 'user-agent': 'value' } },
  response: { status: 'value' },
  started_at: 'value',
  latencies: { request: 'value' },
  consumer: { username: 'value', custom_id: 'value' },
  service: { name: 'value' },
  route: { name: 'value' },
  workspace_name: 'value',
} as const satisfies WantedMembers

/**
 * Kong's plugin `http-log` behind its AI plugins. One request may buy several calls: a transformer asks a model of its
 * own before or after the proxy does. Each plugin has an entry with its usage, under its name.
 */
export const kong: JsonSource = withShippedLines({ name: 'kong', wanted: WANTED, map: fromKong })

interface Bought {
  readonly plugin: string
  readonly entry: Selected
  readonly isMain: boolean
}

function fromKong(payload: Selected, { caller }: IntakeRequest): Mapped {
  const bought = boughtOf(objectOf(payload['ai']))
  if (bought.length === 0) return skipped('no_model_call')
  const id = idOf(objectOf(payload['request'])['id'])
  const time = timeText(countOf(payload['started_at']) ?? instantOf(payload['started_at']))
  if (time === undefined) return lacks('/started_at', 'must be a time')

  const latency = countOf(objectOf(payload['latencies'])['request'])
  const request = { ...requestFields(payload, caller), operation_id: bought.length > 1 ? id : undefined }
  const status = countOf(objectOf(payload['response'])['status'])
  const events: PartOfEvent[] = []
  let unnamed: Mapped | undefined
  for (const { plugin, entry, isMain } of bought) {
    const meta = objectOf(entry['meta'])
    const model = modelOf(meta['request_model'], meta['response_model'])
    if (model === undefined) {
      unnamed = lacks(`/ai/${plugin}/meta/request_model`, 'must be the name of a model')
      continue
    }
    const call = callFields(entry, model)
    const outcome = isMain ? outcomeOfStatus(status) : 'success'
    if (outcome === 'error' && call.input_tokens === undefined && call.output_tokens === undefined) continue
    // Versions before 3.6 state no id of the request.
    const facts = [time, latency, status, model, call.input_tokens, call.output_tokens, request.attributed_identity]
    const key = callKey(id, facts)
    events.push({
      event_id: eventIdOf(caller.tenantId, 'kong', isMain ? key : `${key}\n${plugin}`),
      ingestion_layer: 'gateway',
      ingestion_timestamp: time,
      ...call,
      ...request,
      request_id: isMain ? id : undefined,
      latency_ms: isMain ? latency : countOf(meta['llm_latency']),
      outcome,
      usage_basis: basisOfEnd(call, outcome),
    })
  }
  return events.length === 0 ? (unnamed ?? skipped('failed_without_usage')) : mappedEvents(events)
}

/** The entries of plugins that called a model. Others guard, rate or rewrite, and count nothing. */
function boughtOf(plugins: Selected): readonly Bought[] {
  const main = MAIN_PLUGINS.find((name) => plugins[name] !== undefined)
  return Object.entries(plugins).flatMap(([plugin, value]) => {
    const entry = objectOf(value)
    const isMain = plugin === main
    const { request_model: requested, response_model: responded } = objectOf(entry['meta'])
    const isCounted = objectOf(entry['usage']) === entry['usage'] && nameOf(requested, responded) !== undefined
    return isMain || isCounted ? [{ plugin, entry, isMain }] : []
  })
}

/** What was bought. */
function callFields(entry: Selected, model: string) {
  const [usage, meta] = [objectOf(entry['usage']), objectOf(entry['meta'])]
  const inputParts = objectOf(usage['prompt_tokens_details'])
  const outputParts = objectOf(usage['completion_tokens_details'])
  const isFromCache = String(objectOf(entry['cache'])['cache_status']).toLowerCase() === 'hit'
  const served = modelOf(meta['response_model'])
  const { provider, assumption } = providerOfGateway(meta['provider_name'], [model, served])
  const counted = readUsage(
    {
      input: countOf(usage['prompt_tokens'], usage['prompt_token'], usage['input_tokens']),
      output: countOf(usage['completion_tokens'], usage['completion_token'], usage['output_tokens']),
      total: countOf(usage['total_tokens']),
      cacheRead: aboveZero(countOf(inputParts['cached_tokens'])),
      audioInput: aboveZero(countOf(inputParts['audio_tokens'])),
      reasoning: aboveZero(countOf(outputParts['reasoning_tokens'])),
      audioOutput: aboveZero(countOf(outputParts['audio_tokens'])),
    },
    { surface: 'kong', provider, model },
  )
  return {
    provider,
    requested_model: model,
    served_model: served,
    ...counted,
    assumptions: assumptionsOf(counted.assumptions, assumption),
    served_from_cache: isFromCache || undefined,
    // Of the prices in Kong's own configuration; without them it writes 0.
    estimated_cost_usd: isFromCache ? undefined : amountText(amountSteps(usage['cost'])),
  }
}

/** Who made the request, and through what. */
function requestFields(payload: Selected, caller: IntakeRequest['caller']) {
  const consumer = objectOf(payload['consumer'])
  return {
    ...attributedBy({ identity: nameOf(consumer['username'], consumer['custom_id']) }, caller),
    tags: tagsOf([
      ['gateway_service', objectOf(payload['service'])['name']],
      ['gateway_route', objectOf(payload['route'])['name']],
      ['workspace', payload['workspace_name']],
      ...callerTags([['user-agent', objectOf(objectOf(payload['request'])['headers'])['user-agent']]]),
    ]),
  }
}
