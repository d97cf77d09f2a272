/**
 * One AI model call as the pipeline sees it: what its producer stated, checked at admission, and nothing else.
 * There is no field that could hold a prompt or a completion (spec 1, guarantee 2).
 *
 * `inputTokens` is the total: cache reads and writes are parts of it. `outputTokens` includes reasoning
 * (energy.md 6.5). Absent means unknown, never zero.
 */
export interface Invocation {
  readonly eventId: string
  readonly ingestionLayer: string
  /** The call's own time, milliseconds since the epoch, UTC (`ingestion_timestamp` on the wire). */
  readonly eventTimeMs: number
  readonly provider: string
  readonly requestedModel: string
  readonly servedModel?: string | undefined
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly cachedInputTokens?: number | undefined
  readonly cacheWriteTokens?: number | undefined
  readonly cacheWriteTtlSeconds?: number | undefined
  readonly reasoningTokens?: number | undefined
  readonly audioInputTokens?: number | undefined
  readonly audioOutputTokens?: number | undefined
  readonly serviceTier?: ServiceTier | undefined
  /** Answered by the caller's own response cache: nothing was bought from the provider. */
  readonly servedFromCache?: boolean | undefined
  readonly region?: string | undefined
  /** Decimal string, USD. */
  readonly estimatedCostUsd?: string | undefined
  readonly latencyMs?: number | undefined
  readonly attributedIdentity?: string | undefined
  readonly attributedService?: string | undefined
  readonly traceId?: string | undefined
  readonly parentSpanId?: string | undefined
  readonly attributionConfidence?: number | undefined
  readonly tags?: Readonly<Record<string, string>> | undefined
  readonly k8sNamespace?: string | undefined
  readonly k8sWorkload?: string | undefined
  readonly workloadIdentity?: string | undefined
  /** Decimal string, Wh, measured by the caller. */
  readonly energyWh?: string | undefined
  /** Decimal string, gCO2e, measured by the caller. */
  readonly carbonGco2e?: string | undefined
}

export const SERVICE_TIERS = ['standard', 'batch', 'flex', 'priority'] as const
export type ServiceTier = (typeof SERVICE_TIERS)[number]
