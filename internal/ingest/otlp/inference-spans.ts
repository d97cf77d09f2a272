import { FACT, type Fact, type Facts } from './span-facts.js'

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
  /** Nothing to do with models: HTTP, databases, logs. */
  | 'unrelated'

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

/** OpenInference (in upper case), Langfuse and OpenLLMetry. */
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
])
const INFERENCE_KINDS = new Set(['llm', 'embedding', 'reranker', 'generation'])

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
export function passedOver(facts: Facts): PassedOver | undefined {
  const operation = textOf(facts, FACT.operation)
  let isInference = INFERENCE_OPERATIONS.has(operation)
  const reason = REASONS_BY_OPERATION.get(operation)
  if (reason !== undefined) return reason
  for (const fact of KIND_FACTS) {
    const kind = textOf(facts, fact).toLowerCase()
    if (kind === '') continue
    const reasonOfKind = REASONS_BY_KIND.get(kind)
    if (reasonOfKind !== undefined) return reasonOfKind
    isInference ||= INFERENCE_KINDS.has(kind)
  }
  const requestType = textOf(facts, FACT.requestType)
  if (requestType !== '') {
    if (NO_CALL_TYPE.test(requestType)) return 'other_operation'
    return undefined
  }
  if (isInference || AI_SDK_STEP.test(textOf(facts, FACT.aiSdkOperation))) return undefined
  return operation === '' ? 'unrelated' : 'other_operation'
}

const KIND_FACTS = [FACT.spanKind, FACT.observationType, FACT.workflowKind]

function textOf(facts: Facts, fact: Fact): string {
  const value = facts.get(fact)
  return typeof value === 'string' ? value : ''
}
