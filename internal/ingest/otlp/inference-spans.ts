import { OWN_SCOPE } from '../../telemetry/spans/finished-span.js'
import { gatewayLayerOf } from './span-events.js'
import { FACT, type Fact, type Facts } from './span-facts.js'
import type { Telemetry } from './telemetry.js'

/** Why a span is no call of a model. Not one of these reasons makes a request partly rejected. */
export type PassedOver =
  | 'agent'
  | 'workflow'
  | 'tool'
  | 'chain'
  /** A GenAI operation that is no inference, or that is billed with another span: retrieval, count_tokens. */
  | 'other_operation'
  /** The same call as another span of the request, seen one layer further out or in. */
  | 'same_call'
  /** The call failed and states no usage. */
  | 'failed_without_usage'
  /** A call of an agent whose log events state it more fully. */
  | 'in_logs'
  /** It may be a call, and names a model; but it has no operation that is known, no kind and no usage. */
  | 'no_operation'
  /** It states usage, and no model. */
  | 'no_model'
  /** It states what a call used or which model, under keys that nobody reads. */
  | 'unread_call'
  /** Nothing to do with models: HTTP, databases, logs. */
  | 'unrelated'

/** Reasons of what may be a call all the same: its sender should know. */
export const UNREAD_CALLS: ReadonlySet<string> = new Set<PassedOver>(['no_operation', 'no_model', 'unread_call'])

const INFERENCE_OPERATIONS = new Set([
  'chat',
  'generate_content',
  'text_completion',
  'embeddings',
  // Envoy AI Gateway
  'messages',
  'responses',
  'completion',
  'rerank',
])

const REASONS_BY_OPERATION = new Map<string, PassedOver>([
  ['invoke_agent', 'agent'],
  ['agent_step', 'agent'],
  ['create_agent', 'agent'],
  ['plan', 'agent'],
  ['invoke_workflow', 'workflow'],
  ['execute_tool', 'tool'],
  ['fetch_response', 'other_operation'],
  ['count_tokens', 'other_operation'],
  ['tokenize', 'other_operation'],
])

/** OpenInference and MLflow (in upper case), Langfuse, OpenLLMetry, LangSmith, Alibaba, Laminar, HoneyHive, Genkit. */
const REASONS_BY_KIND = new Map<string, PassedOver>([
  ['agent', 'agent'],
  ['workflow', 'workflow'],
  ['task', 'workflow'],
  ['tool', 'tool'],
  ['chain', 'chain'],
  ['span', 'chain'],
  ['retriever', 'other_operation'],
  ['guardrail', 'other_operation'],
  ['evaluator', 'other_operation'],
  ['prompt', 'other_operation'],
  ['event', 'other_operation'],
  ['parser', 'other_operation'],
  ['memory', 'other_operation'],
  ['executor', 'tool'],
  ['pipeline', 'chain'],
  ['flow', 'workflow'],
  ['step', 'chain'],
  ['entry', 'chain'],
  ['default', 'chain'],
])
const INFERENCE_KINDS = new Set([
  ...['llm', 'embedding', 'reranker', 'generation'],
  ...['chat_model', 'model', 'embedder', 'rerank'],
])

/** `ai.generateText.doGenerate`: one request to the provider; the span around it sums up its steps. */
const AI_SDK_STEP = /\.do(?:Generate|Stream|Embed)$/

/** LiteLLM also traces requests that read, list or cancel what an earlier one made. */
const NO_CALL_TYPE = /(?:^|_)(?:a?get|a?list|a?delete|a?cancel|a?retrieve)_/

/**
 * Only the innermost spans, which are one request to a provider, become records: the usage on agents, workflows and
 * chains is that of their leaves again.
 *
 * @returns undefined for a call of a model
 */
export function passedOver(span: Telemetry): PassedOver | undefined {
  const { facts } = span
  const operation = textOf(facts, FACT.operation)
  let isInference = INFERENCE_OPERATIONS.has(operation)
  const reason = REASONS_BY_OPERATION.get(operation)
  if (reason !== undefined) return reason
  if (isLogfireOpening(span)) return 'same_call'
  for (const fact of KIND_FACTS) {
    const stated = textOf(facts, fact)
    if (stated === '') continue
    // MLflow writes attributes as JSON.
    const kind = (stated.startsWith('"') ? stated.slice(1, -1) : stated).toLowerCase()
    const reasonOfKind = REASONS_BY_KIND.get(kind)
    if (reasonOfKind !== undefined) return reasonOfKind
    isInference ||= INFERENCE_KINDS.has(kind)
  }
  const requestType = textOf(facts, FACT.requestType)
  if (requestType !== '') {
    if (NO_CALL_TYPE.test(requestType)) return 'other_operation'
    return undefined
  }
  if (isInference) return undefined
  const aiSdkOperation = textOf(facts, FACT.aiSdkOperation)
  if (aiSdkOperation !== '') return AI_SDK_STEP.test(aiSdkOperation) ? undefined : 'chain'
  return ofUnknownOperation(facts, operation)
}

const KIND_FACTS = [FACT.spanKind, FACT.observationType, FACT.workflowKind, FACT.otherKind]

/** What states a model and its usage is a call, by whatever name; unless the name is that of what holds calls. */
function ofUnknownOperation(facts: Facts, operation: string): PassedOver | undefined {
  const [isOfModel, isUsed] = [namesModel(facts), statesUsage(facts)]
  if (!isOfModel && !isUsed) return operation === '' ? 'unrelated' : 'other_operation'
  const outer = OUTER_WORD.exec(operation)?.[0].toLowerCase()
  if (outer !== undefined) return REASONS_BY_KIND.get(outer) ?? 'chain'
  if (isOfModel && isUsed) return undefined
  if (operation !== '') return 'other_operation'
  if (isOfModel) return 'no_operation'
  return COUNTS.some((fact) => facts.get(fact) !== undefined) ? 'no_model' : 'unrelated'
}

/** In names of operations of one's own: `agent.run`, `crew_kickoff`. */
const OUTER_WORD = /agent|workflow|task|tool|chain|graph|crew|session|turn|retriev/i

/** Whether it names a model that was called. */
export const namesModel = (facts: Facts): boolean =>
  facts.get(FACT.requestedModel) !== undefined || facts.get(FACT.servedModel) !== undefined

/** Whether it states tokens under any key. */
export const statesUsage = (facts: Facts): boolean => USAGE_FACTS.some((fact) => facts.get(fact) !== undefined)

const COUNTS = [FACT.inputTokens, FACT.outputTokens]
/** With objects, which spans around calls state as well. */
const USAGE_FACTS = [...COUNTS, FACT.langfuseUsage, FACT.senderUsage, FACT.providerUsage]

/**
 * Logfire shows a streamed call twice: a span that ends when the stream begins, and a span without length, its "log",
 * when it ends. Only the latter has the response's id and usage (logfire 5.4, instrument_openai and
 * instrument_anthropic). A pending span stands for one that is not finished.
 */
function isLogfireOpening({ facts, scope, isError }: Telemetry): boolean {
  const type = facts.get(FACT.logfireType)
  if (type === undefined || type === 'log') return false
  if (type === 'pending_span') return true
  if (isError || !LOGFIRE_STREAMING.test(scope)) return false
  return facts.get(FACT.responseId) === undefined && !statesUsage(facts)
}
const LOGFIRE_STREAMING = /^logfire\.(?:openai|anthropic)$/

/**
 * Whether something without an operation states what only a call of a model has, in words that are not known. Spans
 * that sum others up do as well: those of the AI SDK around its steps, and those of a gateway around its requests.
 */
export const seemsCall = ({ facts, scope }: Telemetry): boolean =>
  (facts.unread.areOfCall || statesUsage(facts) || LOG_COUNTS.some((fact) => facts.get(fact) !== undefined)) &&
  facts.get(FACT.aiSdkOperation) === undefined &&
  scope !== OWN_SCOPE &&
  gatewayLayerOf(scope) === undefined
const LOG_COUNTS = [FACT.logInput, FACT.logOutput, FACT.logTotal]

function textOf(facts: Facts, fact: Fact): string {
  const value = facts.get(fact)
  return typeof value === 'string' ? value : ''
}
