import type { Selected, Wanted } from '../../text/select-json.js'
import { readUsage } from '../../usage/read-usage.js'
import { eventIdOf } from '../intake/event-id.js'
import type { IntakeRequest } from '../intake/intake-route.js'
import { type JsonSource, lacks, type Mapped, mappedEvent, skipped } from '../intake/json-source.js'
import { callKey } from './call-key.js'
import { attributedBy, type Believed, claimedBy } from './claims.js'
import { basisOfEnd } from './ends-of-calls.js'
import { aboveZero, callerTags, countOf, idOf, instantOf, nameOf, objectOf, tagsOf, timeText } from './fields.js'
import { withShippedLines } from './shipped-lines.js'

const WANTED = {
  schemaType: 'skip',
  schemaVersion: 'skip',
  timestamp: 'value',
  accountId: 'value',
  region: 'value',
  inferenceRegion: 'value',
  requestId: 'value',
  operation: 'skip',
  modelId: 'value',
  errorCode: 'value',
  identity: { arn: 'value' },
  input: {
    inputTokenCount: 'value',
    cacheReadInputTokenCount: 'value',
    cacheWriteInputTokenCount: 'value',
    inputContentType: 'skip',
    inputBodyJson: 'skip',
    inputBodyS3Path: 'skip',
  },
  output: { outputTokenCount: 'value', outputContentType: 'skip', outputBodyJson: 'skip', outputBodyS3Path: 'skip' },
  requestMetadata: 'scalars',
} as const satisfies Wanted

/**
 * Amazon Bedrock's log of model invocations. Its input tokens leave out those read from and written to the cache,
 * except those of OpenAI's models, which include them.
 */
export const bedrockLog: JsonSource = withShippedLines({ name: 'bedrock-log', wanted: WANTED, map: fromBedrockLog })

function fromBedrockLog(payload: Selected, { caller }: IntakeRequest): Mapped {
  const id = idOf(payload['requestId'])
  const model = modelOf(payload['modelId'])
  if (model === undefined) return lacks('/modelId', 'must be the id of a model')
  const time = timeText(instantOf(payload['timestamp']))
  if (time === undefined) return lacks('/timestamp', 'must be a time')

  const { arn } = objectOf(payload['identity'])
  const input = objectOf(payload['input'])
  const uncached = countOf(input['inputTokenCount'])
  const output = countOf(objectOf(payload['output'])['outputTokenCount'])
  const cached = aboveZero(countOf(input['cacheReadInputTokenCount']))
  const written = aboveZero(countOf(input['cacheWriteInputTokenCount']))
  const all = [uncached, output, cached, written]
  const outcome = nameOf(payload['errorCode']) === undefined ? 'success' : 'error'
  if (outcome === 'error' && all.every((count) => (count ?? 0) === 0)) return skipped('failed_without_usage')
  const usage = readUsage(
    {
      input: uncached,
      output,
      cacheRead: cached,
      cacheWrite: written,
      ...(/(?:^|\.)openai\./.test(model) && { api: 'openai' as const }),
    },
    { surface: 'bedrock-log', provider: 'aws.bedrock', model },
  )
  return mappedEvent({
    event_id: eventIdOf(caller.tenantId, 'bedrock-log', callKey(id, [time, model, arn, ...all])),
    ingestion_layer: 'connector',
    ingestion_timestamp: time,
    provider: 'aws.bedrock',
    requested_model: model,
    ...usage,
    usage_basis: basisOfEnd(usage, outcome),
    response_id: id,
    outcome,
    region: nameOf(payload['inferenceRegion'], payload['region']),
    ...whoCalled(arn, caller),
    tags: tagsOf([
      ['aws_account', payload['accountId']],
      ...callerTags(Object.entries(objectOf(payload['requestMetadata']))),
    ]),
  })
}

/**
 * Also of a profile of AWS's own, whose ARN ends with its id. That of an application's profile or a provisioned model
 * ends with letters that name nothing: the whole ARN stays, so that a model name, a price or a rule can name it.
 */
function modelOf(value: unknown): string | undefined {
  const id = nameOf(value)
  return id?.startsWith('arn:') && !OPAQUE.test(id) ? nameOf(id.slice(id.lastIndexOf('/') + 1)) : id
}
const OPAQUE = /:(?:application-inference-profile|provisioned-model)\//

/**
 * The role of an assumed one, without its session, which is another for every process. A session that is named after a
 * person's address is that person: so single sign-on names it, and so may anybody who may assume the role.
 */
function whoCalled(value: unknown, caller: Believed) {
  const arn = nameOf(value)
  const [, role, session = ''] = /^(arn:[^/]*:assumed-role\/[^/]+)\/(.+)$/.exec(arn ?? '') ?? []
  if (role !== undefined && session.includes('@')) return claimedBy({ identity: nameOf(session) }, caller)
  return attributedBy({ identity: role ?? arn }, caller)
}
