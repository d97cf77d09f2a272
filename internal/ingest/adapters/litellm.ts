import { isCancellation, type Outcome } from '../../text/call-words.js'
import type { Selected, Wanted } from '../../text/select-json.js'
import { eventIdOf } from '../intake/event-id.js'
import type { IntakeRequest } from '../intake/intake-route.js'
import { type JsonSource, lacks, type Mapped, mappedEvent, skipped } from '../intake/json-source.js'
import { amountSteps, amountText } from './amount.js'
import { CLAIMED } from './claims.js'
import { callerTags, elapsedMs, instantOf, nameOf, objectOf, tagsOf, timeText } from './fields.js'
import { usageOf } from './litellm-usage.js'

/**
 * LiteLLM's callback `generic_api` (`StandardLoggingPayload`). `prompt_tokens` includes cache reads and writes, and
 * `completion_tokens` reasoning, as ours do.
 *
 * Who called: LiteLLM itself knows `user_api_key_*`. It is believed where the sending credential is a gateway's, else
 * it is a claim, as everything always is that the caller of LiteLLM wrote: tags, metadata and `end_user`.
 */
const WANTED = {
  id: 'value',
  litellm_call_id: 'value',
  trace_id: 'value',
  call_type: 'value',
  status: 'value',
  cache_hit: 'value',
  custom_llm_provider: 'value',
  model: 'value',
  model_group: 'value',
  prompt_tokens: 'value',
  completion_tokens: 'value',
  response_cost: 'digits',
  cost_breakdown: { margin_total_amount: 'digits' },
  startTime: 'value',
  endTime: 'value',
  end_user: 'value',
  error_information: { error_class: 'value', error_code: 'value' },
  request_tags: 'texts',
  hidden_params: { litellm_model_name: 'value' },
  metadata: {
    usage_object: {
      cache_read_input_tokens: 'value',
      cache_creation_input_tokens: 'value',
      service_tier: 'value',
      prompt_tokens_details: {
        cached_tokens: 'value',
        audio_tokens: 'value',
        image_tokens: 'value',
        cache_creation_token_details: { ephemeral_5m_input_tokens: 'value', ephemeral_1h_input_tokens: 'value' },
      },
      completion_tokens_details: { reasoning_tokens: 'value', audio_tokens: 'value', image_tokens: 'value' },
      server_tool_use: { web_search_requests: 'value' },
    },
    user_api_key_alias: 'value',
    user_api_key_team_id: 'value',
    user_api_key_team_alias: 'value',
    user_api_key_org_id: 'value',
    user_api_key_org_alias: 'value',
    user_api_key_project_id: 'value',
    user_api_key_project_alias: 'value',
    user_api_key_user_id: 'value',
    user_api_key_user_email: 'value',
    user_api_key_end_user_id: 'value',
    requester_metadata: 'scalars',
    spend_logs_metadata: 'scalars',
  },
} as const satisfies Wanted

export const litellm: JsonSource = { name: 'litellm', wanted: WANTED, map: fromLitellm }

/** Calls that read, list or end something: LiteLLM logs them with the usage of the call that they are about. */
const REPEATED_CALL =
  /^a?(?:get|list|delete|cancel|retrieve)_|^a?(?:file|vector_store|batch)_|_input_items$|^a?create_(?:file|batch)$/

export function fromLitellm(payload: Selected, { caller, receivedAtMs }: IntakeRequest): Mapped {
  const metadata = objectOf(payload['metadata'])
  const callType = nameOf(payload['call_type']) ?? ''
  if (REPEATED_CALL.test(callType)) return skipped('repeated_call_type')
  const startMs = instantOf(payload['startTime'])
  const time = timeText(startMs) ?? timeText(receivedAtMs)
  const id = idOf(payload, startMs)
  if (id === undefined) return lacks('/id', 'must be the id of the call')
  const model = nameOf(payload['model'], objectOf(payload['hidden_params'])['litellm_model_name'])
  if (model === undefined) return lacks('/model', 'must be the name of a model')

  const provider = nameOf(payload['custom_llm_provider']) ?? 'unknown'
  const usage = usageOf(payload, metadata)
  const isFromCache = isTrue(payload['cache_hit'])
  const cost = isFromCache ? undefined : statedCost(payload)
  const outcome = outcomeOf(payload)
  if (outcome === 'error' && usage.input_tokens === undefined && cost === undefined) {
    return skipped('failed_without_usage')
  }
  const served = nameOf(objectOf(payload['hidden_params'])['litellm_model_name']) ?? model
  return mappedEvent({
    event_id: eventIdOf(caller.tenantId, 'litellm', id),
    ingestion_layer: 'gateway',
    ingestion_timestamp: time as string,
    provider,
    requested_model: nameOf(payload['model_group']) ?? model,
    served_model: served.startsWith(`${provider}/`) ? nameOf(served.slice(provider.length + 1)) : served,
    ...usage,
    served_from_cache: isFromCache || undefined,
    estimated_cost_usd: cost,
    latency_ms: elapsedMs(startMs, instantOf(payload['endTime'])),
    response_id: responseIdOf(payload),
    outcome,
    // LiteLLM logs a stream that breaks as a failure, with what it had counted by then.
    usage_basis: outcome === 'error' ? 'partial' : undefined,
    trace_id: nameOf(payload['trace_id']),
    ...whoCalled(payload, metadata, caller.isGateway === true),
    tags: tagsOf(tagPairs(payload, metadata)),
  })
}

/**
 * LiteLLM's own id of the call; also the `request_id` of its table of spend. Versions that have none of it state the
 * provider's id of the response, which repeats across providers: it counts together with the second of the call.
 */
export function idOf(payload: Selected, startMs: number | undefined): string | undefined {
  const callId = nameOf(payload['litellm_call_id'])
  const id = nameOf(payload['id'])
  if (callId !== undefined) return callId
  if (id === undefined || UUID.test(id)) return id
  return `${id} ${Math.floor((startMs ?? 0) / 1_000)}`
}

/** A call whose caller went away is no mere failure: the provider may charge for it. */
function outcomeOf(payload: Selected): Outcome | undefined {
  if (payload['status'] === 'success') return 'success'
  if (payload['status'] !== 'failure') return undefined
  const { error_class: kind, error_code: code } = objectOf(payload['error_information'])
  return isCancellation(kind) || String(code) === CLIENT_CLOSED_REQUEST ? 'cancelled' : 'error'
}

/** The status that proxies give to a request whose client closed it. */
const CLIENT_CLOSED_REQUEST = '499'

/** The provider's; LiteLLM's own id of the call, a UUID, is there where it has none. */
function responseIdOf(payload: Selected): string | undefined {
  const id = nameOf(payload['id'])
  return id === undefined || id === payload['litellm_call_id'] || UUID.test(id) ? undefined : id
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** What the provider charges, without LiteLLM's own margin. LiteLLM writes 0 for a model without a price. */
function statedCost(payload: Selected): string | undefined {
  const cost = amountSteps(payload['response_cost'])
  const margin = amountSteps(objectOf(payload['cost_breakdown'])['margin_total_amount'])
  return cost === undefined ? undefined : amountText(cost - (margin ?? 0n))
}

export function whoCalled(payload: Selected, metadata: Selected, isBelieved: boolean) {
  const service = nameOf(metadata['user_api_key_project_alias'], metadata['user_api_key_alias'])
  const user = nameOf(metadata['user_api_key_user_email'], metadata['user_api_key_user_id'])
  const ofKey = user === 'default_user_id' ? undefined : user
  const isKnown = isBelieved && (service !== undefined || ofKey !== undefined)
  // Beside what LiteLLM knows, a claimed identity would only lower the confidence in it.
  const claimed = isKnown ? undefined : nameOf(metadata['user_api_key_end_user_id'], payload['end_user'])
  const identity = ofKey ?? claimed
  const isClaim = !isKnown && (service !== undefined || identity !== undefined)
  return {
    attributed_service: service,
    attributed_identity: identity,
    attribution_confidence: isClaim ? CLAIMED : undefined,
  }
}

/** Names that LiteLLM knows first; then, below `caller.`, what its callers wrote. */
export function* tagPairs(payload: Selected, metadata: Selected): Generator<readonly [string, unknown]> {
  yield ['team', nameOf(metadata['user_api_key_team_alias'], metadata['user_api_key_team_id'])]
  yield ['key_alias', metadata['user_api_key_alias']]
  yield ['project', nameOf(metadata['user_api_key_project_alias'], metadata['user_api_key_project_id'])]
  yield ['organization', nameOf(metadata['user_api_key_org_alias'], metadata['user_api_key_org_id'])]
  yield* callerTags(callersPairs(payload, metadata))
}

function* callersPairs(payload: Selected, metadata: Selected): Generator<readonly [string, unknown]> {
  const tags = Array.isArray(payload['request_tags']) ? (payload['request_tags'] as readonly string[]) : []
  const plain: string[] = []
  for (const tag of tags) {
    const [, key, value] = /^([^:]{1,48}):\s*(.+)$/.exec(tag) ?? []
    if (key === undefined) plain.push(tag)
    else yield [key.toLowerCase(), value]
  }
  yield ['tags', plain.join(',')]
  for (const from of ['requester_metadata', 'spend_logs_metadata']) yield* Object.entries(objectOf(metadata[from]))
}

const isTrue = (value: unknown): boolean => value === true || (typeof value === 'string' && /^true$/i.test(value))
