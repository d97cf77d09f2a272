import type { Outcome } from '../../text/call-words.js'
import type { Selected, Wanted } from '../../text/select-json.js'
import { readUsage } from '../../usage/read-usage.js'
import { eventIdOf } from '../intake/event-id.js'
import type { IntakeRequest } from '../intake/intake-route.js'
import { type JsonSource, lacks, type Mapped, mappedEvent, skipped } from '../intake/json-source.js'
import { callKey } from './call-key.js'
import { attributedBy } from './claims.js'
import { basisOfEnd, outcomeOfStatus } from './ends-of-calls.js'
import { countOf, instantOf, nameOf, tagsOf, timeText } from './fields.js'
import { modelOf } from './gateway-provider.js'

const WANTED = {
  TimeGenerated: 'value',
  CorrelationId: 'value',
  SequenceNumber: 'value',
  DeploymentName: 'value',
  ModelName: 'value',
  PromptTokens: 'value',
  CompletionTokens: 'value',
  TotalTokens: 'value',
  IsStreamCompletion: 'value',
  // Of `ApiManagementGatewayLogs`, where the query joins it.
  ApimSubscriptionId: 'value',
  ApiId: 'value',
  ProductId: 'value',
  TotalTime: 'value',
  ResponseCode: 'value',
  LastErrorReason: 'value',
} as const satisfies Wanted

/**
 * Rows of Azure API Management's table `ApiManagementGatewayLlmLog`. A call has one row with tokens and further ones
 * with pieces of its messages. Prompt tokens include the cached ones, of which the table does not tell how many there
 * are.
 */
export const apim: JsonSource = { name: 'apim', wanted: WANTED, map: fromApim }

const PROVIDER = 'azure.ai.openai'

function fromApim(payload: Selected, { caller }: IntakeRequest): Mapped {
  if (countOf(payload['SequenceNumber']) !== 0) return skipped('message_row')
  const served = modelOf(payload['ModelName'])
  const model = modelOf(payload['DeploymentName']) ?? served
  if (model === undefined) return lacks('/ModelName', 'must be the name of a model')
  const time = timeText(instantOf(payload['TimeGenerated']))
  if (time === undefined) return lacks('/TimeGenerated', 'must be a time')

  const [input, output] = [countOf(payload['PromptTokens']), countOf(payload['CompletionTokens'])]
  const total = countOf(payload['TotalTokens'])
  const outcome = outcomeOf(payload)
  if (outcome === 'error' && (input ?? 0) + (output ?? 0) + (total ?? 0) === 0) return skipped('failed_without_usage')
  const usage = readUsage(
    { input, output, total },
    { surface: 'apim', provider: PROVIDER, model: served ?? model, isStreamed: isTrue(payload['IsStreamCompletion']) },
  )
  const identity = nameOf(payload['ApimSubscriptionId'])
  const facts = [payload['TimeGenerated'], model, served, input, output, total, identity]
  return mappedEvent({
    event_id: eventIdOf(caller.tenantId, 'apim', callKey(payload['CorrelationId'], facts)),
    ingestion_layer: 'gateway',
    ingestion_timestamp: time,
    provider: PROVIDER,
    requested_model: model,
    served_model: served,
    ...usage,
    usage_basis: basisOfEnd(usage, outcome),
    latency_ms: countOf(payload['TotalTime']),
    outcome,
    ...attributedBy({ identity }, caller),
    tags: tagsOf([
      ['gateway_api', payload['ApiId']],
      ['gateway_product', payload['ProductId']],
    ]),
  })
}

/** Log Analytics writes a boolean also as a text. */
const isTrue = (value: unknown): boolean => value === true || String(value).toLowerCase() === 'true'

/** API Management logs the status of an answer's beginning; the last error says that its client did not stay. */
function outcomeOf(payload: Selected): Outcome | undefined {
  const ofStatus = outcomeOfStatus(countOf(payload['ResponseCode']))
  return ofStatus !== 'error' && payload['LastErrorReason'] === 'ClientConnectionFailure' ? 'cancelled' : ofStatus
}
