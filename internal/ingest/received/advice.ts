import { type SourceRow, totalOf } from './sources.js'

/** What a sender does not send that is needed, and what to change. The sources of each: `deploy/docs/intake/`. */
interface Advice {
  readonly code: string
  readonly appliesTo: (source: SourceRow) => boolean
  readonly text: string
}

/**
 * Of calls that state usage: as recorded, these state no cache reads in any version (deploy/docs/intake/clients.md).
 */
const WITHOUT_CACHE_COUNTS = [
  /^@traceloop\/instrumentation-/, // OpenLLMetry JS 0.27
  /^@opentelemetry\/instrumentation-openai$/, // OpenTelemetry JS contrib 0.21
  /^@sentry\//, // Sentry JS 10, streams
  /^semantic_kernel\./, // Semantic Kernel, 2026-11-28
  /^openinference\.instrumentation\.(?:haystack|smolagents)$/, // 0.1.46, 0.1.43
]

const lacks = ({ lacking }: SourceRow, what: string): boolean => lacking.some(({ reason }) => reason === what)
const passesOver = ({ passedOver }: SourceRow, ...reasons: readonly string[]): boolean =>
  passedOver.some(({ reason }) => reasons.includes(reason))

const ADVICE: readonly Advice[] = [
  {
    code: 'no_cache_counts',
    appliesTo: (source) => lacks(source, 'cache_counts') && WITHOUT_CACHE_COUNTS.some((one) => one.test(source.sender)),
    text:
      'It never states how much of the input came from the provider’s cache: that input is priced in full. Use an ' +
      'instrumentation that states cache reads, or this product’s client library; the guide to clients lists both.',
  },
  {
    code: 'no_usage',
    appliesTo: (source) => lacks(source, 'usage'),
    text:
      'Some of its calls state no tokens and have no price. For streams of OpenAI set ' +
      'stream_options: {"include_usage": true} in the application; a stream that is cancelled states none.',
  },
  {
    code: 'no_service',
    appliesTo: (source) => lacks(source, 'service') && source.withoutService > 0,
    text:
      'Some of its calls name no service and became nobody’s. Set OTEL_SERVICE_NAME (OpenTelemetry), a team or an ' +
      'alias of the key (LiteLLM), or attributed_service (events); or give the credential a service in the directory.',
  },
  {
    code: 'no_provider',
    appliesTo: (source) => lacks(source, 'provider'),
    text: 'Some of its calls name no provider, and none follows from the model. State gen_ai.provider.name.',
  },
  {
    code: 'unread_calls',
    appliesTo: (source) => source.calls === 0 && passesOver(source, 'unread_call', 'no_operation', 'no_model'),
    text:
      'What it sends looks like calls of a model, and none was understood. State gen_ai.operation.name, ' +
      'gen_ai.request.model and gen_ai.usage.*; the field names show what it states instead.',
  },
  {
    code: 'logs_needed',
    appliesTo: (source) => source.calls === 0 && passesOver(source, 'in_logs'),
    text: 'Its spans do not state its calls in full: switch on the export of its log events, too.',
  },
  {
    code: 'only_metrics',
    appliesTo: (source) => passesOver(source, 'metrics_request') && source.received === totalOf(source.passedOver),
    text: 'It sends metrics, which hold sums and no calls. Export its traces, or the log events of an agent.',
  },
  {
    code: 'seat_or_api',
    appliesTo: ({ sender }) => sender.startsWith('com.anthropic.claude_code'),
    text:
      'Claude Code does not say whether a seat or an API key pays: without a cloud provider its calls count as those ' +
      'of a seat, which nobody bills by call. Set billing of the credential to api where a key pays.',
  },
  {
    code: 'layer_not_allowed',
    appliesTo: ({ rejected }) => rejected.some(({ reason }) => reason === 'layer_not_allowed'),
    text: 'Its credential may not send calls of this capture layer. Give it a credential whose layers include it.',
  },
  {
    code: 'requests_refused',
    appliesTo: ({ intake, refusedRequests }) => intake !== 'litellm' && refusedRequests.length > 0,
    text: 'Whole requests were refused: what they held is lost unless their sender corrects and repeats them.',
  },
  {
    code: 'batches_refused',
    appliesTo: ({ intake, refusedRequests }) => intake === 'litellm' && refusedRequests.length > 0,
    text:
      'Whole batches were refused, and LiteLLM drops a batch that fails: set max_retries of its callback, and ' +
      'turn_off_message_logging, which makes batches small.',
  },
]

/** What the owner of a source should change, for as long as it shows. */
export const adviceFor = (source: SourceRow): readonly Pick<Advice, 'code' | 'text'>[] =>
  ADVICE.filter(({ appliesTo }) => appliesTo(source)).map(({ code, text }) => ({ code, text }))
