import type { Outcome } from '../../text/call-words.js'
import type { Selected, Wanted } from '../../text/select-json.js'
import { readUsage } from '../../usage/read-usage.js'
import { eventIdOf } from '../intake/event-id.js'
import type { IntakeRequest } from '../intake/intake-route.js'
import { type JsonSource, lacks, type Mapped, mappedEvent, skipped } from '../intake/json-source.js'
import { assumptionsOf } from './assumptions.js'
import { callKey } from './call-key.js'
import { attributedBy, type Believed, claimedBy } from './claims.js'
import { basisOfEnd, outcomeOfStatus } from './ends-of-calls.js'
import { aboveZero, callerTags, countOf, idOf, instantOf, nameOf, tagsOf, timeText } from './fields.js'
import { modelOf, providerOfGateway } from './gateway-provider.js'
import { withShippedLines } from './shipped-lines.js'

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
  'service.name': 'value',
  attributed_identity: 'value',
  attributed_service: 'value',
  route_name: 'value',
  upstream_cluster: 'value',
  'x-request-id': 'value',
  connection_id: 'value',
  upstream_request_id: 'value',
  'user-agent': 'value',
  start_time: 'value',
  duration: 'value',
  response_code: 'value',
  response_flags: 'value',
} as const satisfies Wanted

/** Members of a line of the access log. */
export type EnvoyLine = { readonly [member in keyof typeof WANTED]?: unknown }

/**
 * The access log of Envoy AI Gateway: one JSON object per request, `-` for what is absent. Its input tokens include
 * cached ones. It states no cost, and by itself nobody whom Envoy has authenticated: attributes come from headers of the
 * caller. `attributed_service` and `attributed_identity` are those that its operator vouches for.
 */
export const envoy: JsonSource = withShippedLines({ name: 'envoy', wanted: WANTED, map: fromEnvoy })

function fromEnvoy(payload: Selected, { caller }: IntakeRequest): Mapped {
  return envoyCall(payload as EnvoyLine, caller)
}

export function envoyCall(line: EnvoyLine, caller: Omit<IntakeRequest['caller'], 'billing'>): Mapped {
  const served = modelOf(line['gen_ai.response.model'])
  const model = modelOf(line['gen_ai.original.model'], line['gen_ai.request.model']) ?? served
  if (model === undefined) return skipped('no_model_call')
  const startMs = instantOf(line.start_time)
  const time = timeText(startMs)
  if (time === undefined) return lacks('/start_time', 'must be a time')

  const stated = countsOf(line)
  const code = countOf(line.response_code)
  const isRefused = outcomeOfStatus(code) === 'error'
  if (isRefused && (stated.input ?? 0) + (stated.output ?? 0) === 0) return skipped('failed_without_usage')
  const who = whoCalled(line, caller)
  const { provider, assumption } = providerOfGateway(line['gen_ai.provider.name'], [model, served])
  const usage = readUsage(stated, { surface: 'envoy', provider, model })
  const duration = countOf(line.duration)
  const outcome = outcomeOf(code, line.response_flags)
  // Callers may choose the id: Envoy takes over theirs where it is not told to trust none (`use_remote_address`).
  const { attributed_identity: identity, attributed_service: service } = who
  const facts = [startMs, duration, model, served, stated.input, stated.output, code, identity, service]
  const connection = CONNECTION_FACTS.flatMap((fact) => aboutConnection(fact, line[fact]))
  return mappedEvent({
    event_id: eventIdOf(
      caller.tenantId,
      'envoy',
      callKey(line['x-request-id'], [...facts, ...connection, ...belowMs(line.start_time)], true),
    ),
    ingestion_layer: 'gateway',
    ingestion_timestamp: time,
    provider,
    requested_model: model,
    served_model: served,
    ...usage,
    usage_basis: basisOfEnd(usage, outcome),
    latency_ms: duration,
    outcome,
    ...who,
    tags: tagsOf([
      ['session', line['session.id']],
      ['gateway_route', line.route_name],
      ['gateway_cluster', line.upstream_cluster],
      ...callerTags([['user-agent', line['user-agent']]]),
    ]),
    assumptions: assumptionsOf(usage.assumptions, assumption),
  })
}

/** Beside what a line cannot lack: lines with neither keep the ids that they had. */
const CONNECTION_FACTS = ['connection_id', 'upstream_request_id'] as const
const aboutConnection = (fact: string, value: unknown): readonly string[] => {
  const id = typeof value === 'number' ? String(value) : idOf(value)
  return id === undefined ? [] : [`${fact}=${id}`]
}

/**
 * Streams of one connection may begin within a millisecond: finer digits tell them apart. Lines without any keep the
 * ids that they had.
 */
const belowMs = (startTime: unknown): readonly string[] =>
  /\.\d{3}(?!0*\D)(\d+)/.exec(String(startTime))?.slice(1) ?? []

/** Whom Envoy's operator names; only where that is nobody, what headers of the caller claim. */
function whoCalled(line: EnvoyLine, caller: Believed) {
  const [service, identity] = [nameOf(line.attributed_service), nameOf(line.attributed_identity)]
  if (service !== undefined || identity !== undefined) return attributedBy({ service, identity }, caller)
  return claimedBy({ service: nameOf(line['service.name']), identity: nameOf(line['user.id']) }, caller)
}

/** Zeros of every count are what Envoy writes where a stream ended without its usage: unknown, not free. */
const countsOf = (line: EnvoyLine) => ({
  input: countOf(line['gen_ai.usage.input_tokens']),
  output: countOf(line['gen_ai.usage.output_tokens']),
  total: aboveZero(countOf(line['gen_ai.usage.total_tokens'])),
  cacheRead: aboveZero(countOf(line['gen_ai.usage.cached_input_tokens'])),
  cacheWrite: aboveZero(countOf(line['gen_ai.usage.cache_creation_input_tokens'])),
  reasoning: aboveZero(countOf(line['gen_ai.usage.reasoning_tokens'])),
})

/**
 * How Envoy says that the connection to the client broke, in its short and its long form
 * (https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage, RESPONSE_FLAGS).
 */
const CLIENT_GONE = new Set([
  ...['DC', 'DownstreamConnectionTermination'],
  ...['DPE', 'DownstreamProtocolError'],
  ...['DR', 'DownstreamRemoteReset'],
])
/** That there was no answer, or that one which had begun was cut: by the provider, or by a limit of Envoy's own. */
const CUT = new Set([
  ...['UF', 'UpstreamConnectionFailure'],
  ...['UH', 'NoHealthyUpstream'],
  ...['UO', 'UpstreamOverflow'],
  ...['UC', 'UpstreamConnectionTermination'],
  ...['UR', 'UpstreamRemoteReset'],
  ...['UPE', 'UpstreamProtocolError'],
  ...['UT', 'UpstreamRequestTimeout'],
  ...['UMSDR', 'UpstreamMaxStreamDurationReached'],
  ...['LR', 'LocalReset'],
  ...['SI', 'StreamIdleTimeout'],
  ...['DT', 'DurationTimeout'],
])

/** The status is that of an answer's beginning, the flags are those of its end. */
function outcomeOf(code: number | undefined, flags: unknown): Outcome | undefined {
  const ends = nameOf(flags)?.split(',') ?? []
  const ofStatus = outcomeOfStatus(code)
  if (ofStatus === 'error') return 'error'
  if (ends.some((flag) => CLIENT_GONE.has(flag.trim()))) return 'cancelled'
  return ends.some((flag) => CUT.has(flag.trim())) ? 'error' : ofStatus
}
