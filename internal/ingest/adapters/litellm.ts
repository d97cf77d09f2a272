import { siteOf } from '../../sdk/hosts.js'
import { isCancellation, type Outcome } from '../../text/call-words.js'
import type { Selected, Wanted } from '../../text/select-json.js'
import { type ResolvedProvider, resolveProvider } from '../../valuation/names/resolve-provider.js'
import { eventIdOf } from '../intake/event-id.js'
import type { IntakeRequest } from '../intake/intake-route.js'
import { type JsonSource, lacks, type Mapped, mappedEvent, type PartOfEvent, skipped } from '../intake/json-source.js'
import { CLAIMED } from './claims.js'
import { callerTags, elapsedMs, instantOf, nameOf, objectOf, tagsOf, timeText } from './fields.js'
import { isFromCache, statedCost } from './litellm-cost.js'
import { answerId, backgroundId, HEADERS_WANTED, litellmIds } from './litellm-ids.js'
import { type LitellmModels, modelsOf } from './litellm-models.js'
import {
  ANSWERED_UNITS_WANTED,
  type LitellmUsage,
  regionOf,
  speedOf,
  tierOf,
  USAGE_WANTED,
  usageOf,
} from './litellm-usage.js'

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
  total_tokens: 'value',
  api_base: 'value',
  response_cost: 'digits',
  cost_breakdown: { margin_total_amount: 'digits', service_tier: 'value', vertex_location: 'value' },
  startTime: 'value',
  endTime: 'value',
  end_user: 'value',
  error_information: { error_class: 'value', error_code: 'value' },
  request_tags: 'texts',
  // Anything else a caller set may be content.
  model_parameters: { service_tier: 'value', background: 'value' },
  model_map_information: { model_map_key: 'value' },
  hidden_params: {
    litellm_model_name: 'value',
    cache_key: 'value',
    batch_models: 'texts',
    additional_headers: HEADERS_WANTED,
  },
  response: ANSWERED_UNITS_WANTED,
  metadata: {
    usage_object: USAGE_WANTED,
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

/** What ran in the background is billed where somebody looks at it: LiteLLM logs its beginning without usage. */
const BATCH_READ = /^a?retrieve_batch$/
const RESPONSE_READ = /^a?get_responses$/
const RESPONSE_CREATE = /^a?responses$/

function fromLitellm(payload: Selected, request: IntakeRequest): Mapped {
  const call = callOf(payload)
  const callType = nameOf(payload['call_type']) ?? ''
  if (BATCH_READ.test(callType)) return call.isEmpty ? skipped('unfinished_batch') : batchEvent(call, request)
  if (RESPONSE_READ.test(callType)) return call.isEmpty ? skipped('repeated_call_type') : answerEvent(call, request)
  if (REPEATED_CALL.test(callType)) return skipped('repeated_call_type')
  const outcome = outcomeOf(payload)
  if (outcome === 'error' && call.isEmpty) return skipped('failed_without_usage')
  const isBegun = RESPONSE_CREATE.test(callType) && objectOf(payload['model_parameters'])['background'] === true
  if (isBegun && outcome === 'success' && call.isEmpty) return skipped('background_response')

  const ids = litellmIds(payload, call.startMs, call.isEmpty)
  if (ids === undefined) return lacks('/id', 'must be the id of the call')
  const answer = RESPONSE_CREATE.test(callType) && !call.isEmpty ? answerId(payload) : undefined
  const key = answer === undefined ? ids.attempt : answerKey(answer)
  return eventOf(call, request, {
    event_id: eventIdOf(request.caller.tenantId, 'litellm', ...key),
    latency_ms: elapsedMs(call.startMs, instantOf(payload['endTime'])),
    response_id: ids.response,
    request_id: ids.request,
    operation_id: ids.operation,
    attempt: ids.attemptNumber,
    outcome,
    // LiteLLM logs a stream that breaks with what it had counted by then.
    usage_basis: outcome === 'error' || outcome === 'cancelled' ? call.basisOfPart : undefined,
  })
}

/** What a payload says, whatever kind of call it is. */
interface LitellmCall {
  readonly payload: Selected
  readonly metadata: Selected
  readonly models: LitellmModels
  readonly provider: ResolvedProvider
  readonly usage: LitellmUsage
  readonly basisOfPart: 'partial' | undefined
  readonly isFromCache: boolean
  readonly cost: string | undefined
  readonly startMs: number | undefined
  /** Whether it states neither tokens, nor other units, nor a cost: it is not known what was bought. */
  readonly isEmpty: boolean
}

function callOf(payload: Selected): LitellmCall {
  const metadata = objectOf(payload['metadata'])
  const models = modelsOf(payload)
  const provider = providerOf(payload, models)
  const usage = usageOf(payload, metadata, provider.provider ?? '', models.served ?? '')
  const fromCache = isFromCache(payload)
  const cost = fromCache ? undefined : statedCost(payload, objectOf(metadata['usage_object']))
  const isCounted = usage.input_tokens !== undefined || usage.output_tokens !== undefined
  return {
    payload,
    metadata,
    models,
    provider,
    usage,
    basisOfPart: isCounted ? 'partial' : undefined,
    isFromCache: fromCache,
    cost,
    startMs: instantOf(payload['startTime']),
    isEmpty: !isCounted && usage.billed_units === undefined && cost === undefined,
  }
}

/** One event however often the finished batch is looked at: each time under a new call, with the same usage. */
function batchEvent(call: LitellmCall, request: IntakeRequest): Mapped {
  const id = backgroundId(call.payload)
  if (id === undefined) return lacks('/id', 'must be the id of the batch')
  return eventOf(call, request, {
    event_id: eventIdOf(request.caller.tenantId, 'litellm', 'batch ', id),
    response_id: id,
    service_tier: 'batch',
    outcome: 'success',
  })
}

/**
 * An answer that was made in the background is billed where somebody reads it. Older versions log the usage of any
 * answer that is read: the id of its event is that of the call that made it.
 */
function answerEvent(call: LitellmCall, request: IntakeRequest): Mapped {
  const id = answerId(call.payload)
  if (id === undefined) return skipped('repeated_call_type')
  return eventOf(call, request, {
    event_id: eventIdOf(request.caller.tenantId, 'litellm', ...answerKey(id)),
    response_id: id,
    outcome: 'success',
  })
}

const answerKey = (id: string): readonly string[] => ['response ', id]

function eventOf(call: LitellmCall, { caller, receivedAtMs }: IntakeRequest, own: OwnFields): Mapped {
  const { payload, metadata, models, provider, usage, cost } = call
  const model = models.requested ?? models.served
  if (model === undefined) return lacks('/model', 'must be the name of a model')
  return mappedEvent({
    ingestion_layer: 'gateway',
    ingestion_timestamp: (timeText(call.startMs) ?? timeText(receivedAtMs)) as string,
    provider: provider.provider ?? 'unknown',
    requested_model: model,
    served_model: models.served,
    ...usage,
    service_tier: tierOf(payload, metadata),
    speed: speedOf(metadata),
    region: regionOf(payload, metadata) ?? provider.region,
    served_from_cache: call.isFromCache || undefined,
    estimated_cost_usd: cost,
    trace_id: nameOf(payload['trace_id']),
    ...whoCalled(payload, metadata, caller.isGateway === true),
    tags: tagsOf(tagPairs(payload, metadata, models.deployment)),
    ...own,
    usage_basis: own.usage_basis ?? usage.usage_basis,
    assumptions: [usage.assumptions, provider.assumption].filter((code) => code !== undefined).join(',') || undefined,
  })
}

/** LiteLLM knows whom it calls, but its `openai` is also any other server that speaks OpenAI's API: its host tells. */
function providerOf(payload: Selected, { requested, served }: LitellmModels): ResolvedProvider {
  const stated = nameOf(payload['custom_llm_provider'])
  const host = nameOf(payload['api_base'])
  const isOpen = stated === undefined || ANY_SERVER.has(stated)
  const resolved = resolveProvider({
    providers: [stated],
    models: [nameOf(payload['model']), served, requested],
    host: isOpen ? host : undefined,
  })
  return host === undefined || isOpen ? resolved : { ...resolved, region: siteOf(host)?.region }
}
const ANY_SERVER = new Set(['openai', 'custom_openai', 'openai_like', 'text-completion-openai'])

type OwnFields = Pick<PartOfEvent, 'event_id'> & Partial<PartOfEvent>

/** A call whose caller went away is no mere failure, nor a success as LiteLLM logs it: the provider charges for it. */
function outcomeOf(payload: Selected): Outcome | undefined {
  const { error_class: kind, error_code: code } = objectOf(payload['error_information'])
  if (isCancellation(kind) || String(code) === CLIENT_CLOSED_REQUEST) return 'cancelled'
  if (payload['status'] === 'success') return 'success'
  return payload['status'] === 'failure' ? 'error' : undefined
}

/** The status that proxies give to a request whose client closed it. */
const CLIENT_CLOSED_REQUEST = '499'

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
export function* tagPairs(
  payload: Selected,
  metadata: Selected,
  deployment?: string,
): Generator<readonly [string, unknown]> {
  yield ['team', nameOf(metadata['user_api_key_team_alias'], metadata['user_api_key_team_id'])]
  yield ['key_alias', metadata['user_api_key_alias']]
  yield ['project', nameOf(metadata['user_api_key_project_alias'], metadata['user_api_key_project_id'])]
  yield ['organization', nameOf(metadata['user_api_key_org_alias'], metadata['user_api_key_org_id'])]
  yield ['deployment', deployment]
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
