/** Whose own usage object the numbers were taken from, which settles how they are counted. */
export type UsageApi = 'openai' | 'anthropic' | 'gemini' | 'bedrock_converse' | 'langfuse'

/** Numbers that a sender stated; undefined where it stated none. The names say nothing of convention: the sender does. */
export interface StatedUsage {
  readonly api?: UsageApi | undefined
  readonly input?: number | undefined
  readonly output?: number | undefined
  readonly total?: number | undefined
  /** Input that was neither read from a cache nor written to one; with it, `input` is not needed. */
  readonly uncachedInput?: number | undefined
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
  readonly cacheWrite5m?: number | undefined
  readonly cacheWrite1h?: number | undefined
  readonly reasoning?: number | undefined
  /** What a tool of the provider's own put into the prompt: Gemini's URL context, search and code. */
  readonly toolUseInput?: number | undefined
  readonly audioInput?: number | undefined
  readonly audioOutput?: number | undefined
  readonly imageInput?: number | undefined
  readonly imageOutput?: number | undefined
  readonly cachedAudioInput?: number | undefined
  readonly cachedImageInput?: number | undefined
  readonly webSearchCalls?: number | undefined
  readonly fileSearchCalls?: number | undefined
  readonly codeExecutionCalls?: number | undefined
  /** Passes of one call that are billed each; the counts beside them are those of the last pass only. */
  readonly passes?: readonly StatedUsage[] | undefined
}

export type UsageSurface =
  | 'otlp'
  | 'litellm'
  | 'kong'
  | 'envoy'
  | 'portkey'
  | 'bedrock-log'
  | 'apim'
  | 'agent'
  | 'native'

/** Who stated them. */
export interface UsageSender {
  readonly surface: UsageSurface
  /** Instrumentation scope, or product. */
  readonly name?: string | undefined
  readonly version?: string | undefined
  /** Its canonical id where known. */
  readonly provider?: string | undefined
  readonly model?: string | undefined
  /** Whether the answer was streamed: some senders estimate what a stream does not say. */
  readonly isStreamed?: boolean | undefined
}

/** The counters of an event: input includes cache reads and writes, output includes reasoning. */
export interface UsageFields {
  readonly input_tokens?: number | undefined
  readonly output_tokens?: number | undefined
  readonly cached_input_tokens?: number | undefined
  readonly cache_write_tokens?: number | undefined
  readonly cache_write_5m_tokens?: number | undefined
  readonly cache_write_1h_tokens?: number | undefined
  readonly reasoning_tokens?: number | undefined
  readonly audio_input_tokens?: number | undefined
  readonly audio_output_tokens?: number | undefined
  readonly image_input_tokens?: number | undefined
  readonly image_output_tokens?: number | undefined
  readonly cached_audio_input_tokens?: number | undefined
  readonly cached_image_input_tokens?: number | undefined
  readonly web_search_calls?: number | undefined
  readonly file_search_calls?: number | undefined
  readonly code_execution_calls?: number | undefined
  readonly usage_basis?: 'partial' | 'estimated' | undefined
  /** The totals under another reading, where nothing tells which of the two holds. */
  readonly alternative_input_tokens?: number | undefined
  readonly alternative_output_tokens?: number | undefined
  /** Codes of what was inferred, separated by commas. */
  readonly assumptions?: string | undefined
}
