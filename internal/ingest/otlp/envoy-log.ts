import { type EnvoyLine, envoyCall } from '../adapters/envoy.js'
import { eventNameOf } from './agent-calls.js'
import { namesModel, statesUsage } from './inference-spans.js'
import type { LogMapper, MappedRecord } from './mapped-record.js'
import type { SpanEvent } from './span-events.js'
import { FACT } from './span-facts.js'
import type { Telemetry } from './telemetry.js'

/**
 * Envoy's access log over OTLP (`envoy.access_loggers.open_telemetry`; Envoy Gateway's sink of that type): the fields
 * of
 * the line as attributes, and the request's begin as the record's time. The same call as its line in a file has the
 * same
 * event.
 */
export const envoyLog: LogMapper = (record, context) => {
  if (!isOfEnvoy(record)) return undefined
  if (!namesModel(record.facts)) return statesUsage(record.facts) ? NO_MODEL : UNRELATED
  const mapped = envoyCall(lineOf(record), context)
  switch (mapped.kind) {
    case 'event':
      return { kind: 'call', event: withSpan(mapped.event, record) }
    case 'rejected':
      return { kind: 'missing', what: 'start_time' }
    default:
      return FAILED
  }
}

const UNRELATED: MappedRecord = { kind: 'passed_over', reason: 'unrelated' }
const NO_MODEL: MappedRecord = { kind: 'passed_over', reason: 'no_model' }
const FAILED: MappedRecord = { kind: 'passed_over', reason: 'failed_without_usage' }

const OF_ITS_END = [FACT.accessStatus, FACT.accessFlags]

/**
 * Envoy names no scope. Its names for the end of a request tell, or that of its log. Of the id of a request
 * applications
 * speak, too: a record that names an event is theirs.
 */
function isOfEnvoy(record: Telemetry): boolean {
  const { facts, resource, scope } = record
  if (scope !== '') return false
  const isNamed = OF_ITS_END.some((fact) => facts.get(fact) !== undefined) || resource.get(FACT.accessLog) !== undefined
  return isNamed || (facts.get(FACT.accessId) !== undefined && eventNameOf(record) === '')
}

function lineOf({ facts, startMs }: Telemetry): EnvoyLine {
  return {
    'gen_ai.request.model': facts.get(FACT.requestedModel),
    'gen_ai.response.model': facts.get(FACT.servedModel),
    'gen_ai.provider.name': facts.get(FACT.provider) ?? facts.get(FACT.system),
    'gen_ai.usage.input_tokens': facts.get(FACT.inputTokens),
    'gen_ai.usage.cached_input_tokens': facts.get(FACT.cachedInputTokens),
    'gen_ai.usage.cache_creation_input_tokens': facts.get(FACT.cacheWriteTokens),
    'gen_ai.usage.output_tokens': facts.get(FACT.outputTokens),
    'gen_ai.usage.reasoning_tokens': facts.get(FACT.reasoningTokens),
    'gen_ai.usage.total_tokens': facts.get(FACT.totalTokens),
    'session.id': facts.get(FACT.session),
    'user.id': facts.get(FACT.identity),
    // Of the record: that of its resource is Envoy itself.
    'service.name': facts.get(FACT.service),
    attributed_identity: facts.get(FACT.accessIdentity),
    attributed_service: facts.get(FACT.accessService),
    route_name: facts.get(FACT.accessRoute),
    upstream_cluster: facts.get(FACT.accessCluster),
    'x-request-id': facts.get(FACT.accessId),
    connection_id: facts.get(FACT.accessConnection),
    upstream_request_id: facts.get(FACT.accessUpstreamId),
    'user-agent': facts.get(FACT.accessAgent) ?? facts.get(FACT.userAgent),
    start_time: facts.get(FACT.accessStart) ?? startMs / 1_000,
    duration: facts.get(FACT.accessDuration),
    response_code: facts.get(FACT.accessStatus),
    response_flags: facts.get(FACT.accessFlags),
  }
}

const withSpan = (event: SpanEvent, { traceId, spanId }: Telemetry): SpanEvent => ({
  ...event,
  trace_id: traceId === '' ? undefined : traceId,
  span_id: traceId === '' || spanId === '' ? undefined : spanId,
})
