/** What is read of `LiteLLM_SpendLogs`: nothing of a message or a response. */
type Column =
  | 'request_id'
  | 'call_type'
  | 'status'
  | 'metadata'
  | 'cache_hit'
  | 'custom_llm_provider'
  | 'model'
  | 'model_group'
  | 'prompt_tokens'
  | 'completion_tokens'
  | 'total_tokens'
  | 'litellm_call_id'
  | 'spend'
  | 'startTime'
  | 'endTime'
  | 'session_id'
  | 'end_user'
  | 'request_tags'
  | 'user'
  | 'team_id'

/**
 * A row of LiteLLM's table `LiteLLM_SpendLogs` as a payload of its callback, so that both have the same ids, the same
 * conventions and the same rules of trust. Columns of messages and responses are left out.
 *
 * @param row by the names of the columns; JSON columns as text or parsed
 */
export function payloadOfSpendLog(row: Readonly<Partial<Record<Column, unknown>>>): Record<string, unknown> {
  const metadata = jsonOf(row['metadata']) as Record<string, unknown> | undefined
  const ofKey = Object.entries(metadata ?? {}).filter(([name]) => name.startsWith('user_api_key_'))
  return {
    id: row['request_id'],
    litellm_call_id: row['litellm_call_id'] || metadata?.['litellm_call_id'],
    call_type: row['call_type'],
    status: row['status'] ?? metadata?.['status'],
    cache_hit: row['cache_hit'],
    custom_llm_provider: row['custom_llm_provider'],
    model: row['model'],
    model_group: row['model_group'],
    prompt_tokens: row['prompt_tokens'],
    completion_tokens: row['completion_tokens'],
    total_tokens: row['total_tokens'],
    // A column of doubles, which a CSV has as texts.
    response_cost: numberOf(row['spend']),
    cost_breakdown: metadata?.['cost_breakdown'],
    error_information: metadata?.['error_information'],
    model_map_information: metadata?.['model_map_information'],
    hidden_params: { batch_models: metadata?.['batch_models'] },
    startTime: row['startTime'],
    endTime: row['endTime'],
    trace_id: row['session_id'],
    end_user: row['end_user'],
    request_tags: jsonOf(row['request_tags']),
    metadata: {
      user_api_key_user_id: row['user'],
      user_api_key_team_id: row['team_id'],
      ...Object.fromEntries(ofKey),
      usage_object: metadata?.['usage_object'] ?? metadata?.['additional_usage_values'],
      spend_logs_metadata: metadata?.['spend_logs_metadata'],
    },
  }
}

const numberOf = (value: unknown): unknown =>
  typeof value === 'string' && value !== '' && Number.isFinite(Number(value)) ? Number(value) : value

function jsonOf(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    return undefined
  }
}
