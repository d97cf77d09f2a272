import type { Selected, Wanted } from '../../text/select-json.js'
import { eventIdOf } from '../intake/event-id.js'
import type { IntakeRequest } from '../intake/intake-route.js'
import { type JsonSource, lacks, type Mapped, mappedEvent, skipped } from '../intake/json-source.js'
import { attributedBy } from './claims.js'
import { countOf, instantOf, nameOf, tagsOf, timeText } from './fields.js'

const WANTED = {
  TimeGenerated: 'value',
  CorrelationId: 'value',
  SequenceNumber: 'value',
  DeploymentName: 'value',
  ModelName: 'value',
  PromptTokens: 'value',
  CompletionTokens: 'value',
  TotalTokens: 'skip',
  // Of `ApiManagementGatewayLogs`, where the query joins it.
  ApimSubscriptionId: 'value',
  ApiId: 'value',
  ProductId: 'value',
  TotalTime: 'value',
} as const satisfies Wanted

/**
 * Rows of Azure API Management's table `ApiManagementGatewayLlmLog`. A call has one row with tokens and further ones
 * with pieces of its messages. Prompt tokens include the cached ones, of which the table does not tell how many there
 * are.
 */
export const apim: JsonSource = { name: 'apim', wanted: WANTED, map: fromApim }

export function fromApim(payload: Selected, { caller }: IntakeRequest): Mapped {
  if (countOf(payload['SequenceNumber']) !== 0) return skipped('message_row')
  const id = nameOf(payload['CorrelationId'])
  if (id === undefined) return lacks('/CorrelationId', 'must be the id of the request')
  const served = nameOf(payload['ModelName'])
  const model = nameOf(payload['DeploymentName']) ?? served
  if (model === undefined) return lacks('/ModelName', 'must be the name of a model')
  const time = timeText(instantOf(payload['TimeGenerated']))
  if (time === undefined) return lacks('/TimeGenerated', 'must be a time')
  return mappedEvent({
    event_id: eventIdOf(caller.tenantId, 'apim', id),
    ingestion_layer: 'gateway',
    ingestion_timestamp: time,
    provider: 'azure.ai.openai',
    requested_model: model,
    served_model: served,
    input_tokens: countOf(payload['PromptTokens']),
    output_tokens: countOf(payload['CompletionTokens']),
    latency_ms: countOf(payload['TotalTime']),
    ...attributedBy({ identity: nameOf(payload['ApimSubscriptionId']) }, caller),
    tags: tagsOf([
      ['gateway_api', payload['ApiId']],
      ['gateway_product', payload['ProductId']],
    ]),
  })
}
