import type { PathwayCoverage } from 'attribution-service/sdk/api'

export type Pathway = PathwayCoverage

/** What a capture layer does on a pathway. */
export type Cell = 'deployed' | 'missing' | 'discovery' | 'none'

/** Every layer that any pathway knows, by name: the columns of the map. */
export const layersOf = (pathways: readonly Pathway[]): readonly string[] =>
  [
    ...new Set(pathways.flatMap((each) => [...each.layers_deployed, ...each.layers_missing, ...each.discovery_only])),
  ].sort()

/** A layer that is missing on a pathway is so, whatever else it does there. */
export function cellOf(pathway: Pathway, layer: string): Cell {
  if (pathway.layers_missing.includes(layer)) return 'missing'
  if (pathway.layers_deployed.includes(layer)) return 'deployed'
  return pathway.discovery_only.includes(layer) ? 'discovery' : 'none'
}

/** Why telemetry became no calls. More kinds may come: they are shown as the API names them. */
const WHY: Readonly<Record<string, string>> = {
  agent: 'a run of an agent: the calls within it count',
  workflow: 'a run of a workflow: the calls within it count',
  tool: 'a tool that was used: the calls within it count',
  chain: 'a step of a chain: the calls within it count',
  same_call: 'a call that is already counted, shown once more',
  other_operation: 'another operation than a call of a model',
  failed_without_usage: 'a failed call that states no usage',
  in_logs: 'a call that the log events of the same agent state more fully: send those, too',
  no_operation: 'names a model, but no operation and no usage: set gen_ai.operation.name',
  no_model: 'states tokens, but no model: set gen_ai.request.model',
  unread_call: 'looks like a call of a model, in words that are not known',
  unrelated: 'nothing of models: HTTP, databases, logs',
  metrics_request: 'metrics: calls come as spans or logs',
  profiles_request: 'profiles: calls come as spans or logs',
  no_model_call: 'no call of a model',
  repeated_call_type: 'the usage of a call that is counted already, fetched once more',
  unfinished_batch: 'a batch that is not finished: it counts once it is',
  background_response: 'the beginning of an answer in the background: it counts when it is read',
  message_row: 'a row of messages: the row with the tokens counts',
  repeated: 'a call that was received before',
  malformed: 'cannot be read as an event',
  malformed_request: 'cannot be read as a request',
  layer_not_allowed: 'the key may not send calls of this layer',
  too_large: 'too large',
  payload_too_large: 'too large',
}

/** Of an event that was refused: the field that is wrong. */
const INVALID = /^invalid_(\w+)$/

export const whyPassedOver = (kind: string): string => {
  const [, field] = INVALID.exec(kind) ?? []
  const ofField = (name: string): string => `the field ${name} is missing, not valid or not allowed`
  return WHY[kind] ?? (field === undefined ? kind.replaceAll('_', ' ') : ofField(field))
}
