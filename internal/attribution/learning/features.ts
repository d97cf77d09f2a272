/**
 * What a model may know of an event. The same facts are made from an admitted invocation when it is served and from a
 * stored row when a model is trained on it; nothing here depends on what was attributed.
 */
export interface EventFacts {
  readonly eventTimeMs: number
  readonly provider: string
  /** The served model, else the requested one. */
  readonly model: string
  /** Capture context: which labels an event carries depends on it, so that it moves priors and is no evidence itself. */
  readonly ingestionLayer: string
  /** Capture context: id of the credential that brought the event. */
  readonly principal: string
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly cachedInputTokens?: number | undefined
  readonly reasoningTokens?: number | undefined
  readonly latencyMs?: number | undefined
  readonly serviceTier?: string | undefined
  readonly region?: string | undefined
  /** Hex of the tenant's keyed hash of the stated identity; absent when none was stated. */
  readonly identityHash?: string | undefined
  /** Groups events; never a feature by itself. */
  readonly traceId?: string | undefined
  readonly tags?: Readonly<Record<string, string>> | undefined
  readonly k8sNamespace?: string | undefined
  readonly k8sWorkload?: string | undefined
  readonly workloadIdentity?: string | undefined
  /** Other events of the same trace that are known when this one is looked at, as `withNeighbours` adds them. */
  readonly neighbours?: readonly NeighbourFacts[] | undefined
}

/** What an event's trace says about it. */
export interface NeighbourFacts {
  readonly provider: string
  readonly model: string
  readonly inputTokens?: number | undefined
}
